import { BadInputError } from '../../../src/core/errors/errors.js';
import { DEFAULT_BEST } from '../../../src/statistics/curves/best-at-k.js';
import { Curves, type CurvesRequest } from '../../../src/statistics/curves/curves.js';
import type { CurvesReport } from '../../../src/statistics/curves/curves-report.js';
import type { ScoredIssue } from '../../../src/statistics/curves/scored-issue.js';
import { findPreset } from '../../../verifiers/hybrid/presets.js';
import { wilson } from '../../../src/statistics/intervals/binomial.js';
import { entryOf } from '../verifiers/hybrid/entry-of.js';
import { countsOnly, issueOf } from './issues.js';

function report(issues: readonly ScoredIssue[], request: Partial<CurvesRequest> = {}): CurvesReport {
  const curves = new Curves({
    ks: [1, 2, 3, 4],
    presets: ['random', 'ef-only', 'eb-only', 'deepswe'].map((name) => findPreset(name)),
    axes: [],
    resamples: 200,
    best: DEFAULT_BEST,
    ...request,
  });
  for (const issue of issues) curves.add(issue);
  return curves.report();
}

/** Four candidates of which the last is right; EF finds it, regression does not. */
function telling(id: string, repo: string): ScoredIssue {
  const entries = [0.1, 0.2, 0.3, 0.9].map((p, index) =>
    entryOf(`c${index}`, {
      execution_free: p,
      regression: index === 3 ? 1 : 2,
      fingerprint: index === 3 ? 'p1' : 'p0',
      patch_size: 9,
    }),
  );
  const issue = issueOf(entries, [false, false, false, true], id);
  const candidates = issue.candidates.map((each, index) => ({ ...each, cost: 2, axes: { steps: 10 * (index + 1) } }));
  return { ...issue, repo, candidates };
}

describe('the golden 500 × 8 run', () => {
  const byRight = [92, 18, 18, 23, 15, 10, 26, 64, 234];
  const issues = byRight.flatMap((count, c) =>
    Array.from({ length: count }, (_, i) => countsOnly(8, c, `o__r-${c}-${i}`)),
  );
  const { pass_at_k, selector_sensitive } = report(issues, {
    ks: [1, 4, 8],
    resamples: 5000,
    presets: [findPreset('random')],
  });

  it('has the published Pass@k with the instance bootstrap of the field', () => {
    const published = { 1: [0.67725, 0.641, 0.712], 4: [0.78657, 0.753, 0.821], 8: [0.816, 0.782, 0.85] };
    for (const [k, [value, low, high]] of Object.entries(published)) {
      const given = pass_at_k[k];
      expect(given?.value).toBeCloseTo(value ?? NaN, 5);
      expect(Math.abs(Number(given?.low) - Number(low))).toBeLessThan(0.004);
      expect(Math.abs(Number(given?.high) - Number(high))).toBeLessThan(0.004);
    }
  });

  it('leaves a choice on 174 issues only', () => {
    expect(selector_sensitive).toMatchObject({ issues: 174, share: 174 / 500 });
  });
});

