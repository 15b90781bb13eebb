import fc from 'fast-check';
import { latentPosterior } from '../../../../verifiers/hybrid/latent-model.js';
import { posteriorOf } from '../../../../verifiers/hybrid/pool.js';
import { times } from '../../../fixtures/property-runs.js';
import { entryOf } from './entry-of.js';
import type { TestColumn } from '../../../../verifiers/hybrid/latent-state.js';

/** ∫ p^x (1−p)^y Beta(p; a, b) dp by its recursion. */
function beta([a, b]: readonly [number, number], x: number, y: number): number {
  let value = 1;
  for (let n = 0; n < x; n += 1) value *= (a + n) / (a + b + n);
  for (let n = 0; n < y; n += 1) value *= (b + n) / (a + b + x + n);
  return value;
}

type Prior = readonly [number, number];
const LIKELIHOODS: readonly ((rp: number, rf: number, wp: number, wf: number) => number)[] = [
  (rp, rf, wp, wf) => 0.5 * beta([9, 1], rp, rf) * beta([1, 2], wp, wf),
  (rp, rf, wp, wf) => 0.4 * beta([0.5, 0.5] satisfies Prior, rp + wp, rf + wf),
  (rp, rf, wp, wf) => 0.1 * beta([1, 6], rp, rf) * beta([2, 1], wp, wf),
];

/** The same by adding up over each of the 2^n assignments. */
function bruteForce(columns: readonly TestColumn[], n: number): { right: number[]; kinds: number[][] } {
  let total = 0;
  const right = new Array<number>(n).fill(0);
  const kinds = columns.map(() => [0, 0, 0]);
  for (let mask = 0; mask < 2 ** n; mask += 1) {
    const isRight = Array.from({ length: n }, (_, bit) => ((mask >> bit) & 1) === 1);
    const r = isRight.filter(Boolean).length;
    const per = columns.map(({ outcomes, trusted }) => {
      const count = (side: boolean, passed: boolean): number =>
        outcomes.filter((outcome, index) => isRight[index] === side && outcome === passed).length;
      const counts = [count(true, true), count(true, false), count(false, true), count(false, false)] as const;
      if (!trusted) return LIKELIHOODS.map((likelihood) => likelihood(...counts));
      return [beta([9, 1], counts[0], counts[1]) * beta([2, 1], counts[2], counts[3]), 0, 0];
    });
    const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
    const weight = beta([1, 1], r, n - r) * per.reduce((product, each) => product * sum(each), 1);
    total += weight;
    for (const [index, side] of isRight.entries()) if (side) right[index] = (right[index] ?? 0) + weight;
    for (const [test, each] of per.entries())
      for (const [kind, value] of each.entries()) {
        const row = kinds[test] ?? [];
        row[kind] = (row[kind] ?? 0) + (weight * value) / sum(each);
      }
  }
  return { right: right.map((value) => value / total), kinds: kinds.map((row) => row.map((value) => value / total)) };
}

const outcome = fc.constantFrom(true, false, null);
const matrix = fc
  .record({ n: fc.integer({ min: 1, max: 7 }), tests: fc.integer({ min: 0, max: 5 }) })
  .chain(({ n, tests }) =>
    fc.record({
      n: fc.constant(n),
      columns: fc.array(
        fc.record({
          outcomes: fc.array(outcome, { minLength: n, maxLength: n }),
          trusted: fc.boolean(),
        }),
        { minLength: tests, maxLength: tests },
      ),
    }),
  );

describe('the posterior of the outcomes', () => {
  it('is what adding up over every assignment gives', () => {
    fc.assert(
      fc.property(matrix, ({ n, columns }) => {
        const found = latentPosterior(columns, n);
        const wanted = bruteForce(columns, n);
        for (const [index, value] of wanted.right.entries()) expect(found.right[index]).toBeCloseTo(value, 9);
        for (const [test, row] of wanted.kinds.entries())
          for (const [kind, value] of row.entries()) expect(found.kinds[test]?.[kind]).toBeCloseTo(value, 9);
      }),
      { numRuns: 300 },
    );
  });

  it('without tests says nothing: one half for everybody', () => {
    expect(latentPosterior([], 3).right).toEqual([0.5, 0.5, 0.5].map((half) => expect.closeTo(half, 12) as number));
  });

  it('by sampling agrees with the exact one', () => {
    fc.assert(
      fc.property(matrix, ({ n, columns }) => {
        const exact = latentPosterior(columns, n);
        const sampled = latentPosterior(columns, n, 0);
        // 2,000 sweeps that depend on one another.
        for (const [index, value] of exact.right.entries())
          expect(Math.abs(value - (sampled.right[index] ?? NaN))).toBeLessThan(0.12);
      }),
      { numRuns: times(15), seed: 1 },
    );
  });

  it('takes the word of tests that agree over that of one which passes who they fail', () => {
    const outcomes = (text: string): TestColumn => ({
      outcomes: Array.from(text, (each) => each === '1'),
      trusted: false,
    });
    // Candidates 0..2 solve three tests, 3..7 none of them; the last test passes the wrong ones alone.
    const good = ['11100000', '11100000', '11110000'].map(outcomes);
    const { right, kinds } = latentPosterior([...good, outcomes('00011111')], 8);
    expect(right[0]).toBeGreaterThan(0.8);
    expect(right[7]).toBeLessThan(0.2);
    expect(kinds[3]?.[2]).toBeGreaterThan(0.5);
    expect(kinds[0]?.[0]).toBeGreaterThan(0.8);
  });
});

it('the posterior of a pool does not depend on the order of candidates that only seem equal', () => {
  const a = entryOf('a', { fingerprint: 'p', solved: [], reproduction_out_of: 3 });
  const b = entryOf('b', { fingerprint: 'p', solved: [], reproduction_out_of: null });
  const of = (...pool: Parameters<typeof posteriorOf>[0][number][]): object =>
    Object.fromEntries(posteriorOf(pool).right);
  expect(of(a, b)).toEqual(of(b, a));
});
