import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetWriteFile } from 'hyparquet-writer';
import { readDataSet } from '../../dist/src/io/datasets/data-set.js';
import { writeRuns } from '../bench-report/made-runs.mjs';
import { aim, median } from './world.mjs';

const ROWS = 2_294;
const READ_AIM_S = 1;
const REPORT_AIM_S = 5;
const ROUNDS = 3;

/** Rows as long as SWE-bench's, as one parquet file. */
export async function benchRead(short) {
  return inFolder(async (folder) => {
    const file = join(folder, 'test-00000-of-00001.parquet');
    writeRows(file, short ? 100 : ROWS);
    const times = [];
    let rows = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const start = performance.now();
      rows = 0;
      for await (const row of readDataSet(file)) {
        if ('problem' in row) throw row.problem;
        rows += row.sealed.open().gold === null ? 0 : 1;
      }
      times.push((performance.now() - start) / 1000);
    }
    const read = median(times);
    const command = timed(['datasets', 'show', file, '--json']);
    return aim(
      `${rows} rows understood in ${read.toFixed(2)} s (aim ${READ_AIM_S} s); datasets show, as a command, ${command.toFixed(2)} s`,
      short || read <= READ_AIM_S,
    );
  });
}

function writeRows(filename, count) {
  const long = (n, size) => Array.from({ length: size / 10 }, (_, at) => `word ${(n * 31 + at) % 977}\n`).join('');
  const column = (name, of) => ({ name, data: Array.from({ length: count }, (_, n) => of(n)) });
  const patch = (n) => `diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-x = ${n}\n+x = ${n + 1}\n`;
  const tests = (n) => JSON.stringify(Array.from({ length: 120 }, (_, at) => `tests/test_m.py::test_${n}_${at}`));
  parquetWriteFile({
    filename,
    columnData: [
      column('instance_id', (n) => `org__repo-${n}`),
      column('repo', () => 'org/repo'),
      column('base_commit', (n) => String(n).padStart(40, '0')),
      column('problem_statement', (n) => long(n, 2_000)),
      column('hints_text', (n) => long(n, 1_000)),
      column('patch', patch),
      column('test_patch', (n) => `${patch(n)}${long(n, 4_000)}`),
      column('version', () => '1.0'),
      column('FAIL_TO_PASS', tests),
      column('PASS_TO_PASS', tests),
    ],
  });
}

/** Of folders, as `bench report` writes it again. */
export async function benchReport(short) {
  const [issues, k, count] = short ? [20, 4, 2] : [500, 26, 4];
  return inFolder((out) => {
    const arms = Array.from({ length: count }, (_, n) => ({ name: `arm-${n}` }));
    let instances = [];
    for (const [index, { name }] of arms.entries()) {
      const folder = join(out, 'arms', name);
      instances = writeRuns(folder, join(folder, 'graded', 'labels.jsonl'), { issues, k, seed: index + 1 });
    }
    const plan = { dataset: 'rows.jsonl', arms };
    writeFileSync(
      join(out, 'bench.json'),
      JSON.stringify({ kind: 'bestk-bench', id: 'bench', plan, instances, keys: {} }),
    );
    const seconds = median(Array.from({ length: ROUNDS }, () => timed(['bench', 'report', out])));
    const said = `report of ${issues} x ${k} x ${count} arms, as a command: ${seconds.toFixed(2)} s (aim ${REPORT_AIM_S} s)`;
    return aim(said, short || seconds <= REPORT_AIM_S);
  });
}

function timed(args) {
  const start = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ['dist/src/cli.js', ...args], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(stderr);
  return (performance.now() - start) / 1000;
}

async function inFolder(work) {
  const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
