import type { CellOutcome } from '../../src/core/cell.js';
import type { GeneratedTest } from '../../src/core/generated-test.js';
import type { Admission } from '../../src/core/observe.js';

const REFUSALS: Readonly<Record<Exclude<CellOutcome, 'not-solved'>, string>> = {
  solved: 'says "solved" on base, so it does not reproduce the issue',
  crashed: 'breaks on base: it ends in another way than exit 0 or 2',
  'timed-out': 'exceeds its time limit on base',
  'out-of-memory': 'exceeds the memory limit on base',
  'out-of-disk': 'exceeds the disk limit on base',
};

/** Whether there is a driver for its language. */
export function isRunnable({ path }: GeneratedTest): boolean {
  return path.endsWith('.py');
}

/**
 * A test is admitted when it says "not solved" on base, twice. Needs no label.
 * @param outcomes the two base outcomes by test id
 */
export function admit(
  tests: readonly GeneratedTest[],
  outcomes: ReadonlyMap<string, readonly CellOutcome[]>,
): readonly Admission[] {
  return tests.map((test) => {
    const { test_id } = test;
    const reason = isRunnable(test) ? refusal(outcomes.get(test_id) ?? []) : 'is not a Python script (*.py)';
    return { test_id, admitted: reason === null, reason };
  });
}

function refusal(outcomes: readonly CellOutcome[]): string | null {
  const [first, ...others] = outcomes;
  if (first === undefined) return 'was not run on base';
  if (others.some((outcome) => outcome !== first)) return `is not stable on base: ${outcomes.join(', then ')}`;
  return first === 'not-solved' ? null : REFUSALS[first];
}
