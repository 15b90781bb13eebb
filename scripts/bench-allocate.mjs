// How many fewer rollouts than equal shares `--allocate greedy` needs for the same Best@K. Simulated: the rollouts of an issue are
// the labelled patches of DIR/pools/NAME (candidates.jsonl, labels.jsonl) in random order, what each costs is drawn. Decisions
// see which patches are equal and what rollouts cost, never a label. Run after a build:
// node scripts/bench-allocate.mjs DIR [--pool verified_pool] [--k 8] [--orders 200]
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { grouped } from '../dist/src/core/grouped.js';
import { seededRandom } from '../dist/src/core/random.js';
import { Allocation } from '../dist/src/runs/allocate.js';
import { describeCandidates } from '../dist/src/runs/entries.js';
import { isEligible, patchOf } from '../dist/verifiers/hybrid/entry.js';
import { standingOf } from '../dist/verifiers/hybrid/look-ahead.js';
import { readJsonl } from './jsonl.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pool: { type: 'string', default: 'verified_pool' },
    k: { type: 'string', default: '8' },
    orders: { type: 'string', default: '200' },
    resamples: { type: 'string', default: '200' },
  },
});
const [folder] = positionals;
if (folder === undefined || !existsSync(join(folder, 'pools'))) {
  console.error('bench-allocate: name the folder that holds pools/.');
  process.exit(2);
}
const K = Number(values.k);

function linesOf(kind) {
  return readJsonl(join(folder, 'pools', `${values.pool}.${kind}.jsonl`));
}

/** Issues with at least K patches: what a selector may know of each patch, and apart from it whether it is right. */
function readPool() {
  const labels = new Map(linesOf('labels').map((one) => [`${one.instance_id}\n${one.candidate_id}`, one.resolved]));
  const issues = grouped(linesOf('candidates'), ({ instance_id: id }) => id);
  return [...issues]
    .filter(([, own]) => own.length >= K)
    .map(([id, own]) => {
      const described = describeCandidates(
        own.map((each) => ({ trajectory: null, ...each })),
        [],
        '',
      );
      return described.map(({ entry }) => ({ entry, right: labels.get(`${id}\n${entry.id}`) === true }));
    });
}

const signatures = new Map();
const nobody = Array.from({ length: K }, () => ({}));

/** What depends on nothing but how many patches are equal is worked out once. */
function byVotes(entries, left) {
  const groups = [...grouped(entries.filter(isEligible), patchOf).values()].map(({ length }) => length);
  const key = `${groups.sort((a, b) => b - a).join()}|${left}`;
  const known = signatures.get(key) ?? standingOf(entries, nobody.slice(0, left));
  signatures.set(key, known);
  return known;
}

/** P(the selected patch is right) by the likeliest of those tried, ties averaged. */
function bestOf(tried) {
  const own = tried.filter(({ entry }) => isEligible(entry));
  const groups = [...grouped(own, ({ entry }) => patchOf(entry)).values()];
  const most = Math.max(0, ...groups.map(({ length }) => length));
  // With votes alone the likeliest are those that most made.
  const top = groups.filter(({ length }) => length === most).flat();
  return top.length === 0 ? 0 : top.filter(({ right }) => right).length / top.length;
}

function shuffled(items, random) {
  const all = [...items];
  for (let at = all.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [all[at], all[other]] = [all[other], all[at]];
  }
  return all;
}

/** What an issue's rollouts cost: lognormal by issue (σ .7) and by rollout (σ .4), median 1. */
function costsOf(random) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const issue = Math.exp(0.7 * normal());
  return Array.from({ length: K }, () => issue * Math.exp(0.4 * normal()));
}

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

