import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('service-main.mjs', import.meta.url));

/**
 * Starts the service with a played sandbox in a process of its own.
 * @param {{ database: string, home: string, settings?: Record<string, string> }} options
 * @returns {Promise<{ url: string, memory: NodeJS.MemoryUsage[], playFor: (ms: number) => void, stop: () => Promise<void> }>}
 *   `memory` grows by the second; `playFor` says how long a command lasts from now on, 0 at first
 */
export async function startService({ database, home, settings = {} }) {
  const child = fork(MAIN, {
    execArgv: ['--import', './test/run-typescript.mjs', '--no-warnings', ...(process.env.BENCH_NODE?.split(' ') ?? [])],
    env: { PATH: process.env.PATH, HOME: home, DATABASE_URL: database, BESTK_LOG_LEVEL: 'info', ...settings },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  const memory = [];
  const gone = once(child, 'exit');
  const said = [];
  child.on('message', (usage) => memory.push(usage));
  const url = await new Promise((resolve, reject) => {
    createInterface(child.stderr).on('line', (line) => {
      const { url, level } = line.startsWith('{') ? JSON.parse(line) : { level: 50 };
      if (url !== undefined) resolve(url);
      if (level >= 40) said.push(line);
    });
    void gone.then(([code]) => reject(new Error(`the service ended with ${code}: ${said.join('\n')}`)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await gone;
    for (const line of said) console.error(line);
  };
  return { url, memory, playFor: (ms) => writeFileSync(join(home, 'command-ms'), String(ms)), stop };
}
