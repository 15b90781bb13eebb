import fc from 'fast-check';
import { choose } from '../../../src/statistics/intervals/binomial.js';
import { passAtK } from '../../../src/statistics/curves/best-at-k.js';
import { subsetsOf } from './issues.js';

/** Right candidates of 8 over the 500 issues of SWE-bench Verified, one public run: issues with c = 0..8 right. */
const ISSUES_BY_RIGHT = [92, 18, 18, 23, 15, 10, 26, 64, 234];

describe('Pass@k', () => {
  it('gives the published curve of a public 500 × 8 run', () => {
    const mean = (k: number): number =>
      ISSUES_BY_RIGHT.reduce((sum, issues, c) => sum + issues * passAtK(8, c, k), 0) / 500;
    const published = [0.67725, 0.74286, 0.76993, 0.78657, 0.79782, 0.80571, 0.8115, 0.816];
    for (const [index, value] of published.entries()) expect(mean(index + 1)).toBeCloseTo(value, 5);
  });

  it('is the share of k-subsets that hold a right candidate', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9 }), fc.nat(9), fc.nat(8), (n, right, j) => {
        const [c, k] = [Math.min(right, n), Math.min(j + 1, n)];
        const subsets = subsetsOf(
          Array.from({ length: n }, (_, index) => index < c),
          k,
        );
        const share = subsets.filter((subset) => subset.includes(true)).length / subsets.length;
        expect(passAtK(n, c, k)).toBeCloseTo(share, 12);
      }),
    );
  });

  it('stays accurate for 100,000 candidates', () => {
    expect(passAtK(100_000, 1, 1)).toBeCloseTo(1e-5, 18);
    expect(passAtK(100_000, 1, 50_000)).toBeCloseTo(0.5, 12);
    expect(passAtK(100_000, 2, 50_000)).toBeCloseTo(1 - (50_000 * 49_999) / (100_000 * 99_999), 12);
    expect(passAtK(100_000, 50_000, 3)).toBeCloseTo(1 - (50_000 / 100_000) * (49_999 / 99_999) * (49_998 / 99_998), 12);
    expect(passAtK(100_000, 50_000, 50_000)).toBe(1);
    expect(passAtK(100_000, 0, 99_999)).toBe(0);
  });

  it('rises with k and with c', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 300 }), fc.nat(), fc.nat(), (n, a, b) => {
        const [c, k] = [a % n, 1 + (b % (n - 1))];
        expect(passAtK(n, c, k + 1)).toBeGreaterThanOrEqual(passAtK(n, c, k) - 1e-12);
        expect(passAtK(n, c + 1, k)).toBeGreaterThanOrEqual(passAtK(n, c, k) - 1e-12);
      }),
    );
  });

  it.each([
    [8, 3, 9, /k = 9/],
    [0, 0, 1, /n = 0/],
    [8, 9, 1, /c = 9/],
    [8, -1, 1, /c = -1/],
    [8, 1, 0, /k = 0/],
    [8, 1, 1.5, /k = 1.5/],
    [8, NaN, 1, /c = NaN/],
    [Infinity, 1, 1, /n = Infinity/],
  ])('refuses n = %p, c = %p, k = %p', (n, c, k, message) => {
    expect(() => passAtK(n, c, k)).toThrow(message);
  });
});

describe('C(n, k)', () => {
  it('is exact while it is a safe whole number', () => {
    expect([choose(26, 4), choose(26, 22), choose(52, 26), choose(9, 10)]).toEqual([
      14_950, 14_950, 495_918_532_948_104, 0,
    ]);
    expect(choose(100_000, 50_000)).toBe(Infinity);
  });
});
