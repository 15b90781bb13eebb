import { spawn } from 'node:child_process';
import { createServer } from 'node:net';

/** What the machine lacks and this program may not or cannot supply: the message says what was tried and what to do. */
export class Unavailable extends Error {}

/** A command that did not exit with 0. */
export class CommandFailed extends Error {}

const TAIL_CHARS = 4000;

/**
 * Runs a command without a terminal or stdin and keeps its output to itself, unless it fails.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<string>} its standard output
 * @throws {CommandFailed} with the end of its output
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let stdout = '';
    let tail = '';
    const keep = (chunk) => (tail = (tail + chunk).slice(-TAIL_CHARS));
    child.stdout.setEncoding('utf8').on('data', (chunk) => ((stdout += chunk), keep(chunk)));
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', (error) => reject(new CommandFailed(`${command}: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (code === 0) resolve(stdout);
      else reject(new CommandFailed(`${command} ${args.join(' ')}: ${signal ?? `exit ${code}`}\n${tail.trim()}`));
    });
  });
}

/** Tells on stderr what is being done and how long it took. */
export async function step(name, action) {
  const started = performance.now();
  console.error(`set-up: ${name} …`);
  const result = await action();
  console.error(`set-up: ${name}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return result;
}

/** A port of this machine that nobody listens on. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
