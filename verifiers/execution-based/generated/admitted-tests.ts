import type { Cell } from '../../../src/core/run/cell.js';
import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { Admission, Observe } from '../../../src/core/run/verifier.js';
import { admit, isRunnable } from './admission.js';
import type { ExecutionContext } from '../execution-context.js';
import { cellsOf } from '../outcomes.js';
import type { DistinctPatch } from '../tree/distinct.js';
import type { TestRun } from './run-batch.js';
import { runTests } from './run-tests.js';
import { unfitTests } from './unfit-test.js';

/** Runs by test id. */
export type Runs = ReadonlyMap<string, TestRun>;

/** The tests that take part: run on base twice, where they have to say "not solved". */
export async function admittedTests(
  context: ExecutionContext,
  tests: readonly GeneratedTest[],
  observe: Pick<Observe, 'cell'>,
  signal: AbortSignal,
): Promise<{ readonly admitted: readonly GeneratedTest[]; readonly admissions: readonly Admission[] }> {
  const unfit = unfitTests(tests);
  const runnable = tests.filter((test) => isRunnable(test) && !unfit.has(test.test_id));
  const base = await Promise.all([0, 1].map((repeat) => runTests(context, { tree: null, repeat }, runnable, signal)));
  for (const runs of base) await tellCells(observe, testCells(context, null, runnable, runs));
  const onBase = new Map(
    tests.map(({ test_id }) => [test_id, base.flatMap((runs) => runs.get(test_id) ?? [])] as const),
  );
  const admissions = admit(tests, { runs: onBase, unfit, issue: context.issue.problem_statement });
  const ids = new Set(admissions.filter(({ admitted }) => admitted).map(({ test_id }) => test_id));
  return { admitted: tests.filter(({ test_id }) => ids.has(test_id)), admissions };
}

export function testCells(
  context: ExecutionContext,
  patch: DistinctPatch | null,
  tests: readonly GeneratedTest[],
  runs: Runs,
): readonly Cell[] {
  return tests.flatMap(({ test_id }) => {
    const run = runs.get(test_id);
    if (run === undefined) return [];
    return cellsOf(context, patch, { suite: 'reproduction', test_id, ...run, passed: null, total: null, lost: [] });
  });
}

export async function tellCells(observe: Pick<Observe, 'cell'>, told: readonly Cell[]): Promise<void> {
  for (const cell of told) await observe.cell(cell);
}
