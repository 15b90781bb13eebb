// Which rule should be the default? `npm run bench:rules [-- DIR]`. Every preset on simulated pools, and on the labelled issues
// of DIR where one is named: DIR/issues (scores.jsonl and matrix.jsonl, exit codes of generated tests) and DIR/pools
// (candidates.jsonl and labels.jsonl by name). Prints the tables of docs/benchmarks-rules.md and how long a selection takes.
//
// A simulated pool: K candidates, each right with p, p itself Beta(2, 3) a pool. A wrong one is wrong in one of four ways, the
// first the most common. Two candidates of one way make the same change with 30%. A judge's log-odds are normal with means
// ±d²/2 and variance d², so that they are calibrated and have the AUC of the row. Of ten tests 40% (good) or 10% (weak) are
// telling: they pass a right one with 97%, and each way of being wrong with 40%, the same for all of it. The others pass all
// or none; 2% of all outcomes are turned round. 95% of the right and 67% of the wrong keep the existing tests. Size and
// steps say nothing. Pools in which all or none are right are in the confidence's figures alone.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { seededRandom } from '../dist/src/core/random.js';
import { readScoreMatrix } from '../dist/src/io/inputs/score-matrix.js';
import { fitCalibration } from '../dist/src/statistics/combiner/fit-calibration.js';
import { foldsByRepo } from '../dist/src/statistics/combiner/train-combiner.js';
import { bestAtK } from '../dist/src/statistics/curves/best-at-k.js';
import { Resamples } from '../dist/src/statistics/intervals/bootstrap.js';
import { ProbabilityQuality } from '../dist/src/statistics/intervals/ranking-quality.js';
import { findPreset, PRESET_NAMES } from '../dist/verifiers/hybrid/presets.js';
import { ruleOf, selectBest } from '../dist/verifiers/hybrid/select.js';
import { factsOf, labelledPool, tableOf } from './bench-rules/pools.mjs';
import { readJsonl } from './jsonl.mjs';

const [AUCS, QUALITIES, KS] = [[0.55, 0.65, 0.75, 0.85, 0.95], { good: 0.4, weak: 0.1 }, [2, 4, 8, 16]];
const POOLS = Number(process.env.BENCH_POOLS ?? 100);
const [WAYS, TESTS, NOISE] = [4, 10, 0.02];
/** `copeland` needs judgements of pairs, `learned` a combiner, `r2e-notebook` is `deepswe`. */
const PRESETS = PRESET_NAMES.filter((name) => !['learned', 'copeland', 'r2e-notebook'].includes(name)).map(findPreset);
const DEFAULT = PRESETS.findIndex(({ name }) => name === 'deepswe');

function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** d such that two normals d apart have this AUC: Φ(d/√2) = AUC, by bisection. */
function distanceOf(auc) {
  let [low, high] = [0, 5];
  const phi = (x) => 1 / (1 + Math.exp(-1.702 * x));
  for (let i = 0; i < 40; i += 1) {
    const d = (low + high) / 2;
    if (phi(d / Math.SQRT2) < auc) low = d;
    else high = d;
  }
  return low;
}

function simulated({ auc, telling, k }, random, id) {
  const p = [random(), random(), random(), random()].sort((a, b) => a - b)[1];
  const d = distanceOf(auc);
  const tests = Array.from({ length: TESTS }, () => {
    const through = (rate) => Array.from({ length: WAYS }, () => random() < rate);
    if (random() < telling) return { right: 0.97, ways: through(0.4) };
    const all = random() < 0.5;
    return { right: Number(all), ways: Array.from({ length: WAYS }, () => all) };
  });
  const candidates = Array.from({ length: k }, (_, index) => {
    const resolved = random() < p;
    const at = random() * 15;
    const way = at < 8 ? 0 : at < 12 ? 1 : at < 14 ? 2 : 3;
    const logOdds = (resolved ? d * d : -d * d) / 2 + d * normal(random);
    const solved = tests.flatMap(({ right, ways }, test) => {
      const passes = random() < (resolved ? right : Number(ways[way]));
      return passes !== random() < NOISE ? [`t${test}`] : [];
    });
    const entry = {
      id: `c${index}`,
      execution_free: 1 / (1 + Math.exp(-logOdds)),
      regression: random() < (resolved ? 0.95 : 0.67) ? 50 : 50 - Math.ceil(random() * 10),
      regression_out_of: 50,
      reproduction: solved.length,
      reproduction_out_of: TESTS,
      solved,
      behaviour: solved.join(),
      patch_size: Math.ceil(Math.exp(2 + normal(random))),
      steps: Math.ceil(Math.exp(3 + normal(random) / 2)),
      fingerprint: random() < 0.3 ? `way ${resolved ? 'right' : way}` : `own ${index}`,
      has_source_change: true,
      applies: true,
      finished: random() < (resolved ? 0.95 : 0.85),
    };
    return { entry, resolved, cost: null, axes: {} };
  });
  return { instanceId: `simulated__${id % 10}-${id}`, repo: `simulated/${id % 10}`, candidates, unknownLabels: [] };
}

