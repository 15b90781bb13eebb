import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { canInstall, hasProgram } from './debian.mjs';
import { engineAddress, engineFault } from './engine.mjs';
import { run, step, Unavailable } from './run.mjs';

const LOG = '/var/log/dockerd.log';
const START_WITHIN_S = 60;
/** The package's own start-up script may have begun a daemon already: its marks, and how long it may take. */
const PACKAGE_MARKS = ['/run/systemd/system', '/run/docker.pid', '/run/docker-ssd.pid'];
const PACKAGE_START_S = 3;

/** The Debian packages an own engine needs and this machine lacks. */
export function missingDocker() {
  return [hasProgram('dockerd') ? [] : 'docker.io', hasProgram('iptables') ? [] : 'iptables'].flat();
}

/** The Debian package with a compose, where there is none as a plugin either. */
export function missingCompose() {
  const plugin = () => spawnSync('docker', ['compose', 'version']).status === 0;
  return hasProgram('docker-compose') || plugin() ? [] : ['docker-compose'];
}

/**
 * Refuses to go on where no engine answers and none may be started.
 * @param {string} fault why the engine does not answer
 */
export function assertMayStart(fault) {
  if (canInstall() && !process.env.DOCKER_HOST) return;
  throw new Unavailable(`No Docker engine answers: GET /_ping at ${engineAddress()}: ${fault}.\n${remedy(fault)}`);
}

function remedy(fault) {
  if (process.env.DOCKER_HOST) {
    return 'DOCKER_HOST names that engine, so none is started here. Start it, or unset DOCKER_HOST.';
  }
  if (fault === 'EACCES') return 'This user may not use that socket: join the group "docker", or run this as root.';
  return (
    'Start Docker, or set DOCKER_HOST to an engine you may use, or run this as root on Debian or Ubuntu, which ' +
    'installs docker.io and starts it.'
  );
}

/** Starts the installed engine and waits until it answers. */
export async function startEngine() {
  await step('Docker engine', async () => {
    if (PACKAGE_MARKS.some((mark) => existsSync(mark)) && (await answersWithin(PACKAGE_START_S))) return;
    if (existsSync('/run/systemd/system')) {
      await run('systemctl', ['start', 'docker']);
      if (await answersWithin(START_WITHIN_S)) return;
    } else if (await startDaemon()) return;
    throw new Unavailable(
      `dockerd was started and did not answer at ${engineAddress()} within ${START_WITHIN_S} s.\n${logTail()}`,
    );
  });
}

/** A kernel without NAT cannot give containers a network; verification needs none, so the daemon goes without. */
async function startDaemon() {
  const daemon = spawnDaemon([]);
  if (await answersWithin(START_WITHIN_S, daemon)) return true;
  if (daemon.exitCode === null || !/iptables|nf_tables/.test(logTail())) return false;
  return answersWithin(START_WITHIN_S, spawnDaemon(['--iptables=false', '--ip6tables=false']));
}

function spawnDaemon(args) {
  mkdirSync('/var/log', { recursive: true });
  const log = openSync(LOG, 'a');
  const daemon = spawn('dockerd', args, { detached: true, stdio: ['ignore', log, log], cwd: '/' });
  daemon.on('error', () => undefined);
  daemon.unref();
  return daemon;
}

async function answersWithin(seconds, daemon) {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) {
    if ((await engineFault()) === undefined) return true;
    if (daemon && (daemon.exitCode !== null || daemon.pid === undefined)) return false;
    await sleep(250);
  }
  return false;
}

function logTail() {
  return existsSync(LOG) ? `The end of ${LOG}:\n${readFileSync(LOG, 'utf8').slice(-1500)}` : '';
}
