// A throw-away PostgreSQL of Debian's packages: its own folder, port and socket, never root's, gone with its folder.
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort, run, Unavailable } from './run.mjs';

const PACKAGES = '/usr/lib/postgresql';
/** Who runs the server where root, whom it refuses, starts it. */
const SERVER_USER = 'postgres';
const STARTS_WITHIN_S = 30;

/** The Debian packages a server needs and this machine lacks. */
export function missingPostgres() {
  return serverFolder() === undefined ? ['postgresql'] : [];
}

/** The folder of the newest server's programs. */
function serverFolder() {
  const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES) : [];
  const folders = versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(PACKAGES, version, 'bin'));
  return folders.find((folder) => existsSync(join(folder, 'initdb')));
}

/**
 * Makes and starts a server with one database, `bestk`, and one user, `bestk`, with a password.
 * @param {object} [options]
 * @param {Record<string, string | number>} [options.settings] of postgresql.conf
 * @param {string} [options.parent] where the server's folder is made
 * @param {Record<string, string>} [options.env] more of the server's environment
 * @returns {Promise<Cluster>}
 * @throws {Unavailable} when PostgreSQL is not installed or does not start
 */
export async function startCluster({ settings = {}, password = 'tested', parent = tmpdir(), env = {} } = {}) {
  const bin = serverFolder();
  if (bin === undefined) throw new Unavailable('PostgreSQL is not installed. Install the Debian package postgresql.');
  const identity = await serverIdentity();
  const folder = mkdtempSync(join(parent, 'bestk-postgres-'));
  chmodSync(folder, 0o755);
  if (identity.uid !== undefined) chownSync(folder, identity.uid, identity.gid);
  const cluster = new Cluster({ bin, folder, identity, port: await freePort(), password, settings, env });
  try {
    await cluster.create();
    return cluster;
  } catch (error) {
    await cluster.destroy();
    throw error;
  }
}

/** One server; `url` names its database. */
export class Cluster {
  #parts;
  #server;

  constructor(parts) {
    this.#parts = parts;
  }

  get url() {
    const { port, password } = this.#parts;
    return `postgresql://bestk:${password}@127.0.0.1:${port}/bestk`;
  }

  get port() {
    return this.#parts.port;
  }

  get folder() {
    return this.#parts.folder;
  }

  get isUp() {
    const server = this.#server;
    return server !== undefined && server.exitCode === null && server.signalCode === null;
  }

  async create() {
    const { bin, folder, identity } = this.#parts;
    const data = join(folder, 'data');
    const options = ['-D', data, '-U', 'admin', '--auth=trust', '--auth-host=scram-sha-256', '--no-sync', '-E', 'UTF8'];
    process.once('exit', () => this.#server?.kill('SIGKILL'));
    await run(join(bin, 'initdb'), options, { ...identity, cwd: folder });
    await this.start();
    await this.sql(`create role bestk login password '${this.#parts.password}'`, 'postgres');
    await this.sql('create database bestk owner bestk', 'postgres');
  }

  /** Starts the server, again too, and waits until it answers. */
  async start() {
    const end = performance.now() + STARTS_WITHIN_S * 1000;
    for (;;) {
      const said = await this.#startOnce(end);
      if (said === null) return;
      // What a killed server leaves goes by itself a moment later.
      if (performance.now() > end || !/still in use|already exists/.test(said)) {
        throw new Unavailable(`PostgreSQL did not start within ${STARTS_WITHIN_S} s.\n${said}`);
      }
      await sleep(200);
    }
  }

  /** @returns null once it answers, or what it said before it ended */
  async #startOnce(end) {
    const { bin, folder, identity, port, settings, env } = this.#parts;
    const all = { fsync: 'off', listen_addresses: '127.0.0.1', unix_socket_directories: folder, ...settings };
    const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = spawn(join(bin, 'postgres'), ['-D', join(folder, 'data'), '-p', String(port), ...options], {
      ...identity,
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#server = server;
    let said = '';
    server.stderr.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-4000)));
    while (performance.now() < end && server.exitCode === null && server.signalCode === null) {
      if (/ready to accept connections/.test(said)) return null;
      await sleep(20);
    }
    return said;
  }

  /** @param {'SIGKILL' | 'SIGINT'} signal SIGINT ends connections and stops; SIGKILL leaves what a crash leaves */
  async stop(signal = 'SIGINT') {
    const server = this.#server;
    if (!this.isUp) return;
    const gone = once(server, 'exit');
    server.kill(signal);
    await gone;
  }

  /** Runs statements as the server's own user, and gives their output. */
  sql(text, database = 'bestk') {
    const { bin, folder, identity, port } = this.#parts;
    const where = ['-h', folder, '-p', String(port), '-U', 'admin', '-d', database];
    return run(join(bin, 'psql'), [...where, '-qAt', '-v', 'ON_ERROR_STOP=1', '-c', text], {
      ...identity,
      cwd: folder,
    });
  }

  async destroy() {
    await this.stop('SIGINT');
    rmSync(this.#parts.folder, { recursive: true, force: true });
  }
}

async function serverIdentity() {
  if (process.getuid?.() !== 0) return {};
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith(`${SERVER_USER}:`));
  if (line === undefined) throw new Unavailable(`There is no user "${SERVER_USER}" to run PostgreSQL as.`);
  const [uid, gid] = line.split(':').slice(2, 4).map(Number);
  return { uid, gid };
}