/** Judged by a model, and run against its tests: every one fails on base, so that all are admitted. */
async function executed(folder) {
  const facts = factsOf(join(folder, 'candidates.jsonl'));
  const cells = new Map(
    readJsonl(join(folder, 'matrix.jsonl')).map((row) => [`${row.instance_id} ${row.candidate_id}`, row.exit]),
  );
  const issues = [];
  for await (const issue of readScoreMatrix(join(folder, 'scores.jsonl'))) {
    const patches = new Map(facts.get(issue.instanceId).map(({ entry }) => [entry.id, entry]));
    const candidates = issue.candidates.map((each) => {
      const { patch_size, fingerprint, has_source_change } = patches.get(each.entry.id);
      const exits = Object.entries(cells.get(`${issue.instanceId} ${each.entry.id}`));
      const having = (code) => exits.flatMap(([test, exit]) => (exit === code ? [test] : []));
      const tests = {
        solved: having(0),
        failed: having(2),
        behaviour: having(0).join(),
        reproduction_out_of: exits.length,
      };
      return { ...each, entry: { ...each.entry, ...tests, patch_size, fingerprint, has_source_change } };
    });
    issues.push({ ...issue, candidates });
  }
  return issues;
}

const isMixed = ({ candidates }) => new Set(candidates.map(({ resolved }) => resolved)).size === 2;
const share = (values) => values.filter(Boolean).length / values.length;

/** By preset: η, Best@K over head-room where there is any, and by how much Best@K is above that of `deepswe`. */
function compared(issues, presets = PRESETS) {
  const mixed = issues.filter(isMixed);
  const width = presets.length + 2;
  const rows = new Float64Array(mixed.length * width);
  for (const [n, issue] of mixed.entries()) {
    const values = presets.map((preset) => bestAtK(issue, preset, [issue.candidates.length]).values[0]);
    rows.set([...values, share(issue.candidates.map(({ resolved }) => resolved)), 1], n * width);
  }
  const units = { rows, sizes: new Int32Array(mixed.length).fill(1), width };
  const resamples = new Resamples(units, 2_000, 1);
  const sums = Array.from(
    { length: width },
    (_, at) => mixed.reduce((sum, _each, n) => sum + rows[n * width + at], 0) / mixed.length,
  );
  return presets.map(({ name }, at) => {
    const eta = (of) => (of(at) - of(width - 2)) / (of(width - 1) - of(width - 2));
    const over = (of) => of(at) - of(DEFAULT);
    const both = (statistic) => ({ value: statistic((column) => sums[column]), ...resamples.interval(statistic) });
    return { name, eta: both(eta), over: both(over), issues: mixed.length };
  });
}

const fixed = (value) => value.toFixed(2).replace('-0.00', '0.00');
const points = ({ value, low, high }) =>
  `${(100 * value).toFixed(1)} [${(100 * low).toFixed(1)}, ${(100 * high).toFixed(1)}]`;
function table(title, header, rows) {
  console.log(`\n${title}\n\n${tableOf(header, rows)}`);
}

/** ECE of the confidence, and how often returned patches are right at 50, 75 and 100% coverage, the surest first. */
function confidenceOf(returned) {
  if (returned.length === 0) return [0, ...Array.from({ length: 4 }, () => '–')];
  const quality = new ProbabilityQuality();
  for (const { confidence, resolved } of returned) quality.add(confidence, resolved);
  const sorted = returned.toSorted((a, b) => b.confidence - a.confidence);
  const at = (coverage) => share(sorted.slice(0, Math.ceil(coverage * sorted.length)).map(({ resolved }) => resolved));
  return [returned.length, ...[quality.ece(), at(0.5), at(0.75), at(1)].map(fixed)];
}

function returnedBy(issues, preset, calibration = null) {
  return issues.flatMap(({ instanceId, candidates }) => {
    const entries = candidates.map(({ entry }) => entry);
    const { candidate_id: id, confidence } = selectBest({ instanceId, entries }, { ...ruleOf(preset), calibration });
    const picked = candidates.find(({ entry }) => entry.id === id);
    return picked === undefined ? [] : [{ confidence, resolved: picked.resolved }];
  });
}