describe('curves of a small matrix', () => {
  const issues = [
    telling('a__a-1', 'a/a'),
    telling('a__a-2', 'a/a'),
    telling('b__b-1', 'b/b'),
    countsOnly(4, 0),
    countsOnly(4, 4),
  ];
  const all = report(issues);
  const preset = (name: string) => all.presets.find((each) => each.preset === name);

  it.each([200, 0])('has a rate of all or none with Wilson’s interval, with %i resamples', (resamples) => {
    const same = [...issues.slice(0, 3), countsOnly(4, 4, 'c__c-1')];
    const { pass_at_k, presets, comparisons } = report(same, { resamples });
    const all = wilson(4, 4);
    const repos = resamples === 0 ? { repo_low: null, repo_high: null } : { repo_low: wilson(3, 3).low, repo_high: 1 };
    expect(pass_at_k['4']).toEqual({ value: 1, ...all, ...repos });
    expect(presets.find(({ preset }) => preset === 'ef-only')?.best_at_k['4']).toEqual({ value: 1, ...all, ...repos });
    const none = report([countsOnly(4, 0), countsOnly(4, 0, 'z__z-1')], { resamples });
    expect(none.pass_at_k['4']).toMatchObject({ value: 0, ...wilson(0, 2) });
    // A difference is no rate, and a share of nothing has no interval.
    expect(comparisons.find(({ a, b }) => a === 'ef-only' && b === 'deepswe')?.difference.value).not.toBe(0);
    expect(presets.find(({ preset }) => preset === 'ef-only')?.recovered_headroom).toMatchObject({
      value: 1,
      low: null,
    });
  });

  it('separates the presets and says what each recovers of the head-room', () => {
    expect(all.pass_at_k['4']?.value).toBeCloseTo(0.8, 12);
    expect(preset('ef-only')?.best_at_k['4']?.value).toBeCloseTo(0.8, 12);
    const recovered = (name: string): number => preset(name)?.recovered_headroom?.value ?? NaN;
    expect(recovered('ef-only')).toBeCloseTo(1, 12);
    expect(recovered('random')).toBeCloseTo(0, 12);
    expect(recovered('eb-only')).toBeLessThan(0);
    expect(preset('ef-only')?.picked).toMatchObject({ resolved: 4, issues: 5 });
    expect(preset('ef-only')?.best_where_sensitive).toBeCloseTo(1, 12);
    expect(preset('eb-only')?.stages_without_data).toEqual(['max reproduction']);
    const observed = [1, 2, 2, 2].map((group, index) => entryOf(`c${index}`, { observed: { o: { group } } }));
    const latent = report([issueOf(observed, [true, false, false, true])], { presets: [findPreset('latent')] });
    expect(latent.presets[0]?.stages_without_data).not.toContain('max posterior');
    expect(latent.coverage.known).toMatchObject({ solved: 0, observed: 4 });
  });

  it('groups the presets that no issue tells apart', () => {
    const names = ['random', 'ef-only', 'eb-only', 'deepswe', 'shortest', 'majority'];
    const presets = [{ ...findPreset('ef-only'), name: 'mine' }, ...names.map((name) => findPreset(name))];
    const one = report(issues.slice(0, 1), { presets });
    // Of four candidates the judge alone finds the right one; the others fall back to rules that all end in the same.
    expect(one.alike[0]).toEqual(['mine', 'ef-only']);
    const told = countsOnly(4, 2, 'zz__zz-1');
    const candidates = told.candidates.map((each, index) => ({
      ...each,
      entry: { ...each.entry, execution_free: index / 4, regression: 4 - index },
    }));
    const more = report([...issues, { ...told, candidates }], { presets });
    expect(more.alike).toContainEqual(['mine', 'ef-only']);
    for (const group of more.alike) {
      const [first, ...others] = group.map((name) => more.presets.find(({ preset }) => preset === name));
      for (const other of others) expect(other).toMatchObject({ best_at_k: first?.best_at_k, picked: first?.picked });
    }
    expect(more.alike.flat()).not.toContain('random');
  });

  it('compares every pair on the same issues', () => {
    const pair = all.comparisons.find(({ a, b }) => a === 'ef-only' && b === 'eb-only');
    expect(pair).toMatchObject({ only_a: 3, only_b: 0, p: 0.25, p_holm: 1 });
    expect(pair?.difference.value).toBeCloseTo(0.6, 12);
    expect(pair?.minimum_detectable).toBeGreaterThan(0.3);
    expect(all.comparisons).toHaveLength(6);
  });

  it('adjusts p for the comparisons that are asked for alone', () => {
    const { comparisons } = report(issues, { references: ['random'] });
    expect(comparisons.map(({ a, b }) => `${a} ${b}`)).toEqual(['random ef-only', 'random eb-only', 'random deepswe']);
    const [first] = comparisons;
    const same = all.comparisons.find(({ a, b }) => a === 'random' && b === 'ef-only');
    expect(first).toMatchObject({ p: same?.p, difference: same?.difference });
    expect(comparisons.every(({ p, p_holm }) => p_holm <= Math.min(1, 3 * p))).toBe(true);
  });

  it('judges the verifiers, the agreement and the cost', () => {
    expect(all.verifiers.find(({ verifier }) => verifier === 'execution_free')).toMatchObject({
      scored: 12,
      abstained: 8,
      auc_within_issue: 1,
      auc: 1,
      issues_with_both: 3,
    });
    expect(all.verifiers.find(({ verifier }) => verifier === 'regression')?.auc_within_issue).toBe(0);
    expect(all.distinct_patches).toMatchObject([{ distinct: 2, issues: 3, pass_at_1: 0.25 }]);
    expect(all.equal_best).toMatchObject({ reached_by: 'eb-only', mean_candidate_cost: 2 });
    expect(all.equal_best?.presets.find((each) => each.preset === 'ef-only')).toMatchObject({ k: 1, cost: 2 });
  });

  it('counts what the numbers rest on', () => {
    const empty: ScoredIssue = { instanceId: 'e__e-1', repo: 'e/e', candidates: [], unknownLabels: [] };
    const ungraded = issueOf([entryOf('x')], [null], 'u__u-1');
    const half = issueOf([entryOf('x'), entryOf('y', { has_source_change: false })], [null, false], 'h__h-1');
    const { coverage, pass_at_k } = report([...issues, empty, ungraded, half]);
    expect(coverage).toMatchObject({
      issues: 7,
      candidates: 21,
      issues_without_candidates: 1,
      issues_below_largest_k: 2,
      ungraded_candidates: 2,
      ungraded_issues: 1,
      without_patch: 1,
    });
    expect(pass_at_k['4']?.value).toBeCloseTo(4 / 7, 12);
  });

  it('cuts runs off along an axis', () => {
    const [axis] = report(issues.slice(0, 3), { axes: [{ name: 'steps', limits: [30, 40] }] }).axes;
    expect(axis?.rows).toMatchObject([
      { limit: 30, within: 0.75, pass_at_1: 0, pass_at_k: 0 },
      { limit: 40, within: 1, pass_at_1: 0.25, pass_at_k: 1 },
    ]);
    expect(axis?.rows[1]?.presets).toContainEqual({ preset: 'ef-only', best_at_k: 1 });
  });

  it('takes for the votes and comparisons of an axis those within the limit only', () => {
    const cells = [
      [10, false, 'x', []],
      [50, false, 'x', []],
      [10, true, 'y', []],
      [10, false, 'z', ['c1']],
    ] as const;
    const { candidates, ...rest } = issueOf(
      cells.map(([, , fingerprint, beats], index) => entryOf(`c${index}`, { fingerprint, beats: [...beats] })),
      cells.map(([, right]) => right),
    );
    const issue = {
      ...rest,
      candidates: candidates.map((each, at) => ({ ...each, axes: { steps: cells[at]?.[0] ?? 0 } })),
    };
    const presets = ['majority', 'copeland'].map((name) => findPreset(name));
    const [axis] = report([issue], { ks: [4], presets, axes: [{ name: 'steps', limits: [20, 50] }] }).axes;
    expect(axis?.rows.map((row) => row.presets.map(({ best_at_k }) => best_at_k))).toEqual([
      [expect.closeTo(1 / 3, 12), expect.closeTo(1 / 3, 12)],
      [0, 0],
    ]);
  });

  it('gives the same numbers for the same seed, whatever the order of the issues', () => {
    const name = ['majority', 'deepswe'].map((each) => findPreset(each));
    const draws = { presets: name, resamples: 20, best: { ...DEFAULT_BEST, enumerateUpTo: 1, draws: 50 } };
    const more = [0, 1, 2, 3, 4, 2].map((c, at) => ({ ...countsOnly(4, c, `m__m-${at}`), repo: `m/${at}` }));
    const forward = report([...issues, ...more], draws);
    const backward = report([...issues, ...more].reverse(), draws);
    const [there, back] = [forward.presets[0], backward.presets[0]];
    expect(there?.method).toBe('monte-carlo');
    expect(there?.monte_carlo_error).toBeGreaterThan(0);
    const values = (one: typeof there): number[] => Object.values(one?.best_at_k ?? {}).map(({ value }) => value);
    for (const [index, value] of values(there).entries()) expect(values(back)[index]).toBeCloseTo(value, 12);
    const ends = ({ pass_at_k }: CurvesReport): readonly (number | null | undefined)[] =>
      ['low', 'high', 'repo_low', 'repo_high'].map((end) => pass_at_k['1']?.[end as 'low']);
    expect(ends(forward).every((end) => typeof end === 'number')).toBe(true);
    expect(ends(backward)).toEqual(ends(forward).map((end): unknown => expect.closeTo(Number(end), 12)));
  });

  it('has no head-room at K = 1, in spite of rounding', () => {
    const { presets } = report([countsOnly(3, 1)], { ks: [1] });
    expect(presets.map(({ recovered_headroom }) => recovered_headroom)).toEqual(presets.map(() => null));
  });

  it('uses normal intervals when there are no resamples', () => {
    const plain = report(issues, { resamples: 0 });
    expect(plain.settings.interval).toBe('normal');
    expect(plain.pass_at_k['1']).toMatchObject({ repo_low: null });
    expect(plain.pass_at_k['1']?.low).toBeLessThan(plain.pass_at_k['1']?.value ?? NaN);
    const few = report(
      [1, 0, 0, 0].map((right) => countsOnly(4, right)),
      { resamples: 0 },
    );
    expect(few.pass_at_k['1']).toMatchObject({ value: expect.closeTo(1 / 16, 9) as number, low: 0 });
  });

  it('is one issue with itself when there is only one', () => {
    const one = report([telling('a__a-1', 'a/a')]);
    const { low, high } = wilson(1, 1);
    expect(one.pass_at_k['4']).toEqual({ value: 1, low, high, repo_low: low, repo_high: high });
    // A random candidate of the one issue is right one time in four: a value, but nothing that it may differ by.
    expect(one.pass_at_k['1']).toMatchObject({ low: null, high: null });
    expect(JSON.stringify(one)).not.toMatch(/NaN/);
  });

  it('refuses a k above every issue, and no issue at all', () => {
    expect(() => report(issues, { ks: [1, 5] })).toThrow(/k = 5, but no issue has more than 4/);
    expect(() => report([])).toThrow(BadInputError);
  });
});
