import { RunRequest } from '../../../src/core/run/run-request.js';
import type { RunResult } from '../../../src/core/run/run-result.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import type { GradedRun } from '../../../src/ports/benchmark-store.js';
import { armCurve, ksOf, runCurve } from '../../../src/reports/benchmark/arms.js';
import { wilson } from '../../../src/statistics/intervals/binomial.js';
import { runResult } from '../../fixtures/runs.js';
import { patchOf } from './benchmark-world.js';

/** The judge likes a best, then b, then c; b and c are right. */
const IDS = ['a', 'b', 'c'];
const LABELS = new Map([
  ['a', false],
  ['b', true],
  ['c', true],
]);

function request(rule: object = { preset: 'ef-only' }): RunRequest {
  const issue = { instance_id: 'o__r-1', problem_statement: 'It breaks.', environment: { image: 'x:1' } };
  const candidates = IDS.map((candidate_id) => ({ candidate_id, patch: patchOf(candidate_id) }));
  return RunRequest.parse({ issue, candidates, ...rule });
}

function result(): RunResult {
  const verdicts = IDS.map((candidate_id, index): Verdict => ({
    ...{ kind: 'scored', candidate_id, measure: 'execution_free', score: 0.9 - index / 10, out_of: 1 },
    evidence: {},
  }));
  return { ...runResult(), verdicts };
}

function near(...values: readonly number[]): readonly unknown[] {
  return values.map((value): unknown => expect.closeTo(value, 12));
}

describe('the curve of a run', () => {
  it('tells by k how often its own rule returns a right candidate', () => {
    // Of one: any of three. Of two: right unless the wrong one, which wins, is among them. Of three: it always is.
    expect(runCurve(request(), result(), LABELS)).toEqual(near(2 / 3, 1 / 3, 0));
  });
  it('leaves out candidates without a label', () => {
    expect(runCurve(request(), result(), new Map([['b', true]]))).toEqual([1]);
  });
  it.each([
    ['no candidate has a label', {}, new Map<string, boolean>()],
    ['the rule would take a posterior for every subset', { preset: 'bayes' }, LABELS],
    ['the rule may return nothing', { preset: 'ef-only', min_confidence: 0.5 }, LABELS],
  ])('is not worked out where %s', (_, rule, labels) => {
    expect(runCurve(request(rule), result(), labels)).toBeNull();
  });
});

describe('the curve of an arm', () => {
  const run = (graded: number, right_candidates: number, best: readonly number[] | null, right: boolean | null) =>
    ({ arm: 'mine', graded, right_candidates, best, right }) satisfies GradedRun;

  it('is the mean of its issues, of which one with fewer candidates counts with all it has', () => {
    const curve = armCurve('mine', [run(3, 1, [1 / 3, 0.5, 1], true), run(2, 0, [0, 0], false), run(0, 0, null, null)]);
    expect(curve).toMatchObject({ arm: 'mine', issues: 2, selected: { value: 0.5, ...wilson(1, 2), issues: 2 } });
    const values = curve.points.map(({ k, pass_at_k, best_at_k }) => [k, pass_at_k.value, best_at_k?.value]);
    expect(values.flat()).toEqual(near(1, 1 / 6, 1 / 6, 2, 1 / 3, 0.25, 3, 0.5, 0.5));
    expect(curve.points[2]?.pass_at_k).toMatchObject(wilson(1, 2));
  });
  it('counts a graded selection with an unknown label apart', () => {
    const curve = armCurve('mine', [run(2, 1, [0.5, 1], true), run(1, 0, [0], null), run(0, 0, null, null)]);
    expect(curve).toMatchObject({ issues: 2, unknown: 2, selected: { value: 1, issues: 1 } });
    expect(curve.points.map(({ pass_at_k }) => pass_at_k.value)).toEqual(near(0.25, 0.5));
  });
  it('has no Best@k where it was not worked out for a graded run, and no point where nothing is graded', () => {
    const points = armCurve('mine', [run(1, 1, [1], true), run(1, 1, null, true)]).points;
    expect(points.map(({ best_at_k }) => best_at_k)).toEqual([null]);
    expect(armCurve('mine', [])).toEqual({ arm: 'mine', issues: 0, unknown: 0, selected: null, points: [] });
  });
  it.each([
    [0, []],
    [5, [1, 2, 3, 4, 5]],
    [9, [1, 2, 4, 8, 9]],
    [16, [1, 2, 4, 8, 16]],
    [26, [1, 2, 4, 8, 16, 26]],
  ])('has of %d candidates the k %j', (n, ks) => {
    expect(ksOf(n)).toEqual(ks);
  });
});
