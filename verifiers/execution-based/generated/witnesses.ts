import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { ExecutionContext } from '../execution-context.js';
import type { DistinctPatch } from '../tree/applicability.js';
import type { Control } from './controls.js';
import type { TestRun } from './run-batch.js';
import { runTests } from './run-tests.js';
import { isFirm, readScript } from './twins.js';

const MOST_WITNESSES = 2;
const TWIN = 'control';

/** A patch whose own controls failed as they must, and what it came to. */
interface Witness {
  readonly patch: DistinctPatch;
  readonly runs: ReadonlyMap<string, TestRun>;
}

/**
 * What a control comes to that one patch solved, and that base says nothing about: those who solve its test are asked, too.
 * If they solve the control, honest code can. If they do not, the test is decided by what it compares with, so that whoever
 * solves both forges; where the test also takes another way out for right, nobody can tell.
 */
export async function besideWitnesses(
  context: ExecutionContext,
  control: Control,
  { tests, witnesses }: { readonly tests: readonly GeneratedTest[]; readonly witnesses: readonly Witness[] },
  signal: AbortSignal,
): Promise<Control> {
  const donor = tests.find(({ content }) => content === control.donor);
  if (donor === undefined || control.solved === null) return control;
  const twin = { ...donor, test_id: TWIN, content: control.solved };
  const asked = witnesses.filter(({ runs }) => runs.get(donor.test_id)?.outcome === 'solved').slice(0, MOST_WITNESSES);
  const outcomes = await Promise.all(
    asked.map(async ({ patch }) => {
      const { runs } = await runTests(context, { tree: patch.source, repeat: 0 }, [twin], signal);
      return runs.get(TWIN)?.outcome;
    }),
  );
  if (!outcomes.includes('not-solved')) return outcomes.includes('solved') ? { ...control, end: 'unfit' } : control;
  const script = readScript(donor);
  return script !== null && isFirm(script) ? { ...control, end: 'forged' } : control;
}
