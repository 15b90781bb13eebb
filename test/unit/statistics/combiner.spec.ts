import fc from 'fast-check';
import { bestAtK } from '../../../src/statistics/curves/best-at-k.js';
import { fitIsotonic, fitLogistic } from '../../../src/statistics/combiner/fit-logistic.js';
import { below, seededRandom } from '../../../src/core/random.js';
import { foldsByRepo, trainCombiner, type Trained } from '../../../src/statistics/combiner/train-combiner.js';
import type { ScoredIssue } from '../../../src/statistics/curves/scored-issue.js';
import { Combiner, FEATURES } from '../../../src/core/run/fitted.js';
import { logisticScore, onCurve, withCombiner, FEATURE_COUNT, featuresOf } from '../../../verifiers/hybrid/features.js';
import { learnedPreset } from '../../../verifiers/hybrid/presets.js';
import { ruleOf, selectBest } from '../../../verifiers/hybrid/select.js';
import { entryOf } from '../verifiers/hybrid/entry-of.js';
import { issueOf } from './issues.js';

/** 12 repositories whose right patches pass more tests and are shorter, and whose EF tells nothing. */
function learnable(): ScoredIssue[] {
  const random = seededRandom(11);
  return Array.from({ length: 240 }, (_, index) => {
    const rate = random();
    const labels = Array.from({ length: 6 }, () => random() < rate);
    const entries = labels.map((right, at) =>
      entryOf(`c${at}`, {
        execution_free: random(),
        reproduction: below(4, random) + (right ? 3 : 0),
        reproduction_out_of: 6,
        patch_size: 5 + below(20, random) + (right ? 0 : 10),
      }),
    );
    return { ...issueOf(entries, labels, `o__r${index % 12}-${index}`), repo: `o/r${index % 12}` };
  });
}

const issues = learnable();
const trained: Trained = trainCombiner(issues, null);
const column = (name: (typeof FEATURES)[number]): number => trained.combiner.weights[FEATURES.indexOf(name)] ?? NaN;

