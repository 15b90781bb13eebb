import type { EvidenceView } from '../../../src/http/runs/evidence-view.js';
import type { CurvesReport } from '../../../src/statistics/curves/curves-report.js';
import { type BenchmarkRun, rowsOf } from '../../../src/web/benchmarks/benchmark-model.js';
import { ARM_FACTS, armsOf, disagreed, gradedInAll, winsOf } from '../../../src/web/compare/compare-arms.js';
import {
  commonK,
  type ComparedReport,
  estimateText,
  instancesText,
  rulesAt,
  settingsOf,
} from '../../../src/web/compare/compare-reports.js';
import { agreesWith, namesDiffer } from '../../../src/web/compare/compare-runs.js';

function run(instance_id: string, arm: string, right: boolean | null, seconds: number | null = null): BenchmarkRun {
  const unknown = { failure: null, candidate_id: 'c', deciding_stage: null, confidence: null, k: null, tokens: null };
  const counts = { graded: 2, right_candidates: 1, ungraded: 0, cost_usd: null };
  const said = { ...unknown, ...counts, right, seconds };
  return { id: `${instance_id} ${arm}`, arm, instance_id, status: 'done', handed: true, ...said };
}

describe('arms beside each other', () => {
  const runs = [
    ...[run('a', 'x', true, 1), run('a', 'y', false, 4)],
    ...[run('b', 'x', true, 3), run('b', 'y', false, 5)],
    ...[run('c', 'x', false, 8), run('c', 'y', true, 6)],
    ...[run('d', 'x', true), run('d', 'y', true)],
    ...[run('e', 'x', true), run('e', 'y', null)],
  ];
  const rows = rowsOf(runs, ['x', 'y']);

  it('disagree where one is known to be right and another to be wrong', () => {
    expect(disagreed(rows).map(({ instance }) => instance)).toEqual(['a', 'b', 'c']);
    expect(winsOf(rows, 2)).toEqual([
      [0, 2],
      [1, 0],
    ]);
    expect(gradedInAll(rows)).toBe(4);
  });

  it('say what they came to, and nothing that is not known', () => {
    const counts = { waiting: 0, queued: 0, running: 1, none: 1, failed: 1, cancelled: 1, skipped: 2 };
    const known = { ...counts, selected: 3, graded: 4, right: 3, wrong: 1, unknown: 0, tokens: 8_000, cost_usd: 2 };
    const unknown = { ...known, arm: 'y', selected: 0, none: 0, graded: 0, right: 0, wrong: 0, cost_usd: null };
    const share = { value: 0.75, low: 0.3, high: 0.95 };
    const points = [{ k: 1, pass_at_k: share, best_at_k: null }];
    const arms = armsOf(
      ['y', 'x', 'not there'],
      {
        ...{
          id: 'b',
          title: 't',
          status: 'running',
          note: null,
          created_at: '',
          updated_at: '',
          issues: 5,
          eta_s: null,
        },
        arms: [{ arm: 'x', ...known }, unknown],
      },
      { arms: [{ arm: 'x', issues: 4, unknown: 0, selected: { ...share, issues: 4 }, points }] },
      runs.filter(({ arm }) => arm === 'x').map((each) => ({ ...each, cost_usd: each.seconds && each.seconds / 10 })),
    );
    const said = Object.fromEntries(ARM_FACTS.map(([name, read]) => [name, arms.map(read)]));
    expect(said).toMatchObject({
      'Best@K: selected right': ['not graded', '75.0% (30.0 to 95.0)'],
      'Pass@1: a random candidate': ['not graded', '75.0% (30.0 to 95.0)'],
      'Cost per issue': ['–', '$0.4000 ($2.00 in total)'],
      'Time per issue, median': ['–', '3.0 s (12 s in total)'],
      Failed: ['4', '4'],
    });
  });
});

