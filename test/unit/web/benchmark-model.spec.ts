import { type BenchmarkRun, filtered, rowsOf } from '../../../src/web/benchmarks/benchmark-model.js';

const ANY = { q: '', repository: '', state: '', outcome: '', order: '' };

function run(instance_id: string, arm: string, known: Partial<BenchmarkRun>): BenchmarkRun {
  const unknown = { failure: null, candidate_id: null, deciding_stage: null, confidence: null, k: null, tokens: null };
  const ungraded = { right: null, graded: null, right_candidates: null, ungraded: null };
  const untold = { cost_usd: null, seconds: null, ...unknown, ...ungraded };
  return { id: `${instance_id} ${arm}`, arm, instance_id, status: 'done', handed: true, ...untold, ...known };
}

describe('the issues of a benchmark', () => {
  const rows = rowsOf(
    [
      run('a__a-1', 'x', { seconds: 5, cost_usd: 4, confidence: 0.9 }),
      run('a__a-2', 'x', {}),
      run('a__a-3', 'x', { seconds: 2, cost_usd: 3, confidence: 0.4 }),
      run('a__a-3', 'y', { seconds: 9, cost_usd: 0, confidence: 0.95 }),
      run('a__a-4', 'y', {}),
    ],
    ['x', 'y'],
  );
  it.each([
    ['', '1234'],
    ['longest time', '3124'],
    ['highest cost', '1324'],
    ['lowest confidence', '3124'],
    ['no such order', '1234'],
  ])('stand %j as %s: by the arm that goes furthest, the unknown last', (order, expected) => {
    const found = filtered(rows, { ...ANY, order });
    expect(found.map(({ instance }) => instance.slice(-1)).join('')).toBe(expected);
  });

  it.each([
    ['not graded', 'a__a-2'],
    ['label unknown', 'a__a-3'],
    ['no right candidate', 'a__a-1'],
    ['wrong', 'a__a-1'],
  ])('are found by the outcome %j, an unknown label being no wrong one', (outcome, expected) => {
    const graded = rowsOf(
      [
        run('a__a-1', 'x', { right: false, graded: 2, right_candidates: 0, ungraded: 0 }),
        run('a__a-2', 'x', {}),
        run('a__a-3', 'x', { right: null, graded: 1, right_candidates: 0, ungraded: 1 }),
      ],
      ['x'],
    );
    expect(filtered(graded, { ...ANY, outcome }).map(({ instance }) => instance)).toEqual([expected]);
  });

  it.each(['__proto__', 'constructor'])('are all shown for the filters and the order %j of an address', (name) => {
    expect(filtered(rows, { ...ANY, state: name, outcome: name, order: name })).toEqual(rows);
  });
});