describe('a trained combiner', () => {
  it('learns what tells and leaves alone what does not', () => {
    expect(column('reproduction_rate') + column('reproduction_of_best')).toBeGreaterThan(1);
    expect(column('patch_size_log') + column('patch_size_against_pool')).toBeLessThan(-0.3);
    expect(Math.abs(column('execution_free_logit'))).toBeLessThan(0.3);
    expect(column('steps_log')).toBe(0);
  });

  it('is better than its parts on repositories it has not seen, and says how sure it is', () => {
    const { data_card: card } = trained.combiner;
    expect(card).toMatchObject({ issues: 240, candidates: 1440, folds: 10 });
    expect(card.repos).toHaveLength(12);
    expect(card.auc).toBeGreaterThan(0.85);
    expect(card.ece).toBeLessThan(0.08);
    expect(Math.abs(card.picked_right - card.mean_confidence)).toBeLessThan(0.06);
  });

  it('never lets an issue grade itself: other labels in its repository change nothing there', () => {
    const flipped = issues.map((issue) => {
      if (issue.repo !== 'o/r3') return issue;
      return { ...issue, candidates: issue.candidates.map((each) => ({ ...each, resolved: !each.resolved })) };
    });
    const again = trainCombiner(flipped, null);
    const predictions = ({ heldOut }: Trained): (number | null | undefined)[] =>
      heldOut
        .filter(({ repo }) => repo === 'o/r3')
        .flatMap(({ candidates }) => candidates.map(({ entry }) => entry.learned));
    expect(predictions(again)).toEqual(predictions(trained));
    expect(again.combiner.weights).not.toEqual(trained.combiner.weights);
  });

  it('survives a round through its file and selects with its confidence', () => {
    const combiner = Combiner.parse(JSON.parse(JSON.stringify(trained.combiner)));
    const [issue] = issues;
    const entries = withCombiner(issue?.candidates.map(({ entry }) => entry) ?? [], combiner);
    const { candidate_id, confidence } = selectBest({ instanceId: 'i', entries }, ruleOf(learnedPreset(combiner)));
    const best = Math.max(...entries.map(({ learned }) => learned ?? NaN));
    expect(entries.find(({ id }) => id === candidate_id)?.learned).toBe(best);
    expect(confidence).toBeGreaterThan(0);
    expect(confidence).toBeLessThan(1);
  });

  it('is readable from its file if nothing can be returned for an issue, and counts no issue without labels', () => {
    const empty = issueOf([entryOf('a', { has_source_change: false })], [false], 'o__r0-empty');
    const ungraded = issueOf([entryOf('a')], [null], 'o__r0-ungraded');
    const { combiner, heldOut } = trainCombiner([...issues.slice(0, 60), empty, ungraded], null);
    const { data_card: card } = Combiner.parse(JSON.parse(JSON.stringify(combiner)));
    expect(card).toMatchObject({ issues: 61, candidates: 361 });
    expect(heldOut.map(({ instanceId }) => instanceId)).toContain('o__r0-ungraded');
  });

  it('is the same in whatever order candidates and issues come', () => {
    // The first four candidates are tied.
    const tied = issues.slice(0, 48).map((issue) => {
      const [first] = issue.candidates;
      const known = { ...first?.entry, patch_size: 9 };
      return {
        ...issue,
        candidates: issue.candidates.map((each, at) =>
          at < 4 ? { ...each, entry: { ...each.entry, ...known, id: `c${at}` } } : each,
        ),
      };
    });
    const turned = tied.toReversed().map((issue) => ({ ...issue, candidates: issue.candidates.toReversed() }));
    const curve = (all: readonly ScoredIssue[]): readonly number[] => trainCombiner(all, null).combiner.returned.to;
    expect(curve(turned)).toEqual(curve(tied).map((p): unknown => expect.closeTo(p, 9)));
  });

  it('returns nothing at or below its threshold', () => {
    const strict = learnedPreset({ abstain_below: 1 });
    const entries = withCombiner(issues[0]?.candidates.map(({ entry }) => entry) ?? [], trained.combiner);
    expect(selectBest({ instanceId: 'i', entries }, ruleOf(strict))).toMatchObject({
      candidate_id: null,
      basis: 'none',
    });
    const [issue] = trained.heldOut;
    if (issue === undefined) throw new Error('no issue');
    const best = (abstain_below: number | null): readonly number[] => {
      const options = { enumerateUpTo: 100, draws: 10, seed: 1, knowledge: trained.knowledge };
      return [...bestAtK(issue, learnedPreset({ abstain_below }), [1, 6], options).values];
    };
    expect(best(1)).toEqual([0, 0]);
    expect(best(0)).toEqual(best(null));
    expect(best(null)[0]).toBeGreaterThan(0);
  });

  it('is evaluated on subsets as if nothing but the subset had been sampled', () => {
    const [issue] = trained.heldOut;
    if (issue === undefined) throw new Error('no issue');
    const preset = learnedPreset({ abstain_below: null });
    const options = { enumerateUpTo: 100, draws: 10, seed: 1, knowledge: trained.knowledge };
    const { values, method } = bestAtK(issue, preset, [1, 6], options);
    const rate = issue.candidates.filter(({ resolved }) => resolved).length / 6;
    expect(method).toBe('enumerated');
    expect(values[0]).toBeCloseTo(rate, 12);
    expect(values[1]).toBeCloseTo(bestAtK(issue, preset, [6]).values[0] ?? NaN, 12);
  });

  it('refuses what it cannot learn from', () => {
    const alone = issues.filter(({ repo }) => repo === 'o/r1');
    expect(() => trainCombiner(alone, null)).toThrow(/two repositories/);
    const wrong = issues.map((issue) => ({
      ...issue,
      candidates: issue.candidates.map((each) => ({ ...each, resolved: false })),
    }));
    expect(() => trainCombiner(wrong, null)).toThrow(/right and wrong/);
  });
});

