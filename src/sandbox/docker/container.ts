import type Docker from 'dockerode';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { Ids, SandboxFile } from '../../ports/sandbox.js';
import type { Container, ExecPlan, Fate, RunningExec } from '../container/container.js';
import { absolutePath, readInside, tarOf, writeInside } from '../container/files.js';
import { layerBytes, outgrows } from './disk.js';
import { engineCall } from './engine.js';
import { startExec } from './exec.js';
import { isInMemory, putTar, readFromLayer } from './files.js';

/** Written to see whether the engine has room for it: more than a full disk has when a container or two were removed. */
const ROOM = { path: '/.bestk-room', content: '.'.repeat(1_048_576) };

/** A running container of a Docker engine. */
export class DockerContainer implements Container {
  #diskBaseline = 0;

  constructor(
    private readonly docker: Docker,
    readonly container: Docker.Container,
    /** Who commands run as that name nobody; null = the container's own user. */
    private readonly user: string | null,
    readonly remove: () => Promise<void>,
  ) {}

  start(plan: ExecPlan): Promise<RunningExec> {
    return startExec(this.container, this.user, plan);
  }

  async write(files: readonly SandboxFile[], ids: Ids, signal: AbortSignal): Promise<void> {
    const inMemory = files.filter(({ path }) => isInMemory(absolutePath(path)));
    const inLayer = files.filter(({ path }) => !isInMemory(absolutePath(path)));
    if (inLayer.length > 0) await putTar(this.container, await tarOf(inLayer, ids));
    if (inMemory.length > 0) await writeInside(this, inMemory, ids, signal);
  }

  async read(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    const normal = absolutePath(path);
    if (!isInMemory(normal)) return readFromLayer(this.container, normal, maxBytes);
    return readInside(this, normal, maxBytes, signal);
  }

  async setDiskBaseline(): Promise<void> {
    this.#diskBaseline = await layerBytes(this.container);
  }

  fillsDisk(bytes: number, stop: AbortSignal): Promise<boolean> {
    return outgrows(this.container, this.#diskBaseline + bytes, stop);
  }

  async fate(sinceMs: number): Promise<Fate | null> {
    return (await hasOomEvent(this.docker, this.container.id, performance.now() - sinceMs)) ? 'out-of-memory' : null;
  }

  async assertAlive(): Promise<void> {
    const { container } = this;
    const { State } = await engineCall({ container: container.id }, (abortSignal) =>
      container.inspect({ abortSignal }),
    );
    if (!State.Running) throw new SandboxLostError('its container ended');
  }

  async assertRoom(): Promise<void> {
    await putTar(this.container, await tarOf([ROOM], { uid: 0, gid: 0 }));
  }
}

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