/** Each fold of repositories judged by likelihoods that were fitted on the others; a fit needs two of them. */
function crossFitted(issues, preset) {
  const folds = foldsByRepo(issues, 5);
  return folds.flatMap((fold) => {
    const others = folds.filter((other) => other !== fold).flat();
    const canFit = new Set(others.map(({ repo }) => repo)).size > 1;
    return canFit ? returnedBy(fold, preset, fitCalibration(others, []).calibration) : [];
  });
}

const random = seededRandom(7);
const cells = AUCS.flatMap((auc) =>
  Object.entries(QUALITIES).flatMap(([tests, telling]) =>
    KS.map((k) => ({
      auc,
      tests,
      k,
      issues: Array.from({ length: POOLS }, (_, id) => simulated({ auc, telling, k }, random, id)),
    })),
  ),
);
const all = (wanted) => cells.filter(wanted).flatMap(({ issues }) => issues);
const columns = [
  ...AUCS.flatMap((auc) =>
    Object.keys(QUALITIES).map((tests) => [`${auc} ${tests}`, all((cell) => cell.auc === auc && cell.tests === tests)]),
  ),
  ...KS.map((k) => [`K ${k}`, all((cell) => cell.k === k)]),
];
const found = columns.map(([name, issues]) => [name, compared(issues)]);
const whole = compared(all(() => true));
table(
  `SIMULATED: η by the judge's AUC and the tests, and by K; ${POOLS} pools for each of ${cells.length} combinations`,
  ['preset', ...found.map(([name]) => name), 'all', 'Best@K over deepswe, points'],
  PRESETS.map(({ name }, at) => [
    name,
    ...found.map(([, rules]) => fixed(rules[at].eta.value)),
    fixed(whole[at].eta.value),
    points(whole[at].over),
  ]),
);

const folder = process.argv[2];
const real = {};
if (folder !== undefined && existsSync(join(folder, 'issues')))
  real['real issues'] = await executed(join(folder, 'issues'));
for (const name of ['lite_pool', 'verified_pool']) {
  if (folder !== undefined && existsSync(join(folder, 'pools', `${name}.labels.jsonl`)))
    real[name] = labelledPool(join(folder, 'pools'), name);
}
for (const [name, issues] of Object.entries(real)) {
  const rules = compared(issues);
  table(
    `${name}: ${issues.length} issues, ${rules[0].issues} with right and wrong candidates`,
    ['preset', 'η', 'Best@K over deepswe, points'],
    rules.map(({ name: preset, eta, over }) => [
      preset,
      `${fixed(eta.value)} [${fixed(eta.low)}, ${fixed(eta.high)}]`,
      points(over),
    ]),
  );
}

const sets = { simulated: all(({ k }) => k === 8), ...real };
table(
  'Confidence: ECE, and how often returned patches are right at each coverage',
  ['issues', 'preset', 'likelihoods', 'returned', 'ECE', 'right at 50%', '75%', '100%'],
  Object.entries(sets).flatMap(([name, issues]) =>
    ['deepswe', 'bayes'].map(findPreset).flatMap((preset) => [
      [name, preset.name, 'stated', ...confidenceOf(returnedBy(issues, preset))],
      [name, preset.name, 'cross-fitted', ...confidenceOf(crossFitted(issues, preset))],
    ]),
  ),
);

/** Every row different, so that nothing can be counted instead of told apart. */
const timed = Array.from({ length: 20 }, (_, id) => {
  const { instanceId, candidates } = simulated({ auc: 0.75, telling: 0.4, k: 16 }, random, id);
  const entries = candidates.map(({ entry }) => {
    const solved = Array.from({ length: 30 }, (_, test) => `t${test}`).filter(() => random() < 0.5);
    return {
      ...entry,
      fingerprint: entry.id,
      solved,
      behaviour: solved.join(),
      reproduction: solved.length,
      reproduction_out_of: 30,
    };
  });
  return { instanceId, entries };
});
const times = timed.map((input) => {
  const start = process.cpuUsage();
  selectBest(input, ruleOf(findPreset('bayes')));
  return process.cpuUsage(start).user / 1_000;
});
times.sort((a, b) => a - b);
console.log(`\nA selection of 16 different candidates × 30 tests: ${times[10].toFixed(0)} ms of CPU (median of 20).`);
