import type { Cell } from '../../../src/core/run/generated-test.js';
import type { Observe, Exclude } from '../../../src/core/run/verifier.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import { type ExecutionContext, type Tree, cellsOf, abstained, forEach } from '../execution-context.js';
import { alone, suiteOf } from './suite.js';
import type { Applicable } from '../tree/applicability.js';
import {
  regressionOn,
  heldUp,
  isForged,
  needsImageUser,
  regressionSet,
  without,
  type RegressionSet,
} from './regression-set.js';
import { runAsImageUser } from '../tree/tree-sessions.js';
import type { RegressionRun } from './run-regression.js';

const MOST_NAMED = 50;
/** More lost tests than this are not attributed to the machine. */
const MOST_AGAIN = 50;
const FORGED = 'an existing test of ours passed that no code can pass';

export interface Regression {
  readonly applicable: Promise<Applicable>;
  readonly exclude?: Exclude | undefined;
}

/**
 * Runs the regression command on base twice and on each distinct patch once, each in a fresh container, then lost tests
 * once more on their own. Score = |passed on candidate ∩ passed on base twice|.
 */
export async function verifyRegression(
  given: ExecutionContext,
  { applicable, exclude }: Regression,
  observe: Observe,
  signal: AbortSignal,
): Promise<readonly Verdict[]> {
  const suite = await suiteOf(given, applicable, observe, signal);
  if ('missing' in suite) return abstained((await applicable).patches, 'regression', 'no-tests', suite.missing);
  const { context, command, evidence } = suite;
  const run = (tree: Tree, repeat: number): Promise<RegressionRun> =>
    regressionOn(context, command, { tree, repeat }, signal);
  const reference = run(null, 0);
  const known = reference.then(async (first) => {
    const runs = [first, ...(await apartFrom(context, first, (repeat) => run(null, repeat)))];
    const stable = regressionSet(runs);
    const set = exclude === undefined ? stable : without(stable, await exclude(stable.tests, signal));
    for (const base of runs) await tell(observe, cellsOf(context, null, measuredBy(set, base)));
    return set;
  });
  // Awaited below where the candidates need it; until then a rejection must not count as unhandled.
  known.catch(() => undefined);
  const [{ patches }] = await Promise.all([applicable, reference]);
  const verdicts = forEach(
    patches,
    'regression',
    async (patch) => {
      const [set, early] = await Promise.all([known, run(patch.source, 0)]);
      // That run began before it was known that the suite needs the image's own user.
      const first = early.isolated === set.isolated ? early : await run(patch.source, 0);
      const again = (lost: readonly string[]): Promise<RegressionRun> =>
        regressionOn(alone(context, lost), command, { tree: patch.source, repeat: 1 }, signal);
      const result = await withLostAgain(set, first, again);
      await tell(observe, cellsOf(context, patch, measuredBy(set, result)));
      if (isForged(set, result)) return abstained([patch], 'regression', 'forged', FORGED);
      if (set.missing !== null) return abstained([patch], 'regression', 'no-tests', set.missing);
      const { passed, lost } = heldUp(set, result);
      return patch.candidateIds.map((candidate_id): Verdict => ({
        kind: 'scored',
        candidate_id,
        measure: 'regression',
        score: passed,
        out_of: set.tests.length,
        evidence: {
          outcome: result.outcome,
          lost: lost.slice(0, MOST_NAMED),
          excluded: set.excluded.slice(0, MOST_NAMED),
          replaced: result.changed.filter((name) => !set.changed.includes(name)),
          control: result.control,
          passed_once: set.passed_once.slice(0, MOST_NAMED),
          isolated: result.isolated,
          verified_as: patch.representative,
          ...evidence,
        },
      }));
    },
    context.tracer,
  );
  const [settled] = await Promise.all([verdicts, known]);
  return settled;
}

/**
 * The base runs besides the first: one as the tests' user. If it loses many tests, another run shows whether
 * permissions or chance are the cause; if permissions, one run as the image's own user replaces both.
 */
async function apartFrom(
  context: ExecutionContext,
  reference: RegressionRun,
  run: (repeat: number) => Promise<RegressionRun>,
): Promise<readonly RegressionRun[]> {
  const apart = [await run(1)];
  if (!needsImageUser(reference, apart)) return apart;
  apart.push(await run(2));
  if (!needsImageUser(reference, apart)) return apart;
  await runAsImageUser(context);
  return [await run(1)];
}

/** Lost tests that pass in a fresh container were lost because of the machine, not the patch. */
async function withLostAgain(
  set: RegressionSet,
  first: RegressionRun,
  again: (lost: readonly string[]) => Promise<RegressionRun>,
): Promise<RegressionRun> {
  // Only the wall-clock limit was reached, which depends on the machine.
  const isWaiting = first.outcome === 'timed-out' && first.exit_code === null;
  const { lost } = heldUp(set, first);
  const isHonest = !isForged(set, first) && first.changed.every((name) => set.changed.includes(name));
  if (isWaiting) return again([]);
  if (first.outcome !== 'exited' || !isHonest || lost.length === 0 || lost.length > MOST_AGAIN) return first;
  const few = await again(lost);
  const second = lacksControl(set, few) ? await again([]) : few;
  if (isForged(set, second)) return second;
  const stillLost = new Set(heldUp(set, second).lost);
  return { ...first, passed: [...first.passed, ...lost.filter((test) => !stillLost.has(test))] };
}

/** The files of lost tests may have no place for it. */
function lacksControl(set: RegressionSet, { outcome, control }: RegressionRun): boolean {
  return set.controlled && outcome === 'exited' && control === 'absent';
}

async function tell(observe: Observe, cells: readonly Cell[]): Promise<void> {
  for (const cell of cells) await observe.cell(cell);
}

function measuredBy(set: RegressionSet, run: RegressionRun): Parameters<typeof cellsOf>[2] {
  const { passed, lost } = heldUp(set, run);
  const whole = set.tests.length > 0 && lost.length === 0;
  return {
    suite: 'regression',
    test_id: 'regression',
    outcome: isForged(set, run) ? 'forged' : run.outcome === 'exited' ? (whole ? 'solved' : 'not-solved') : run.outcome,
    exit_code: run.exit_code,
    duration_ms: run.duration_ms,
    passed,
    total: set.tests.length,
    lost: lost.slice(0, MOST_NAMED),
    log_tail: run.log_tail,
  };
}
