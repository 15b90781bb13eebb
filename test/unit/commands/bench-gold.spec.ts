import { describeFlaky, findFlaky } from '../../../src/commands/bench/bench-gold.js';
import type { CandidateGrade } from '../../../src/grading/grade-candidates.js';
import type { TestStatus } from '../../../verifiers/execution-based/reports/test-log.js';
import type { GradedInstance } from '../../../src/reports/grades.js';

type Repeat = readonly [label: boolean | null, tests: Readonly<Record<string, TestStatus>>];

function instance(gold: readonly Repeat[], empty: readonly Repeat[]): GradedInstance {
  const grades = (name: string, repeats: readonly Repeat[]): CandidateGrade[] =>
    repeats.map(([resolved, tests], index) => ({
      ...{ instance_id: 'i', candidate_id: `${name}-${index + 1}`, key: `${name}-${index}` },
      ...{ resolved, tests, reason: '', seconds: 1 },
    }));
  const graded = { grades: [...grades('gold', gold), ...grades('empty', empty)], ungraded: [], leftOut: [] };
  return { instance_id: 'i', graded: { ...graded, unreadable: null, goldProblem: null } };
}

const RIGHT: Repeat = [true, { fix: 'passed', kept: 'passed' }];
const WRONG: Repeat = [false, { fix: 'failed', kept: 'passed' }];

describe('the search for flaky instances', () => {
  it('lists the tests that moved with their statuses by repeat', () => {
    const flaky = findFlaky(instance([RIGHT, [false, { fix: 'passed', kept: 'failed' }]], [WRONG, WRONG]));
    expect(flaky).toEqual({
      ...{ instance_id: 'i', gold: [true, false], empty: [false, false] },
      tests: [{ name: 'kept', gold: ['passed', 'failed'], empty: ['passed', 'passed'] }],
    });
    expect(flaky === null ? '' : describeFlaky(flaky)).toBe(
      'i: flaky, right in 1 of 2 runs of gold and 0 of 2 of the empty patch; moved: kept (gold: passed failed; empty: passed passed)',
    );
  });

  it.each([
    ['the empty patch is right once', [RIGHT, RIGHT], [WRONG, RIGHT], ['fix']],
    ['a run has no label', [RIGHT, [null, {}]], [WRONG, WRONG], ['fix', 'kept']],
    ['only a test on base moves', [RIGHT, RIGHT], [WRONG, [false, { fix: 'failed', kept: 'missing' }]], ['kept']],
    ['no test moves', [RIGHT, [false, RIGHT[1]]], [WRONG, WRONG], []],
  ] as const)('lists an instance if %s', (_, gold, empty, moved) => {
    expect(findFlaky(instance(gold, empty))?.tests.map(({ name }) => name)).toEqual(moved);
  });

  it.each([
    ['every repeat ends alike', [RIGHT, RIGHT], [WRONG, WRONG]],
    ['a failing test only changes how it fails', [RIGHT, RIGHT], [WRONG, [false, { fix: 'error', kept: 'passed' }]]],
    ['gold is never right', [WRONG, WRONG], [WRONG, WRONG]],
    ['gold ran once', [RIGHT], []],
  ] as const)('lists no instance if %s', (_, gold, empty) => {
    expect(findFlaky(instance(gold, empty))).toBeNull();
  });
});
