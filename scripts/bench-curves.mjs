// Best@K in closed form against random subsets, the size it can take, and the bootstrap; prints ratios and the machine.
// Run after a build: node scripts/bench-curves.mjs [--quick]
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { readScoreMatrix } from '../dist/src/io/inputs/score-matrix.js';
import { bestAtK, DEFAULT_BEST, meanOverDraws, shuffled } from '../dist/src/statistics/curves/best-at-k.js';
import { Resamples } from '../dist/src/statistics/intervals/bootstrap.js';
import { Curves } from '../dist/src/statistics/curves/curves.js';
import { IssueColumns } from '../dist/src/statistics/curves/scored-issue.js';
import { seededRandom } from '../dist/src/core/random.js';
import { stepsOf } from '../dist/src/statistics/curves/exact-plan.js';
import { SubsetRule } from '../dist/src/statistics/curves/subset-rule.js';
import { findPreset } from '../dist/verifiers/hybrid/presets.js';

const quick = process.argv.includes('--quick');
const presets = ['random', 'ef-only', 'eb-only', 'deepswe'].map(findPreset);
const upTo = (n) => Array.from({ length: n }, (_, index) => index + 1);
const seconds = (ms) => (ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(1)} s`);

/**
 * Scores like those of a public run: a judge that tells something, counts with many ties. Every issue has right and wrong
 * candidates, so that none can be skipped.
 */
function row(index, n, random) {
  const rate = random() ** 1.5;
  const resolved = upTo(n).map((at) => (at <= 2 ? at - 1 : Number(random() < rate)));
  return {
    instance_id: `org__repo${index % 12}-${index}`,
    resolved,
    execution_free: resolved.map((right) =>
      Number(Math.min(1, Math.max(0, 0.35 + 0.2 * right + 0.4 * (random() - 0.5))).toFixed(6)),
    ),
    regression: resolved.map((right) => 40 + Math.floor(2 * random() + 0.6 * right)),
    reproduction: resolved.map((right) => Math.floor(4 * random() + 2 * right)),
  };
}

function issueOf({ instance_id, resolved, execution_free, regression, reproduction }) {
  const candidates = resolved.map((right, at) => ({
    entry: {
      id: String(at),
      execution_free: execution_free[at],
      regression: regression[at],
      reproduction: reproduction[at],
      patch_size: null,
      fingerprint: null,
      has_source_change: true,
      applies: null,
      finished: null,
    },
    resolved: right === 1,
    cost: null,
    axes: {},
  }));
  return { instanceId: instance_id, repo: instance_id.split('-')[0], candidates };
}

function issues(count, n) {
  const random = seededRandom(1);
  return upTo(count).map((index) => issueOf(row(index, n, random)));
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
function timed(work) {
  const start = performance.now();
  const value = work();
  return { ms: performance.now() - start, value };
}

function closedForm(all, ks) {
  const means = presets.map(() => new Float64Array(ks.length));
  for (const issue of all) {
    for (let preset = 0; preset < presets.length; preset += 1) {
      const { values, method } = bestAtK(issue, presets[preset], ks);
      if (method !== 'exact') throw new Error(`${presets[preset].name} is ${method}`);
      for (let index = 0; index < ks.length; index += 1) means[preset][index] += values[index] / all.length;
    }
  }
  return means;
}

/** As is usual: for every point of the curve, so many subsets of its own. */
function randomSubsets(all, ks, draws) {
  const random = seededRandom(2);
  return presets.map((preset) => {
    const mean = new Float64Array(ks.length);
    for (const issue of all) {
      const { candidates } = issue;
      const labels = Float64Array.from(candidates, ({ resolved }) => Number(resolved));
      const columns = new IssueColumns(issue);
      const rule = new SubsetRule(stepsOf(columns, preset.stages), columns, labels);
      ks.forEach((k, index) => {
        const [{ mean: best }] = meanOverDraws([k], shuffled(candidates.length, draws, random), (drawn) =>
          rule.chance(drawn, k),
        );
        mean[index] += best / all.length;
      });
    }
    return mean;
  });
}

function largestGap(a, b) {
  return Math.max(
    ...a.flatMap((curve, preset) => [...curve].map((value, index) => Math.abs(value - b[preset][index]))),
  );
}

console.log(`${cpus()[0]?.model ?? 'unknown CPU'}, Node ${process.version}, one core used\n`);

const all = issues(500, 26);
const ks = upTo(26);
for (let warm = 0; warm < 5; warm += 1) closedForm(all, ks);
// A copy each time: what is worked out once for an issue is part of the time.
const copies = upTo(15).map(() => all.map((issue) => ({ ...issue, candidates: [...issue.candidates] })));
// Before and after the long part, so that what else the machine does falls on both.
const exact = copies.slice(0, 8).map((copy) => timed(() => closedForm(copy, ks)));
const draws = quick ? 20 : 1000;
const sampled = timed(() => randomSubsets(all, ks, draws));
exact.push(...copies.slice(8).map((copy) => timed(() => closedForm(copy, ks))));
const exactMs = median(exact.map(({ ms }) => ms));
console.log(`500 issues × 26 candidates, K = 1..26, ${presets.map(({ name }) => name).join(', ')}:`);
console.log(
  `  closed form            ${seconds(exactMs)} (median of 15)   limit 150 ms: ${exactMs <= 150 ? 'met' : 'MISSED'}`,
);
const ratio = (sampled.ms * (1000 / draws)) / exactMs;
console.log(
  `  ${String(draws).padStart(4)} random subsets    ${seconds(sampled.ms)}${draws === 1000 ? '' : ' (scaled to 1,000 for the ratio)'}`,
);
console.log(`  ratio                  ${Math.round(ratio)} ×   limit 1,000 ×: ${ratio >= 1000 ? 'met' : 'MISSED'}`);
console.log(`  largest gap between the two curves ${largestGap(exact[0].value, sampled.value).toFixed(4)}\n`);

const width = ks.length * (presets.length + 1);
const rows = new Float64Array(500 * width);
all.forEach((issue, at) =>
  presets.forEach((preset, p) => rows.set(bestAtK(issue, preset, ks).values, at * width + p * ks.length)),
);
const boot = timed(() => {
  const resamples = new Resamples({ rows, sizes: new Int32Array(500).fill(1), width }, 10_000, 1);
  return upTo(width).map((column) => resamples.column(column - 1));
});
console.log(`Bootstrap, 10,000 resamples of 500 issues, ${width} numbers each with its interval:`);
console.log(`  ${seconds(boot.ms)}   limit 2 s: ${boot.ms <= 2000 ? 'met' : 'MISSED'}\n`);

const many = quick ? 1000 : 10_000;
const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-'));
try {
  const file = join(folder, 'scores.jsonl');
  const out = createWriteStream(file);
  const random = seededRandom(3);
  for (let index = 0; index < many; index += 1) {
    if (!out.write(`${JSON.stringify(row(index, 256, random))}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
  const curves = new Curves({ ks: upTo(256), presets, axes: [], resamples: 2000, best: DEFAULT_BEST });
  const memory = [];
  const start = performance.now();
  let seen = 0;
  for await (const issue of readScoreMatrix(file)) {
    curves.add(issue);
    seen += 1;
    if (seen % (many / 10) === 0) memory.push(Math.round(process.memoryUsage.rss() / 2 ** 20));
  }
  const report = curves.report();
  const ms = performance.now() - start;
  console.log(
    `${many} issues × 256 candidates, K = 1..256, from a file of ${Math.round(statSync(file).size / 2 ** 20)} MB, with everything the report holds:`,
  );
  console.log(`  ${seconds(ms)}   limit 60 s for 10,000: ${(ms * 10_000) / many <= 60_000 ? 'met' : 'MISSED'}`);
  console.log(`  resident memory by tenth, MB: ${memory.join(' ')}`);
  console.log(
    `  intervals: ${report.settings.interval}; Best@256 of deepswe ${report.presets[3].best_at_k['256'].value.toFixed(4)}`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}
