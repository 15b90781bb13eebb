// Kills and restarts the processes of the test cluster, as they were started.
//   node scripts/kubernetes/processes.mjs kill|start|restart|stop|continue NAME…     NAME: kubelet, apiserver, scheduler, …
import { spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** Where the test cluster lives. */
export const HOME = process.env.K8S_HOME ?? '/var/lib/bestk-k8s';
const pidFile = (name) => resolve(HOME, 'run', `${name}.pid`);
/** How a process was started, kept so that it can be started again after it was killed. */
const recordFile = (name) => resolve(HOME, 'run', `${name}.started.json`);

/** What a process was, a moment ago, that is still on its way to become the program. */
const LAUNCHERS = new Set(['bash', 'setsid', 'nohup']);

function words(file) {
  return readFileSync(file, 'utf8').split('\0').filter(Boolean);
}

/** SIGKILL; resolves when it is gone. */
export async function kill(name) {
  const pid = Number(readFileSync(pidFile(name), 'utf8'));
  while (LAUNCHERS.has(basename(readlinkSync(`/proc/${pid}/exe`)))) await sleep(20);
  const record = { argv: words(`/proc/${pid}/cmdline`), env: words(`/proc/${pid}/environ`) };
  mkdirSync(resolve(HOME, 'run'), { recursive: true });
  writeFileSync(recordFile(name), JSON.stringify(record));
  process.kill(pid, 'SIGKILL');
  while (isRunning(pid)) await sleep(20);
}

/** Starts what was killed. */
export function start(name) {
  const { argv, env } = JSON.parse(readFileSync(recordFile(name), 'utf8'));
  const log = openSync(resolve(HOME, 'logs', `${name}.log`), 'a');
  const child = spawn(argv[0], argv.slice(1), {
    detached: true,
    stdio: ['ignore', log, log],
    env: Object.fromEntries(env.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])),
  });
  child.unref();
  writeFileSync(pidFile(name), String(child.pid));
}

export async function restart(name) {
  await kill(name);
  start(name);
}

function send(name, signal) {
  process.kill(Number(readFileSync(pidFile(name), 'utf8')), signal);
}

/** The first thread of a process can be dead while others still hold its files and ports. */
function isRunning(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return !/^State:\s+Z/m.test(status) || Number(/^Threads:\s+(\d+)/m.exec(status)?.[1]) > 1;
  } catch {
    return false;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [verb, ...names] = process.argv.slice(2);
  const act = {
    kill,
    start,
    restart,
    stop: (name) => send(name, 'SIGSTOP'),
    continue: (name) => send(name, 'SIGCONT'),
  }[verb];
  if (act === undefined || names.length === 0) {
    console.error('usage: processes.mjs kill|start|restart|stop|continue NAME…');
    process.exit(2);
  }
  for (const name of names) await act(name);
}
