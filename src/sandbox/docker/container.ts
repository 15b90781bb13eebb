import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { extract } from 'tar-stream';
import { BadInputError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { Ids, SandboxFile } from '../../ports/sandbox.js';
import type { Container, ExecPlan, Fate, RunningExec } from '../container/container.js';
import { absolutePath, readInside, tarOf, writeInside } from '../container/own-commands.js';
import { MEMORY_MOUNTS } from './container-options.js';
import { engineCall } from './engine.js';
import { startExec } from './exec.js';

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

/** Between two looks at the writable layer; what is written in between is the overshoot. */
const DISK_POLL_MS = 500;
/** An ext4 file system has one inode for every 16 KiB (mke2fs.conf, `inode_ratio`), so an entry uses up that much room. */
const BYTES_PER_ENTRY = 16_384;
/** Sizes that take longer than this to add up come from very many files, maybe empty ones. */
const SLOW_MS = 250;
const KIND = '"Kind":';

/** Bytes in the container's writable layer; memory file systems do not count. */
async function layerBytes(container: Docker.Container): Promise<number> {
  const info = await engineCall({ container: container.id }, (abortSignal) =>
    container.inspect({ size: true, abortSignal } as Docker.ContainerInspectOptions),
  );
  // The client's types know neither the option nor its answer.
  return (info as { SizeRw?: number }).SizeRw ?? 0;
}

/**
 * True once the writable layer is over `bound` bytes, false when told to stop or when the engine does not answer. The
 * engine has no quota on the layer for most file systems, so its size is looked at; RLIMIT_FSIZE bounds a single file.
 */
async function outgrows(container: Docker.Container, bound: number, stop: AbortSignal): Promise<boolean> {
  try {
    for (;;) {
      await sleep(DISK_POLL_MS, undefined, { signal: stop });
      if (await isLayerOver(container, bound)) return !stop.aborted;
    }
  } catch {
    // Whoever waits for the command meets the same trouble and reports it.
    return false;
  }
}

/** Whether the writable layer holds more than `bound` bytes, or as many entries as would fill that much of a disk. */
async function isLayerOver(container: Docker.Container, bound: number): Promise<boolean> {
  const asked = performance.now();
  if ((await layerBytes(container)) > bound) return true;
  if (performance.now() - asked < SLOW_MS) return false;
  const entries = Math.ceil(bound / BYTES_PER_ENTRY);
  return (await countEntries(container, entries)) > entries;
}

/** Changed entries of the layer, counted no further than just past `bound`; the list is never held, it may be huge. */
async function countEntries(container: Docker.Container, bound: number): Promise<number> {
  return engineCall({ container: container.id }, async (abortSignal) => {
    const stream = await dialChanges(container, abortSignal);
    let count = 0;
    let rest = '';
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      // A quote inside a path is escaped, so that no path can look like a key.
      const parts = (rest + chunk.toString('latin1')).split(KIND);
      count += parts.length - 1;
      if (count > bound) break;
      rest = (parts.at(-1) ?? '').slice(-KIND.length);
    }
    return count;
  });
}

/** `container.changes()` would collect the whole answer in memory. */
async function dialChanges(container: Docker.Container, abortSignal: AbortSignal): Promise<Readable> {
  const modem = container.modem as {
    dial: (options: object, done: (error: unknown, stream: Readable) => void) => void;
  };
  const path = `/containers/${container.id}/changes`;
  const statusCodes = { 200: true, 404: 'no such container', 500: 'server error' };
  return new Promise((resolve, reject) => {
    modem.dial({ path, method: 'GET', isStream: true, abortSignal, statusCodes }, (error, stream) => {
      if (error instanceof Error) reject(error);
      else resolve(stream);
    });
  });
}

/**
 * The engine's archive calls work on the container's layers from outside: they need no program of the image and cannot be
 * lied to by what runs inside, but do not see memory mounts. Paths below those go through `tar` and `head` in the container
 * (sandbox-files.ts), so evidence that must not be forged belongs anywhere but below them.
 */
function isInMemory(path: string): boolean {
  return MEMORY_MOUNTS.some((mount) => path === mount || path.startsWith(`${mount}/`));
}

/** Unpacks a tar at the root; makes parents, replaces what is in the way. @throws BadInputError when a parent is a file. */
async function putTar(container: Docker.Container, tar: Buffer): Promise<void> {
  try {
    await engineCall({ container: container.id }, (abortSignal) =>
      container.putArchive(tar, { path: '/', abortSignal }),
    );
  } catch (error) {
    if (isPathTrouble(error)) throw new BadInputError(`cannot write files: ${error.message}`, {}, undefined);
    throw error;
  }
}

/** First `maxBytes` of the regular file at `path`; null for anything else. */
async function readFromLayer(container: Docker.Container, path: string, maxBytes: number): Promise<Uint8Array | null> {
  try {
    return await engineCall({ container: container.id }, async (abortSignal) => {
      const stream = await container.getArchive({ path, abortSignal });
      return firstFile(Readable.from(stream), maxBytes);
    });
  } catch (error) {
    if (isPathTrouble(error)) return null;
    throw error;
  }
}

async function firstFile(stream: Readable, maxBytes: number): Promise<Uint8Array | null> {
  const reader = extract();
  stream.on('error', (error) => {
    reader.destroy(error);
  });
  stream.pipe(reader);
  try {
    for await (const entry of reader) {
      if (entry.header.type !== 'file') return null;
      const chunks: Buffer[] = [];
      let left = Math.min(maxBytes, entry.header.size);
      for await (const chunk of entry as AsyncIterable<Buffer>) {
        const part = chunk.subarray(0, left);
        chunks.push(part);
        left -= part.length;
        if (left <= 0) return Buffer.concat(chunks);
      }
      if (left > 0) throw new SandboxLostError('the engine broke off while it sent a file');
      return Buffer.concat(chunks);
    }
    return null;
  } finally {
    stream.destroy();
    reader.destroy();
  }
}

/** The engine's complaint about the path itself, as the container's files happen to be; the container is well. */
function isPathTrouble(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return /could not find the file|not a directory|is a directory|too many (levels|links)|file name too long/i.test(
    error.message,
  );
}
