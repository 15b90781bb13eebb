import type Docker from 'dockerode';
import { OOM_KILLS } from './docker-command.js';
import { engineCall } from './docker-engine.js';
import { runPlain } from './docker-run-plain.js';

const READ_TIMEOUT_MS = 5_000;

/**
 * Whether the kernel killed something in the container for lack of memory since `before`. The counter in the container's
 * own cgroup is exact but needs a free process slot and a living container; failing that, the engine's `oom` events since
 * `sinceMs` (unix time) are asked, which survive the container.
 */
export async function ranOutOfMemory(
  docker: Docker,
  container: Docker.Container,
  before: number | null,
  sinceMs: number,
): Promise<boolean> {
  const now = await readOomKills(container).catch(() => null);
  if (now !== null && before !== null) return now > before;
  return hasOomEvent(docker, container.id, sinceMs);
}

async function readOomKills(container: Docker.Container): Promise<number | null> {
  const argv = ['/bin/sh', '-c', `${OOM_KILLS}printf '%s\\n' "$n"`];
  const { exitCode, stdout } = await runPlain(container, { argv, timeoutMs: READ_TIMEOUT_MS });
  const text = stdout.toString('latin1').trim();
  return exitCode === 0 && /^\d+$/.test(text) ? Number(text) : null;
}

/** The engine keeps its last few hundred events; `until` a little ahead leaves room for one that is still under way. */
async function hasOomEvent(docker: Docker, id: string, sinceMs: number): Promise<boolean> {
  return engineCall({ container: id }, async (abortSignal) => {
    const stream = await docker.getEvents({
      since: Math.floor(sinceMs / 1000) - 1,
      until: Math.floor(Date.now() / 1000) + 1,
      filters: { container: [id], event: ['oom'] },
      abortSignal,
    });
    for await (const event of stream) return event.length > 0;
    return false;
  });
}
