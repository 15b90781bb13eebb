import fc from 'fast-check';
import { Resamples } from '../../../src/statistics/intervals/bootstrap.js';
import { holm, mcnemar, minimumDetectable } from '../../../src/statistics/intervals/paired-tests.js';
import { aucWithin, ProbabilityQuality } from '../../../src/statistics/intervals/ranking-quality.js';
import { wilson, Z95 } from '../../../src/statistics/intervals/binomial.js';

describe('Wilson', () => {
  it('gives the published interval of 374 in 500', () => {
    const { low, high } = wilson(374, 500);
    expect(low).toBeCloseTo(0.708, 3);
    expect(high).toBeCloseTo(0.784, 3);
  });

  it('stays inside 0..1 and holds the rate', () => {
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 });
    expect(wilson(0, 10).low).toBe(0);
    expect(wilson(10, 10).high).toBe(1);
    expect(() => wilson(3, 2)).toThrow(/successes = 3/);
  });

  it('holds exactly the rates that a score test of 5 % does not refuse, found by halving', () => {
    const refused = (rate: number, given: number, n: number): boolean =>
      Math.abs(given / n - rate) > Z95 * Math.sqrt((rate * (1 - rate)) / n);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (n, share) => {
        const given = Math.round(share * n);
        const edge = (out: number): number => {
          let [inside, outside] = [given / n, out];
          if (!refused(out, given, n)) return out;
          for (let step = 0; step < 60; step += 1) {
            const middle = (inside + outside) / 2;
            if (refused(middle, given, n)) outside = middle;
            else inside = middle;
          }
          return inside;
        };
        const { low, high } = wilson(given, n);
        expect(low).toBeCloseTo(edge(0), 9);
        expect(high).toBeCloseTo(edge(1), 9);
      }),
    );
  });
});

describe('McNemar, exact', () => {
  it.each([
    [0, 0, 1],
    [5, 5, 1],
    [0, 5, 0.0625],
    [1, 9, 0.021484375],
    [10, 2, 0.03857421875],
  ])('%i against %i: p = %p', (a, b, p) => {
    expect(mcnemar(a, b)).toBeCloseTo(p, 12);
    expect(mcnemar(b, a)).toBeCloseTo(p, 12);
  });

  it('is the binomial tail for large counts too', () => {
    expect(mcnemar(5000, 5200)).toBeCloseTo(0.0488, 3);
    expect(mcnemar(0, 2000)).toBe(0);
  });
});

describe('Holm', () => {
  it('multiplies the smallest most, keeps the order and stops at 1', () => {
    expect(holm([0.01, 0.04, 0.03, 0.5])).toEqual([0.04, 0.09, 0.09, 0.5]);
    expect(holm([0.9, 0.8])).toEqual([1, 1]);
    expect(holm([])).toEqual([]);
  });
});

describe('minimum detectable difference', () => {
  it('is 2.8 standard errors', () => {
    expect(minimumDetectable(0.5, 500)).toBeCloseTo((1.95996 + 0.84162) * (0.5 / Math.sqrt(500)), 5);
  });
});

describe('bootstrap', () => {
  it('has the spread of a mean and keeps columns together', () => {
    const rows = Float64Array.from({ length: 2000 }, (_, index) =>
      index % 2 === 0 ? Number(index % 8 === 0) : 1 - Number((index - 1) % 8 === 0),
    );
    const resamples = new Resamples({ rows, sizes: new Int32Array(1000).fill(1), width: 2 }, 4000, 7);
    const { low, high } = resamples.column(0) ?? { low: NaN, high: NaN };
    const half = 1.96 * Math.sqrt((0.25 * 0.75) / 1000);
    expect(low).toBeCloseTo(0.25 - half, 2);
    expect(high).toBeCloseTo(0.25 + half, 2);
    expect(resamples.interval((mean) => mean(0) + mean(1))).toEqual({ low: 1, high: 1 });
  });

  it('weighs repositories by their issues', () => {
    const units = { rows: Float64Array.from([10, 0]), sizes: Int32Array.from([10, 30]), width: 1 };
    expect(new Resamples(units, 500, 1).column(0)).toEqual({ low: 0, high: 1 });
  });
});

describe('verifier quality', () => {
  const anyScored = fc.array(
    fc.record({ score: fc.integer({ min: 0, max: 20 }).map((n) => n / 20), resolved: fc.boolean() }),
    { minLength: 1, maxLength: 40 },
  );

  it('is the chance that a right one scores above a wrong one, both ways of counting', () => {
    fc.assert(
      fc.property(anyScored, (scored) => {
        const pairs = scored
          .filter(({ resolved }) => resolved)
          .flatMap((right) =>
            scored.filter(({ resolved }) => !resolved).map((wrong) => [right.score, wrong.score] as const),
          );
        const wins = pairs.reduce((sum, [right, wrong]) => sum + (right > wrong ? 1 : right === wrong ? 0.5 : 0), 0);
        const quality = new ProbabilityQuality();
        for (const { score, resolved } of scored) quality.add(score, resolved);
        for (const auc of [aucWithin(scored), quality.auc()]) {
          if (pairs.length === 0) expect(auc).toBeNull();
          else expect(auc).toBeCloseTo(wins / pairs.length, 12);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('measures calibration', () => {
    const quality = new ProbabilityQuality();
    for (let i = 0; i < 10; i += 1) quality.add(0.8, i < 6);
    for (let i = 0; i < 10; i += 1) quality.add(0.1, i < 1);
    expect(quality.ece()).toBeCloseTo(0.1, 12);
    expect(quality.brier()).toBeCloseTo((6 * 0.04 + 4 * 0.64 + 0.81 + 9 * 0.01) / 20, 12);
    expect(quality.reliability()).toMatchObject([
      { from: 0.1, candidates: 10, resolved_rate: 0.1 },
      { from: 0.8, candidates: 10, resolved_rate: 0.6 },
    ]);
    expect(new ProbabilityQuality().brier()).toBeNull();
  });
});
