import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { Admission } from '../../../src/core/run/verifier.js';
import type { TestRun } from './run-batch.js';
import { dialectOf } from '../drivers/test-dialect.js';
import { wrongReason } from './unfit-test.js';

const REFUSALS: Readonly<Record<Exclude<TestRun['outcome'], 'not-solved'>, string>> = {
  solved: 'says "solved" on base, so it does not reproduce the issue',
  crashed: 'breaks on base: it ends in another way than exit 0 or 2',
  'timed-out': 'exceeds its time limit on base',
  'out-of-memory': 'exceeds the memory limit on base',
  'out-of-disk': 'exceeds the disk limit on base',
};

/** Whether there is a driver for its language. */
export function isRunnable(test: GeneratedTest): boolean {
  return dialectOf(test) !== null;
}

/**
 * A test is admitted when it says "not solved" on base, twice, and not for an error of its own. Needs no label.
 * @param runs the two base runs by test id; tests without any are refused by `unfit`
 * @param unfit reasons by test id for those that were not run
 */
export function admit(tests: readonly GeneratedTest[], { runs, unfit, issue }: BaseRuns): readonly Admission[] {
  return tests.map((test) => {
    const { test_id } = test;
    const reason = unfit.get(test_id) ?? (isRunnable(test) ? refusal(runs.get(test_id) ?? [], issue) : NO_DRIVER);
    return { test_id, admitted: reason === null, reason };
  });
}

export interface BaseRuns {
  readonly runs: ReadonlyMap<string, readonly TestRun[]>;
  readonly unfit: ReadonlyMap<string, string>;
  /** The issue's text. */
  readonly issue: string;
}

const NO_DRIVER = 'is neither a Python script (.py) nor one for Node (.mjs, .cjs, .js)';

function refusal(runs: readonly TestRun[], issue: string): string | null {
  const [first, ...others] = runs;
  if (first === undefined) return 'was not run on base';
  if (others.some(({ outcome }) => outcome !== first.outcome)) {
    return `is not stable on base: ${runs.map(({ outcome }) => outcome).join(', then ')}`;
  }
  if (others.some(({ observed }) => observed !== first.observed)) return 'observes something else each time on base';
  return first.outcome === 'not-solved' ? wrongReason(first.log_tail, issue) : REFUSALS[first.outcome];
}