describe('runs beside each other', () => {
  const evidenceOf = (instance_id: string, selected: string | null, patches: Readonly<Record<string, string | null>>) =>
    ({
      request: { issue: { instance_id } },
      selection: { candidate_id: selected },
      candidates: Object.entries(patches).map(([candidate_id, sha256]) => ({ candidate_id, patch: { sha256 } })),
    }) as unknown as EvidenceView;
  const agreements = (all: readonly EvidenceView[]) => all.map((_, index) => agreesWith(all, index));

  it('agree if they select the same patch, whatever its name', () => {
    const first = evidenceOf('i', 'rollout-1', { 'rollout-1': 'a', 'rollout-2': 'b' });
    const sameName = evidenceOf('i', 'rollout-1', { 'rollout-1': 'c', 'rollout-2': 'a' });
    const samePatch = evidenceOf('i', 'rollout-2', { 'rollout-1': 'c', 'rollout-2': 'a' });
    const otherIssue = evidenceOf('j', 'rollout-1', { 'rollout-1': 'a' });
    expect(agreements([first, sameName, samePatch, otherIssue])).toEqual(['C', 'none', 'A', 'none']);
    expect(namesDiffer([first, sameName])).toBe(true);
    expect(namesDiffer([sameName, samePatch])).toBe(false);
  });

  it('do not agree if they select nothing, or an empty patch', () => {
    const nothing = evidenceOf('i', null, { a: 'a' });
    const empty = evidenceOf('i', 'b', { b: null });
    expect(agreements([nothing, nothing, empty, empty])).toEqual(['none', 'none', 'none', 'none']);
    const named = evidenceOf('i', null, { none: 'a' });
    expect(agreements([named, named])).toEqual(['none', 'none']);
  });
});

describe('reports beside each other', () => {
  const curves = (ks: readonly number[], rates: Readonly<Record<string, number>>): CurvesReport => {
    const at = (value: number) => Object.fromEntries(ks.map((k) => [k, { value, low: value / 2, high: null }]));
    const presets = Object.entries(rates).map(([preset, value]) => ({ preset, best_at_k: at(value) }));
    return { pass_at_k: at(0.9), presets, settings: { ks }, issues: 4 } as unknown as CurvesReport;
  };
  const report = (instances: readonly string[], known: CurvesReport | null): ComparedReport => ({
    title: 't',
    curves: known,
    headline: { own: null },
    origins: {
      runs: instances.map((instance_id) => ({ instance_id })),
      settings: [{ what: 'preset', values: instances.slice(0, 2).map((value) => ({ value, runs: 1 })) }],
    },
  });
  const one = report(['i', 'j'], curves([1, 2, 4], { deepswe: 0.4, random: 0.2 }));
  const other = report(['j', 'i', 'k'], curves([1, 2, 8], { random: 0.3, mine: 0.5 }));
  const unlabelled = report([], null);
  const letter = (index: number): string => 'ABC'[index] ?? '';

  it('have the largest K of all of them, and each rule that some have, the best first', () => {
    expect(commonK([one, other, unlabelled])).toBe(2);
    expect(commonK([unlabelled])).toBe(1);
    const rows = rulesAt([one, other, unlabelled], 2);
    expect(rows.map(({ rule, values }) => [rule, ...values.map((each) => each?.value)])).toEqual([
      ['Pass@1', 0.9, 0.9, undefined],
      ['Pass@2', 0.9, 0.9, undefined],
      ['mine', undefined, 0.5, undefined],
      ['deepswe', 0.4, undefined, undefined],
      ['random', 0.2, 0.3, undefined],
    ]);
    expect(rulesAt([one, other], 8)[1]?.values.map((each) => each?.value)).toEqual([undefined, 0.9]);
    const over = { repo_low: null, repo_high: null };
    expect(estimateText({ value: 0.5, low: 0.25, high: 1, ...over })).toBe('50.0% (25.0 to 100.0)');
    expect(estimateText({ value: 0.5, low: null, high: null, ...over })).toBe('50.0%');
    expect(estimateText(undefined)).toBe('–');
  });

  it('say whether they are of the same instances', () => {
    expect(instancesText([one, report(['j', 'i'], null)], letter)).toBe('All reports cover the same 2 instances.');
    expect(instancesText([one, other], letter)).toMatch(
      /^The reports cover different .*of A: B: 2 in both, 1 only in B, 0 only in A\.$/,
    );
    expect(instancesText([one, unlabelled], letter)).toMatch(/^B lists no instances/);
    expect(settingsOf([one, unlabelled])).toEqual([['preset', ['i | j', '–']]]);
  });
});
