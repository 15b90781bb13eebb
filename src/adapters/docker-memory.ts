import type Docker from 'dockerode';
import { engineCall } from './docker-engine.js';

/** Whether the engine saw a kill for lack of memory in this container in the last `ms`, also after its end. */
export async function hasOomEvent(docker: Docker, id: string, ms: number): Promise<boolean> {
  return engineCall({ container: id }, async (abortSignal) => {
    // By its clock, not by ours: it would wait for an `until` that it has yet to come to.
    const { SystemTime } = (await docker.info()) as { SystemTime: string };
    const now = Math.floor(Date.parse(SystemTime) / 1000);
    // The engine keeps its last few hundred events; `until` a little ahead leaves room for one that is still under way.
    const stream = await docker.getEvents({
      since: now - Math.ceil(ms / 1000) - 1,
      until: now + 1,
      filters: { container: [id], event: ['oom'] },
      abortSignal,
    });
    for await (const event of stream) return event.length > 0;
    return false;
  });
}
