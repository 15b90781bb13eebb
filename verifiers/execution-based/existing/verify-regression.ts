import type { Cell } from '../../../src/core/run/cell.js';
import type { Observe } from '../../../src/core/run/verifier.js';
import type { Exclude } from '../../../src/core/run/verifier.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import type { ExecutionContext, Tree } from '../execution-context.js';
import { cellsOf } from '../outcomes.js';
import type { Applicable } from '../tree/distinct.js';
import { abstained, forEach } from '../outcomes.js';
import { regressionOn } from './regression-set.js';
import { relatedTests } from './related-tests.js';
import { heldUp, regressionSet, without, type RegressionSet } from './regression-set.js';
import type { RegressionRun } from './run-regression.js';

const MOST_NAMED = 50;

export interface Regression {
  readonly applicable: Promise<Applicable>;
  readonly exclude?: Exclude | undefined;
}

/**
 * The regression command on base twice and on every distinct patch once, each in a fresh container; scores
 * |passed on candidate ∩ passed on base twice|.
 */
export async function verifyRegression(
  given: ExecutionContext,
  { applicable, exclude }: Regression,
  observe: Observe,
  signal: AbortSignal,
): Promise<readonly Verdict[]> {
  const { regression_command: command } = given.issue.environment;
  if (command === null) {
    const { patches } = await applicable;
    return abstained(patches, 'regression', 'no-tests', 'the issue names no regression_command');
  }
  const context = await withRelatedTests(given, command, applicable, signal);
  const run = (tree: Tree, repeat: number): Promise<RegressionRun> =>
    regressionOn(context, command, { tree, repeat }, signal);
  const known = Promise.all([run(null, 0), run(null, 1)]).then(async (runs) => {
    const stable = regressionSet(runs);
    const set = exclude === undefined ? stable : without(stable, await exclude(stable.tests, signal));
    for (const base of runs) await tell(observe, cellsOf(context, null, measuredBy(set, base)));
    return set;
  });
  // Waited for below, where the candidates need it; until then its failure is nobody's yet.
  known.catch(() => undefined);
  const { patches } = await applicable;
  const verdicts = forEach(
    patches,
    'regression',
    async (patch) => {
      const [set, result] = await Promise.all([known, run(patch.source, 0)]);
      await tell(observe, cellsOf(context, patch, measuredBy(set, result)));
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
          verified_as: patch.representative,
        },
      }));
    },
    context.tracer,
  );
  const [settled] = await Promise.all([verdicts, known]);
  return settled;
}

/** The issue's own regression files, or those that have to do with what the patches change. */
async function withRelatedTests(
  context: ExecutionContext,
  command: string,
  applicable: Promise<Applicable>,
  signal: AbortSignal,
): Promise<ExecutionContext> {
  const { environment } = context.issue;
  if (environment.regression_files.length > 0 || !/\{(files|modules)\}/.test(command)) return context;
  const { patches } = await applicable;
  const regression_files = [...(await relatedTests(context, patches, signal))];
  return { ...context, issue: { ...context.issue, environment: { ...environment, regression_files } } };
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
    outcome: run.outcome === 'exited' ? (whole ? 'solved' : 'not-solved') : run.outcome,
    exit_code: run.exit_code,
    duration_ms: run.duration_ms,
    passed,
    total: set.tests.length,
    lost: lost.slice(0, MOST_NAMED),
    log_tail: run.log_tail,
  };
}
