// `npm run bench:report`: the benchmark report of 500 finished runs of 26 candidates, as a command, from their folders to
// the last file; then the parts of it, and the size of the page. The scores are made up and have many ties.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeBenchmark } from '../dist/src/reports/benchmark/make-benchmark.js';
import { defaultRules } from '../dist/src/reports/benchmark/presets.js';
import { benchmarkOfRuns } from '../dist/src/reports/benchmark/read-benchmark.js';
import { benchmarkHtml } from '../dist/src/reports/benchmark/write-benchmark.js';
import { writeRuns } from './bench-report/made-runs.mjs';

const ISSUES = 500;
const K = 26;
const ROUNDS = 5;
const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-report-'));
const runs = join(folder, 'runs');
const labels = join(folder, 'labels.jsonl');
writeRuns(runs, labels, { issues: ISSUES, k: K, seed: 1 });

const cli = ['dist/src/cli.js', 'report', '--run', runs, '--labels', labels, '--out', join(folder, 'report')];
const whole = rounds(() => {
  const { status, stderr } = spawnSync(process.execPath, cli, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
});
const bare = rounds(() => spawnSync(process.execPath, ['-e', '0']));
const read = await timed(() => benchmarkOfRuns([runs], [labels], 'bench'));
const options = { ...defaultRules(read.value.issues, read.value.runs), ks: null, resamples: 2000, seed: 1, draws: 100 };
const made = await timed(() => makeBenchmark(read.value, null, options));
const drawn = await timed(() => benchmarkHtml(made.value));
const size = statSync(join(folder, 'report/report.html')).size;
console.log(
  `${ISSUES} runs x ${K} candidates, ${options.presets.length} presets; ${cpus()[0]?.model}, ${cpus().length} cores`,
);
console.log(`bestk report, as a command   ${show(whole)} (limit 3 s; node alone ${show(bare)})`);
console.log(`read 1,000 files             ${show(read.ms)}`);
console.log(`statistics                   ${show(made.ms)}`);
console.log(`plots and page               ${show(drawn.ms)}`);
console.log(`report.html                  ${(size / 1e6).toFixed(2)} MB (limit 5 MB)`);
rmSync(folder, { recursive: true });
process.exit(whole <= 3000 && size <= 5e6 ? 0 : 1);

function rounds(work) {
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    work();
    return performance.now() - start;
  });
  return times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)];
}

async function timed(work) {
  const start = performance.now();
  const value = await work();
  return { ms: performance.now() - start, value };
}

function show(ms) {
  return ms < 1000 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}
