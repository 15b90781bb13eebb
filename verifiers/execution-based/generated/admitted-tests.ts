import type { Cell, GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { Admission, Observe } from '../../../src/core/run/verifier.js';
import { admit, isRunnable } from './admission.js';
import type { ExecutionContext } from '../execution-context.js';
import { cellsOf } from '../outcomes.js';
import type { DistinctPatch } from '../tree/distinct.js';
import { sha256 } from '../../../src/core/fingerprint.js';
import { runTests, type TestRuns } from './run-tests.js';
import { unfitTests } from './unfit-test.js';

const PREVIEW = 200;

/**
 * The tests that take part: run on base twice, where they have to say "not solved".
 * @param earlier tests of the round before, of which a copy would count twice
 */
export async function admittedTests(
  context: ExecutionContext,
  { tests, earlier = [] }: { readonly tests: readonly GeneratedTest[]; readonly earlier?: readonly GeneratedTest[] },
  observe: Pick<Observe, 'cell'>,
  signal: AbortSignal,
): Promise<{ readonly admitted: readonly GeneratedTest[]; readonly admissions: readonly Admission[] }> {
  const unfit = unfitTests(tests, earlier);
  const runnable = tests.filter((test) => isRunnable(test) && !unfit.has(test.test_id));
  const base = await Promise.all([0, 1].map((repeat) => runTests(context, { tree: null, repeat }, runnable, signal)));
  for (const runs of base) await tellCells(observe, testCells(context, null, runnable, runs));
  const onBase = new Map(
    tests.map(({ test_id }) => [test_id, base.flatMap(({ runs }) => runs.get(test_id) ?? [])] as const),
  );
  const admissions = admit(tests, { runs: onBase, unfit, issue: context.issue.problem_statement });
  const ids = new Set(admissions.filter(({ admitted }) => admitted).map(({ test_id }) => test_id));
  return { admitted: tests.filter(({ test_id }) => ids.has(test_id)), admissions };
}

export function testCells(
  context: ExecutionContext,
  patch: DistinctPatch | null,
  tests: readonly GeneratedTest[],
  { runs, control }: TestRuns,
): readonly Cell[] {
  return tests.flatMap(({ test_id }) => {
    const run = runs.get(test_id);
    if (run === undefined) return [];
    const { exit_code, duration_ms, log_tail, observed } = run;
    const outcome: Cell['outcome'] = control.end === 'forged' ? 'forged' : run.outcome;
    const measured = { outcome, exit_code, duration_ms, log_tail, passed: null, total: null, lost: [] };
    const cell = { suite: 'reproduction', test_id, ...measured } as const;
    if (observed === null) return cellsOf(context, patch, cell);
    const seen = { sha256: sha256(observed), preview: observed.slice(0, PREVIEW) };
    return cellsOf(context, patch, { ...cell, observed: seen });
  });
}

export async function tellCells(observe: Pick<Observe, 'cell'>, told: readonly Cell[]): Promise<void> {
  for (const cell of told) await observe.cell(cell);
}
