// How fast are saved runs read, and in how much memory? `npm run bench:import [-- --gb 5]`. The file is R2E-Gym JSONL, made by
// repeating records: real ones where they are at hand (BESTK_REAL_DATA or ../shared), else made ones of 40 steps and 1 MB.
import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { importRuns } from '../dist/src/io/saved-runs/import-runs.js';

const { values } = parseArgs({ options: { gb: { type: 'string', default: '1' } } });
const GB = 1024 ** 3;
const OUT = resolve('bestk-out/bench-import');
const REAL = resolve(process.env.BESTK_REAL_DATA ?? '../shared', 'data/trajectories/r2e-gym');

function records() {
  const step = (n) => ({
    step_idx: n,
    thought: `Step ${n}. `.repeat(40),
    action: `<function=execute_bash>\n<parameter=command>sed -n '${n},+40p' pkg/core.py</parameter>\n</function>`,
    observation: 'def compute(value):\n    return value * 2\n'.repeat(400),
    token_usage_prompt: 1_000 * n,
    token_usage_completion: 100,
  });
  const made = {
    trajectory_steps: Array.from({ length: 40 }, (_, n) => step(n)),
    problem_statement: 'It does not work. '.repeat(50),
    docker_image: 'img:1',
    exp_name: 'rollout',
    ds: { instance_id: 'o__r-1', patch: 'x'.repeat(2_000), FAIL_TO_PASS: '[]' },
    exit_reason: 'agent',
    output_patch: 'diff --git a/a.py b/a.py\n',
    reward: 1,
    test_output: 'PASSED tests/test_core.py::test_compute\n'.repeat(5_000),
  };
  const file = resolve(REAL, 'qwen3coder_sweverify_20_patch.jsonl');
  const real = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  return { real: real.length, lines: [...real, JSON.stringify(made)] };
}

/** @returns its size */
function make(file, bytes) {
  const { lines } = records();
  const handle = openSync(file, 'w');
  let size = 0;
  for (let n = 0; size < bytes; n += 1) size += writeSync(handle, `${lines[n % lines.length]}\n`);
  closeSync(handle);
  return size;
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const file = resolve(OUT, 'runs.jsonl');
const size = make(file, Number(values.gb) * GB);
const child = execFileSync(process.execPath, [resolve('scripts/bench-import/child.mjs'), file, resolve(OUT, 'out')]);
const { seconds, cpu_s, peak_mb, candidates, rejected } = JSON.parse(String(child));
rmSync(resolve(OUT, 'out'), { recursive: true });

// To the first record: ours, and the usual way of reading and parsing all lines first.
const small = resolve(OUT, 'small.jsonl');
make(small, 256 * 1024 * 1024);
let start = performance.now();
for await (const found of importRuns([small])) if (found.kind === 'run') break;
const first = performance.now() - start;
start = performance.now();
const all = (await readFile(small, 'utf8'))
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line));
const whole = performance.now() - start;

const mb = size / 1e6;
console.log(
  `R2E-Gym JSONL of ${(size / GB).toFixed(1)} GB, ${candidates} records (${records().real} real ones repeated), ${rejected} rejected`,
);
console.log(
  `wall     ${seconds.toFixed(1)} s, ${(mb / seconds).toFixed(0)} MB/s; ${(mb / cpu_s).toFixed(0)} MB per CPU second`,
);
console.log(`memory   ${peak_mb.toFixed(0)} MB at its peak`);
console.log(
  `first    ${first.toFixed(0)} ms to the first record of ${(statSync(small).size / 1e6).toFixed(0)} MB, ${whole.toFixed(0)} ms for all ${all.length} read first: ${(whole / first).toFixed(0)} x`,
);
rmSync(OUT, { recursive: true });