/** Best@… after each rollout or unit of cost, as [rollouts, cost, issues right]. */
function trace(issues, policy, prices) {
  const limits = { rollouts: null, tokens: null, usd: null };
  const allocation = new Allocation(
    issues.map(() => ({ most: K, first: 1, step: 1 })),
    1,
    limits,
  );
  const best = issues.map(() => 0);
  const points = [];
  let [rollouts, cost] = [0, 0];
  const give = (index, given) => {
    cost += prices[index][given - 1];
    rollouts += 1;
    best[index] = bestOf(issues[index].slice(0, given));
    points.push([rollouts, cost, sum(best)]);
  };
  if (policy === 'equal') {
    for (let k = 1; k <= K; k += 1) for (const index of issues.keys()) give(index, k);
    return points;
  }
  for (let round = allocation.next(); round.length > 0; round = allocation.next()) {
    for (const { index, rollouts: given } of round) {
      give(index, given);
      const standing = byVotes(
        issues[index].slice(0, given).map(({ entry }) => entry),
        K - given,
      );
      allocation.learn(index, given, {
        standing,
        tokens: 1,
        usd: policy === 'cost' ? sum(prices[index].slice(0, given)) : given,
      });
    }
  }
  return points;
}

/** Mean over orders of the issues right at each of `steps` amounts of rollouts (0) or cost (1), up to `most`. */
function meanCurve(issues, policy, { axis, steps, most, orders, seed }) {
  const curve = new Float64Array(steps + 1);
  const random = seededRandom(seed);
  for (let order = 0; order < orders; order += 1) {
    const drawn = issues.map((own) => shuffled(own, random).slice(0, K));
    const prices = issues.map(() => costsOf(random));
    const all = sum(prices.flat());
    let at = 0;
    let right = 0;
    for (const point of trace(drawn, policy, prices)) {
      const amount = axis === 0 ? point[0] : (point[1] / all) * most;
      for (; at <= steps && (at * most) / steps < amount - 1e-9; at += 1) curve[at] += right / orders;
      right = point[2];
    }
    for (; at <= steps; at += 1) curve[at] += right / orders;
  }
  return curve;
}

/** Share of the rollouts (or cost) of equal shares with k that greedy does without, at the same Best@k; null = never reached. */
function savedAt(k, equal, greedy) {
  const at = Math.round(((equal.length - 1) * k) / K);
  const reached = greedy.findIndex((right) => right >= equal[at] - 1e-9);
  return reached < 0 ? null : 1 - reached / at;
}

const pool = readPool();
const ks = [2, 3, 4, 5, 6, 7, 8, 10, 12, 16].filter((k) => k <= K);
const percent = (share) => (Number.isFinite(share ?? NaN) ? (100 * share).toFixed(0) : 'never');
const of = (issues, policy, axis, orders, seed) =>
  meanCurve(issues, policy, { axis, steps: issues.length * K, most: issues.length * K, orders, seed });

console.log(
  `SIMULATED: ${pool.length} issues with at least ${K} labelled patches of ${values.pool}, ${values.orders} random orders`,
);
const orders = Number(values.orders);
const curves = Object.fromEntries(
  [0, 1].flatMap((axis) =>
    ['equal', axis === 0 ? 'rollouts' : 'cost'].map((policy) => [
      `${axis} ${policy}`,
      of(pool, policy, axis, orders, 1),
    ]),
  ),
);
const resampled = (() => {
  const random = seededRandom(2);
  return Array.from({ length: Number(values.resamples) }, (_, seed) => {
    const issues = pool.map(() => pool[Math.floor(random() * pool.length)]);
    const [equal, greedy] = ['equal', 'rollouts'].map((policy) => of(issues, policy, 0, 20, seed));
    return ks.map((k) => savedAt(k, equal, greedy) ?? -Infinity);
  });
})();
console.log('\n| K | Best@K of equal shares | fewer rollouts | 95% over issues | less cost |\n|---|---|---|---|---|');
for (const [at, k] of ks.entries()) {
  const equal = curves['0 equal'];
  const best = equal[Math.round(((equal.length - 1) * k) / K)] / pool.length;
  const spread = resampled.map((row) => row[at]).sort((a, b) => a - b);
  const [low, high] = [0.025, 0.975].map((share) => spread[Math.floor(share * (spread.length - 1))] ?? 0);
  console.log(
    `| ${k} | ${(100 * best).toFixed(2)} | ${percent(savedAt(k, equal, curves['0 rollouts']))}% | ${percent(low)} to ${percent(high)} | ${percent(savedAt(k, curves['1 equal'], curves['1 cost']))}% |`,
  );
}
