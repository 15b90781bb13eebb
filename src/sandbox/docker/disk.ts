import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { engineCall } from './engine.js';

/** Between two looks at the writable layer; what is written in between is the overshoot. */
const DISK_POLL_MS = 500;
/** An ext4 file system has one inode for every 16 KiB (mke2fs.conf, `inode_ratio`), so an entry uses up that much room. */
const BYTES_PER_ENTRY = 16_384;
/** Sizes that take longer than this to add up come from very many files, maybe empty ones. */
const SLOW_MS = 250;
const KIND = '"Kind":';

/** Bytes in the container's writable layer; memory file systems do not count. */
export async function layerBytes(container: Docker.Container): Promise<number> {
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
export async function outgrows(container: Docker.Container, bound: number, stop: AbortSignal): Promise<boolean> {
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
