// Tables for docs/benchmarks-statistics.md: what the label-free presets make of pools of real labelled patches, and of the
// 24-model matrix. `npm run bench:pools -- DIR`, where DIR holds pools/ and matrices/.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_BEST } from '../dist/src/statistics/curves/best-at-k.js';
import { Curves } from '../dist/src/statistics/curves/curves.js';
import { splitByLabel } from '../dist/src/statistics/curves/scored-issue.js';
import { trainCombiner } from '../dist/src/statistics/combiner/train-combiner.js';
import { UNKNOWN } from '../dist/verifiers/hybrid/entry.js';
import { findPreset, learnedPreset, parsePreset } from '../dist/verifiers/hybrid/presets.js';
import { labelledPool, repoOf, tableOf } from './bench-rules/pools.mjs';

const folder = process.argv[2];
if (folder === undefined || !existsSync(folder)) {
  console.error('bench-pools: name the folder that holds pools/ and matrices/.');
  process.exit(2);
}

const percent = (rate) => (rate === null ? '' : (100 * rate).toFixed(1));
const interval = ({ value, low, high }) => `${percent(value)} [${percent(low)}, ${percent(high)}]`;
function reportOf(issues, presets, ks) {
  const curves = new Curves({ ks, presets, axes: [], resamples: 10_000, best: DEFAULT_BEST });
  for (const issue of issues) curves.add(issue);
  return curves.report();
}

function presetTable(report) {
  const last = String(report.settings.ks.at(-1));
  const byPair = new Map(report.comparisons.filter(({ a }) => a === 'random').map((each) => [each.b, each]));
  return tableOf(
    [
      'preset',
      'Best@all, %',
      'by repository',
      'over random, points',
      'p (McNemar)',
      'p (Holm)',
      'head-room',
      'Best@all where sensitive, %',
    ],
    report.presets.map((each) => {
      const best = each.best_at_k[last];
      const pair = byPair.get(each.preset);
      const over =
        pair === undefined
          ? ''
          : interval({ value: -pair.difference.value, low: -pair.difference.high, high: -pair.difference.low });
      return [
        each.preset,
        interval(best),
        `[${percent(best.repo_low)}, ${percent(best.repo_high)}]`,
        over,
        pair?.p.toPrecision(2) ?? '',
        pair?.p_holm.toPrecision(2) ?? '',
        each.recovered_headroom?.value.toFixed(2) ?? '',
        percent(each.best_where_sensitive),
      ];
    }),
  );
}

function describePool(name, report) {
  const { coverage, selector_sensitive: sensitive } = report;
  const last = String(report.settings.ks.at(-1));
  return [
    `### ${name}`,
    '',
    `${coverage.issues} issues of ${coverage.repos} repositories, ${coverage.candidates} patches (${coverage.without_patch} without a source change); regression known for ${coverage.known.regression}. ` +
      `Pass@1 ${interval(report.pass_at_k['1'])}, Pass@all ${interval(report.pass_at_k[last])}. ` +
      `Right and wrong candidates on ${sensitive.issues} issues (${percent(sensitive.share)}%), where random picks are right in ${percent(sensitive.pass_at_1)}%.`,
    '',
    presetTable(report),
    '',
    `Smallest detectable difference from random: ${percent(Math.max(...report.comparisons.filter(({ a }) => a === 'random').map((each) => each.minimum_detectable)))} points.`,
    '',
  ].join('\n');
}

function distinctTable(report) {
  return tableOf(
    ['distinct patches', 'issues', 'Pass@1, %', 'majority right, %'],
    report.distinct_patches.map(({ distinct, issues, pass_at_1, picked }) => {
      const { rate, low, high } = picked.find(({ preset }) => preset === 'majority');
      return [distinct, issues, percent(pass_at_1), interval({ value: rate, low, high })];
    }),
  );
}

function cardLine({ auc, brier, ece, picked_right, mean_confidence, folds }) {
  return `Learned combiner on unseen repositories (${folds} folds): AUC ${auc.toFixed(3)}, Brier ${brier.toFixed(3)}, ECE ${ece.toFixed(3)}; its picks are right in ${percent(picked_right)}%; its mean confidence is ${percent(mean_confidence)}%.`;
}

function poolTables() {
  const pools = join(folder, 'pools');
  const named = {
    'Lite pool': labelledPool(pools, 'lite_pool'),
    'Verified pool': labelledPool(pools, 'verified_pool'),
  };
  for (const [name, issues] of Object.entries(named)) {
    const { heldOut, combiner } = trainCombiner(issues, null);
    const most = Math.max(...issues.map(({ candidates }) => candidates.length));
    const presets = [
      ...['random', 'shortest', 'majority', 'eb-only', 'agentless'].map(findPreset),
      learnedPreset(combiner),
    ];
    const report = reportOf(heldOut, presets, [1, most]);
    console.log(describePool(name, report));
    console.log(`${cardLine(combiner.data_card)}\n`);
    if (name === 'Lite pool') console.log(`${distinctTable(report)}\n`);
  }
}

/** The matrix as K = 24: what a run costs and how many calls it took are all a selector sees. */
function matrixIssues() {
  const [header, ...rows] = readFileSync(join(folder, 'matrices', 'mini_swe_agent_verified_matrix.csv'), 'utf8')
    .trim()
    .split('\n');
  const models = header.split(',').slice(1, 25);
  return rows.map((text) => {
    const [instanceId, ...cells] = text.split(',');
    const number = (at) => (cells[at] === '' ? null : Number(cells[at]));
    return {
      instanceId,
      repo: repoOf(instanceId),
      ...splitByLabel(
        models.map((id, at) => ({
          entry: { ...UNKNOWN, id, has_source_change: true, steps: number(48 + at) },
          resolved: number(at) === null ? null : number(at) === 1,
          cost: number(24 + at),
          axes: {},
        })),
      ),
    };
  });
}

function matrixTable() {
  const fewest = parsePreset({ name: 'fewest-calls', stages: [{ stage: 'min', by: 'steps' }] });
  const most = parsePreset({ name: 'most-calls', stages: [{ stage: 'max', by: 'steps' }] });
  const ks = [1, 2, 3, 4, 6, 8, 12, 16, 20, 24];
  const report = reportOf(matrixIssues(), [findPreset('random'), fewest, most], ks);
  console.log('### 24 models as K = 24\n');
  console.log(
    tableOf(
      ['k', 'Pass@k, %', 'by repository', ...report.presets.map(({ preset }) => `${preset}, %`)],
      ks.map((k) => {
        const pass = report.pass_at_k[k];
        return [
          k,
          interval(pass),
          `[${percent(pass.repo_low)}, ${percent(pass.repo_high)}]`,
          ...report.presets.map(({ best_at_k }) => interval(best_at_k[k])),
        ];
      }),
    ),
  );
  const { issues, share } = report.selector_sensitive;
  console.log(
    `\nRight and wrong candidates on ${issues} of ${report.issues} issues (${percent(share)}%); a candidate costs $${report.equal_best.mean_candidate_cost.toFixed(3)} on average. ${report.coverage.ungraded_candidates} candidates not graded.\n`,
  );
}

poolTables();
matrixTable();
