// `npm run bench:report`: the benchmark report of 500 finished runs of 26 candidates, as a command, from their folders to
// the last file; then the parts of it, and the size of the page. The scores are made up and have many ties.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '../dist/src/core/random.js';
import { makeBenchmark } from '../dist/src/reports/benchmark/make-benchmark.js';
import { defaultPresets } from '../dist/src/reports/benchmark/presets.js';
import { benchmarkOfRuns } from '../dist/src/reports/benchmark/read-benchmark.js';
import { benchmarkHtml } from '../dist/src/reports/benchmark/write-benchmark.js';

const ISSUES = 500;
const K = 26;
const ROUNDS = 5;
const random = seededRandom(1);
const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-report-'));
const runs = join(folder, 'runs');
const labels = join(folder, 'labels.jsonl');
writeRuns();

const cli = ['dist/src/cli.js', 'report', '--run', runs, '--labels', labels, '--out', join(folder, 'report')];
const whole = rounds(() => {
  const { status, stderr } = spawnSync(process.execPath, cli, { encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
});
const bare = rounds(() => spawnSync(process.execPath, ['-e', '0']));
const read = await timed(() => benchmarkOfRuns([runs], [labels], 'bench'));
const options = { presets: defaultPresets(read.value.issues), ks: null, resamples: 2000, seed: 1, draws: 100 };
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

function writeRuns() {
  const lines = [];
  for (let issue = 0; issue < ISSUES; issue += 1) {
    const instance_id = `org__repo${issue % 12}-${issue}`;
    const rate = random() ** 1.5;
    const entries = Array.from({ length: K }, (_, at) => entryOf(`c${at}`, random() < rate));
    for (const { id, right } of entries) lines.push(JSON.stringify({ instance_id, candidate_id: id, resolved: right }));
    const to = join(runs, instance_id);
    mkdirSync(to, { recursive: true });
    writeFileSync(join(to, 'run.json'), JSON.stringify(runOf(instance_id, entries)));
    writeFileSync(join(to, 'verdicts.jsonl'), entries.flatMap(verdictsOf).join(''));
  }
  writeFileSync(labels, `${lines.join('\n')}\n`);
}

function entryOf(id, right) {
  const solved = Array.from({ length: 10 }, (_, test) => `t${test}`).filter(() => random() < (right ? 0.6 : 0.3));
  return {
    right,
    id,
    execution_free: Number(Math.min(1, Math.max(0, 0.35 + 0.2 * right + 0.4 * (random() - 0.5))).toFixed(6)),
    regression: 40 + Math.floor(2 * random() + 0.6 * right),
    regression_out_of: 42,
    reproduction: solved.length,
    reproduction_out_of: 10,
    solved,
    behaviour: JSON.stringify(solved),
    patch_size: 3 + Math.floor(40 * random()),
    fingerprint: `${right}${Math.floor((right ? 4 : 12) * random())}`,
    has_source_change: true,
    applies: true,
    finished: true,
    steps: 10 + Math.floor(60 * random()),
  };
}

function verdictsOf({ id, execution_free, regression, reproduction, solved }) {
  const scored = (measure, score, out_of, evidence) =>
    `${JSON.stringify({ kind: 'scored', candidate_id: id, measure, score, out_of, evidence })}\n`;
  return [
    scored('execution_free', execution_free, 1, {}),
    scored('regression', regression, 42, {}),
    scored('reproduction', reproduction, 10, { solved }),
  ];
}

function runOf(instance_id, entries) {
  const candidates = entries.map(({ id }) => ({
    instance_id,
    candidate_id: id,
    patch: 'x'.repeat(2000),
    trajectory: null,
  }));
  const environment = { image: 'bench:1' };
  return {
    id: `run_${instance_id}`,
    created_at: '2026-01-01T00:00:00.000Z',
    provenance: {
      bestk_version: '0',
      image_id: null,
      verifier_model: 'judge',
      prompt_hashes: {},
      preset: 'deepswe',
      verifiers: ['ef', 'eb'],
      sandbox_limits: {},
    },
    usage: {
      models: [
        {
          purpose: 'judge',
          model: 'judge',
          calls: K,
          stored_answers: 0,
          input_tokens: 26_000,
          cached_input_tokens: 0,
          output_tokens: 260,
          seconds: 9,
        },
      ],
      cost_usd: 0.01,
      stages: { 'execution-free': 9 },
    },
    admissions: Array.from({ length: 10 }, (_, test) => ({ test_id: `t${test}`, admitted: true, reason: null })),
    entries: entries.map(({ right: _, ...entry }) => entry),
    request: {
      issue: { instance_id, problem_statement: 'x'.repeat(3000), environment },
      preset: 'deepswe',
      candidates,
    },
  };
}
