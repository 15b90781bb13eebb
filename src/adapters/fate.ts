import { OOM_KILLS } from './command-line.js';
import type { Container, Fate } from './container.js';
import { runPlain } from './run-plain.js';

const READ_TIMEOUT_MS = 5_000;

/**
 * What killed a command, if it was its own use of memory or disk. The counter of kills in the container's own cgroup (more
 * than `before`) is exact but needs a free process slot and a living container; failing that, the engine is asked what it
 * saw since `sinceMs` (of performance.now()).
 */
export async function fateOf(container: Container, before: number | null, sinceMs: number): Promise<Fate | null> {
  const now = await readOomKills(container).catch(() => null);
  if (now !== null && before !== null) return now > before ? 'out-of-memory' : null;
  return container.fate(sinceMs);
}

async function readOomKills(container: Container): Promise<number | null> {
  const argv = ['/bin/sh', '-c', `${OOM_KILLS}printf '%s\\n' "$n"`];
  const { exitCode, stdout } = await runPlain(container, { argv, timeoutMs: READ_TIMEOUT_MS });
  const text = stdout.toString('latin1').trim();
  return exitCode === 0 && /^\d+$/.test(text) ? Number(text) : null;
}
