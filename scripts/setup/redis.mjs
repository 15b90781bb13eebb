// A throw-away Redis of Debian's package: its own folder and port, gone with it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasProgram } from './debian.mjs';
import { freePort, Unavailable } from './run.mjs';

const STARTS_WITHIN_S = 20;

/** The Debian packages that a Redis needs and this machine lacks. */
export function missingRedis() {
  return hasProgram('redis-server') ? [] : ['redis-server'];
}

/**
 * Starts a server that asks for a password.
 * @throws {Unavailable} when Redis is not installed or does not start
 */
export async function startRedis({ password = 'tested' } = {}) {
  if (!hasProgram('redis-server'))
    throw new Unavailable('Redis is not installed. Install the Debian package redis-server.');
  const redis = new Redis(mkdtempSync(join(tmpdir(), 'bestk-redis-')), await freePort(), password);
  await redis.start();
  return redis;
}

class Redis {
  #folder;
  #password;
  #server;

  constructor(folder, port, password) {
    this.#folder = folder;
    this.#password = password;
    this.port = port;
  }

  get url() {
    return `redis://:${this.#password}@127.0.0.1:${this.port}`;
  }

  /** Starts the server, again too, with what it had written, and waits until it answers. */
  async start() {
    const place = ['--dir', this.#folder, '--port', String(this.port), '--bind', '127.0.0.1'];
    const options = [...place, '--requirepass', this.#password, '--appendonly', 'yes', '--save', ''];
    const server = spawn('redis-server', options, { stdio: ['ignore', 'pipe', 'ignore'] });
    this.#server = server;
    process.once('exit', () => server.kill('SIGKILL'));
    let said = '';
    server.stdout.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-4000)));
    const end = performance.now() + STARTS_WITHIN_S * 1000;
    while (!/Ready to accept connections/.test(said)) {
      if (performance.now() > end || server.exitCode !== null) throw new Unavailable(`Redis did not start.\n${said}`);
      await sleep(20);
    }
  }

  /** @param {NodeJS.Signals} signal */
  async stop(signal = 'SIGTERM') {
    if (this.#server.exitCode !== null || this.#server.signalCode !== null) return;
    const gone = once(this.#server, 'exit');
    this.#server.kill(signal);
    await gone;
  }

  async destroy() {
    await this.stop('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
