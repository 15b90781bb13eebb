// Two workers against one, on one PostgreSQL and a load that waits on models: runs of given candidates that a judge
// answers after LATENCY_MS. One run at a time is all that is submitted in the second load, so that parts of it, and not whole
// runs, are what spreads.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openPostgresStore } from '../../dist/src/store/postgres.js';
import { startCluster } from '../setup/postgres.mjs';
import { startModel } from './model.mjs';

/** What a judge takes over a long prompt. */
const LATENCY_MS = 2_000;
/** Calls that one worker may have under way. */
const CALLS_AT_ONCE = 4;
/** Odd: the middle one counts. */
const ROUNDS = Number(process.env.ROUNDS ?? 3);
const LOADS = [
  { name: '24 runs of 4 candidates, all at once', runs: 24, candidates: 4 },
  { name: 'one run of 96 candidates', runs: 1, candidates: 96 },
];

export async function benchWorkers() {
  const cluster = await startCluster({ settings: { fsync: 'on' } });
  const store = await openPostgresStore(cluster.url);
  const model = await startModel(LATENCY_MS);
  try {
    for (const { name, runs, candidates } of LOADS) {
      const ratios = [];
      for (let round = 1; round <= ROUNDS; round += 1) {
        const [one, two] = [
          await measure({ cluster, store, model, workers: 1 }, { runs, candidates, round: `${name} ${round} 1` }),
          await measure({ cluster, store, model, workers: 2 }, { runs, candidates, round: `${name} ${round} 2` }),
        ];
        ratios.push(one.seconds / two.seconds);
        console.log(
          `${name}, round ${round}: one worker ${told(one)}, two ${told(two)}, ${ratios.at(-1).toFixed(2)} x`,
        );
      }
      const median = ratios.sort((a, b) => a - b)[(ROUNDS - 1) / 2];
      const floor = (runs * candidates * LATENCY_MS) / CALLS_AT_ONCE / 1000;
      console.log(
        `${name}: two workers do ${median.toFixed(2)} x the work of one (floor of one: ${floor.toFixed(1)} s)`,
      );
    }
  } finally {
    await store.close();
    await cluster.destroy();
    model.close();
  }
}

function told({ seconds, calls, byWorker }) {
  return `${seconds.toFixed(2)} s, ${calls} calls (${byWorker === '' ? 'all its own' : byWorker.replaceAll('\n', ' + ')})`;
}

/** Seconds from the submission of the load to its last end, with workers that were started before. */
async function measure({ cluster, store, model, workers }, { runs, candidates, round }) {
  const folder = mkdtempSync(join(tmpdir(), 'bestk-bench-'));
  const start = (...args) =>
    startProcess(args, { DATABASE_URL: cluster.url, OPENAI_BASE_URL: model.url, HOME: folder });
  const service = await start('serve', '--no-worker', '--port', '0');
  const children = [
    service,
    ...(await Promise.all(Array.from({ length: workers }, () => start('worker', '--port', '0')))),
  ];
  const before = model.calls();
  const began = performance.now();
  const ids = [];
  for (let n = 0; n < runs; n += 1) ids.push(await submit(service.url, request(`${round} ${n}`, candidates)));
  while ((await store.runs.open()).length > 0) {
    if (children.some(({ child }) => child.exitCode !== null)) throw new Error('a process ended');
    await sleep(20);
  }
  const seconds = (performance.now() - began) / 1000;
  for (const id of ids) if ((await store.runs.statusOf(id)) !== 'done') throw new Error(`run ${id} did not end well`);
  const list = ids.map((id) => `'${id}'`).join(',');
  const by = `from run_events where run_id in (${list}) and type = 'part' group by data::json->>'worker' order by 1`;
  const counts = await cluster.sql(`select count(*) ${by}`);
  for (const { child } of children) {
    const gone = once(child, 'exit');
    child.kill('SIGTERM');
    await gone;
  }
  rmSync(folder, { recursive: true, force: true });
  return { seconds, calls: model.calls() - before, byWorker: counts.trim() };
}

/** A process of bestk, once it listens. */
async function startProcess(args, settings) {
  const env = { BESTK_VERIFIER_MODEL: 'judge', BESTK_LLM_CONCURRENCY: String(CALLS_AT_ONCE), BESTK_LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, ['dist/src/cli.js', ...args], {
    env: { PATH: process.env.PATH, ...env, ...settings },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const url = await new Promise((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => {
      const told = line.startsWith('{') ? JSON.parse(line) : {};
      if (told.msg === 'listening') resolve(told.url);
    });
    child.once('exit', (code) => reject(new Error(`bestk ${args.join(' ')} ended with ${code}`)));
  });
  return { child, url };
}

async function submit(url, body) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}/v1/runs`, { method: 'POST', headers, body: JSON.stringify(body) });
  if (answer.status !== 202) throw new Error(`a run was not accepted: ${await answer.text()}`);
  return (await answer.json()).id;
}

function request(name, count) {
  const candidates = Array.from({ length: count }, (_, n) => ({
    instance_id: 'bench',
    candidate_id: `c${n}`,
    patch: `diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 0\n+a = ${n + 1}  # ${name}\n`,
    trajectory: null,
  }));
  const issue = { instance_id: 'bench', problem_statement: 'a is wrong', environment: { image: 'none' } };
  return { issue, candidates, verifiers: ['ef'], preset: 'deepswe' };
}