describe('logistic regression', () => {
  it('finds the coefficients that made the labels', () => {
    const random = seededRandom(5);
    const n = 20_000;
    const rows = new Float64Array(n * FEATURE_COUNT).fill(NaN);
    const labels = Float64Array.from({ length: n }, (_, index) => {
      const x = 4 * random() - 2;
      rows[index * FEATURE_COUNT] = x;
      return Number(random() < 1 / (1 + Math.exp(-(1.5 * x - 0.5))));
    });
    const fit = fitLogistic({ rows, labels, weights: new Float64Array(n).fill(1) });
    expect((fit.weights[0] ?? NaN) / (fit.scales[0] ?? NaN)).toBeCloseTo(1.5, 1);
    expect(fit.intercept - ((fit.weights[0] ?? NaN) * (fit.means[0] ?? NaN)) / (fit.scales[0] ?? NaN)).toBeCloseTo(
      -0.5,
      1,
    );
  });

  it('reaches the optimum, where the gradient is zero, whatever the data', () => {
    const anyRow = fc.record({
      right: fc.boolean(),
      values: fc.array(fc.integer({ min: 1, max: 999 }), { maxLength: 4 }),
    });
    const anyData = fc.record({
      weight: fc.constantFrom(1, 1e3, 1e4, 1e5),
      more: fc.array(anyRow, { minLength: 2, maxLength: 14 }),
    });
    const divergedWithWholeSteps = {
      weight: 18_662,
      more: [
        { right: true, values: [51, 1] },
        { right: false, values: [3, 3] },
        { right: false, values: [9, 2] },
        { right: true, values: [6, 3] },
      ],
    };
    fc.assert(
      fc.property(anyData, ({ weight, more }) => {
        const rows = new Float64Array(more.length * FEATURE_COUNT).fill(NaN);
        for (const [row, { values }] of more.entries()) rows.set(values, row * FEATURE_COUNT);
        const labels = Float64Array.from(more, ({ right }) => Number(right));
        fc.pre(new Set(labels).size === 2);
        const fit = fitLogistic({ rows, labels, weights: new Float64Array(more.length).fill(weight) });
        const pulls = [...labels].map((label, row) => {
          const p = 1 / (1 + Math.exp(-logisticScore(fit, rows, row)));
          return weight * (label - p);
        });
        const gradient = fit.weights.map((value, f) =>
          pulls.reduce((sum, pull, row) => {
            const x = rows[row * FEATURE_COUNT + f] ?? NaN;
            return Number.isNaN(x) ? sum : sum + (pull * (x - (fit.means[f] ?? 0))) / (fit.scales[f] ?? 1);
          }, -value),
        );
        const intercept = pulls.reduce((sum, pull) => sum + pull, 0);
        expect(Math.max(...[...gradient, intercept].map(Math.abs))).toBeLessThan(1e-6 * weight);
      }),
      { numRuns: 500, seed: 7, examples: [[divergedWithWholeSteps]] },
    );
  });
});

describe('isotonic calibration', () => {
  it('never falls, stays inside 0..1 and keeps the order of scores', () => {
    const anyPoint = fc.record({
      score: fc.double({ min: -5, max: 5, noNaN: true }),
      resolved: fc.boolean(),
      weight: fc.constant(1),
    });
    fc.assert(
      fc.property(fc.array(anyPoint, { maxLength: 40 }), (points) => {
        const curve = fitIsotonic(points);
        const values = Array.from({ length: 41 }, (_, index) => onCurve(curve, index / 4 - 5));
        for (const [index, value] of values.entries()) {
          expect(value).toBeGreaterThan(0);
          expect(value).toBeLessThan(1);
          if (index > 0) expect(value).toBeGreaterThanOrEqual((values[index - 1] ?? NaN) - 1e-12);
        }
      }),
    );
  });

  it('is the same in whatever order equal scores come', () => {
    const anyPoint = fc.record({
      score: fc.integer({ min: 0, max: 3 }),
      resolved: fc.boolean(),
      weight: fc.constant(1),
    });
    const shuffled = fc
      .array(anyPoint, { minLength: 1, maxLength: 12 })
      .chain((points) => fc.tuple(fc.constant(points), fc.shuffledSubarray(points, { minLength: points.length })));
    fc.assert(
      fc.property(shuffled, ([points, others]) => {
        expect(fitIsotonic(others)).toEqual(fitIsotonic(points));
      }),
    );
  });

  it('is the rate of each level where these already rise', () => {
    const points = [0, 1].flatMap((score) =>
      Array.from({ length: 1000 }, (_, i) => ({ score, resolved: i % 10 < 2 + 5 * score, weight: 1 })),
    );
    const curve = fitIsotonic(points);
    expect(onCurve(curve, -1)).toBeCloseTo(0.2, 2);
    expect(onCurve(curve, 2)).toBeCloseTo(0.7, 2);
  });
});

describe('features', () => {
  it('are as many as their names, whatever is unknown', () => {
    const rows = featuresOf([
      entryOf('a'),
      entryOf('b', { execution_free: 0, regression: 0, patch_size: 0, fingerprint: 'p' }),
    ]);
    expect(rows).toHaveLength(2 * FEATURES.length);
    expect([...rows.subarray(FEATURE_COUNT, FEATURE_COUNT + 5)]).toEqual([Math.log(0.0001 / 0.9999), 0.5, 0, 1, 0]);
  });
});

describe('folds by repository', () => {
  it('never split one, hold every issue once, and do not depend on the order', () => {
    const folds = foldsByRepo(issues, 5);
    expect(folds.flat()).toHaveLength(issues.length);
    for (const repo of new Set(issues.map((issue) => issue.repo))) {
      expect(folds.filter((fold) => fold.some((issue) => issue.repo === repo))).toHaveLength(1);
    }
    const ids = (all: typeof folds): string[][] => all.map((fold) => fold.map(({ instanceId }) => instanceId));
    expect(ids(foldsByRepo([...issues].reverse(), 5))).toEqual(ids(folds));
  });
});
