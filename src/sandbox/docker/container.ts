import { hasOomEvent, engineCall } from './engine.js';
import { Readable, type Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { extract } from 'tar-stream';
import { once } from 'node:events';
import { BadInputError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import { CappedBytes } from '../../core/hostile-text.js';
import type { Ids, SandboxFile } from '../../ports/sandbox.js';
import {
  BYTES_PER_ENTRY,
  type Container,
  type ExecPlan,
  type Fate,
  type RunningExec,
  drained,
  type Listening,
  SYSTEM_PATH,
} from '../container/container.js';
import { absolutePath, readInside, tarOf, writeInside } from '../container/own-commands.js';
import { FrameReader } from './frame-reader.js';

/** Directories that are memory file systems in the container, and thus invisible to the engine's archive calls. */
export const MEMORY_MOUNTS = ['/tmp', '/dev/shm'] as const;

/** Written to test whether the engine has space: larger than what removing a container or two frees on a full disk. */
const ROOM = { path: '/.bestk-room', content: '.'.repeat(1_048_576) };

/** A running container of a Docker engine. */
export class DockerContainer implements Container {
  programs = SYSTEM_PATH;
  #diskBaseline = 0;

  constructor(
    private readonly docker: Docker,
    readonly container: Docker.Container,
    /** User of commands that name none; null = the container's own user. */
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

/** Interval between checks of the writable layer; bounds the overshoot. */
const DISK_POLL_MS = 500;
/** A size that takes longer to compute indicates very many files, which may be empty. */
const SLOW_MS = 250;
const KIND = '"Kind":';

/** Bytes in the container's writable layer; memory file systems do not count. */
async function layerBytes(container: Docker.Container): Promise<number> {
  const info = await engineCall({ container: container.id }, (abortSignal) =>
    container.inspect({ size: true, abortSignal } as Docker.ContainerInspectOptions),
  );
  // The client's types lack both the option and this field.
  return (info as { SizeRw?: number }).SizeRw ?? 0;
}

/**
 * True once the writable layer exceeds `bound` bytes, false when stopped or when the engine does not answer. The engine
 * has no quota on the layer for most file systems, so its size is polled; RLIMIT_FSIZE bounds a single file.
 */
async function outgrows(container: Docker.Container, bound: number, stop: AbortSignal): Promise<boolean> {
  try {
    for (;;) {
      await sleep(DISK_POLL_MS, undefined, { signal: stop });
      if (await isLayerOver(container, bound)) return !stop.aborted;
    }
  } catch {
    // The caller that waits for the command meets the same failure and reports it.
    return false;
  }
}

/** Whether the writable layer exceeds `bound` bytes, or has as many entries as would fill that much of a disk. */
async function isLayerOver(container: Docker.Container, bound: number): Promise<boolean> {
  const asked = performance.now();
  if ((await layerBytes(container)) > bound) return true;
  if (performance.now() - asked < SLOW_MS) return false;
  const entries = Math.ceil(bound / BYTES_PER_ENTRY);
  return (await countEntries(container, entries)) > entries;
}

/** Counts the layer's changed entries until they exceed `bound`; the list may be huge, so it is streamed. */
async function countEntries(container: Docker.Container, bound: number): Promise<number> {
  return engineCall({ container: container.id }, async (abortSignal) => {
    const stream = await dialChanges(container, abortSignal);
    let count = 0;
    let rest = '';
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      // Quotes in paths are escaped, so no path can look like a key.
      const parts = (rest + chunk.toString('latin1')).split(KIND);
      count += parts.length - 1;
      if (count > bound) break;
      rest = (parts.at(-1) ?? '').slice(-KIND.length);
    }
    return count;
  });
}

/** Streams the answer; `container.changes()` would buffer it. */
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
 * The engine's archive calls access the container's layers from outside: they need no program of the image and cannot
 * be deceived by code inside, but do not see memory mounts. Paths below those use `tar` and `head` in the container
 * (own-commands.ts), so evidence that must not be forged belongs elsewhere.
 */
function isInMemory(path: string): boolean {
  return MEMORY_MOUNTS.some((mount) => path === mount || path.startsWith(`${mount}/`));
}

/**
 * Extracts a tar at the root; creates parents, replaces existing entries. @throws BadInputError when a parent is a
 * file.
 */
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

/** An error of the engine about the path, caused by files in the container; the container itself is fine. */
function isPathTrouble(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return /could not find the file|not a directory|is a directory|too many (levels|links)|file name too long/i.test(
    error.message,
  );
}

/** How often a running command is polled; the end of its stream is noticed at once. */
const POLL_MS = 500;
/** How long the engine may take to report the exit code of a command whose streams have ended. */
const CODE_MS = 10_000;

type Kept = Pick<RunningExec, 'stdout' | 'stderr'>;

/**
 * Starts a command in a running container. The engine cannot kill it, nor, after a lost connection, tell a broken
 * stream from a finished one: only the exec's own state counts as an end, and to kill it the caller removes the
 * container.
 * @param usual user of commands that name none; null = the container's own user
 * @throws SandboxLostError, EngineUnavailableError, EngineDiskFullError
 */
export async function startExec(
  container: Docker.Container,
  usual: string | null,
  plan: ExecPlan,
): Promise<RunningExec> {
  const user = plan.user === undefined ? usual : `${plan.user.uid}:${plan.user.gid}`;
  const subject = { container: container.id };
  const stdin = plan.stdin !== undefined;
  const exec = await engineCall(subject, (abortSignal) =>
    container.exec({
      Cmd: [...plan.argv],
      AttachStdin: stdin,
      AttachStdout: true,
      AttachStderr: true,
      ...(user !== null && { User: user }),
      ...(plan.env && { Env: Object.entries(plan.env).map(([name, value]) => `${name}=${value}`) }),
      abortSignal,
    }),
  );
  const stream = await engineCall(subject, (abortSignal) => exec.start({ hijack: true, stdin, abortSignal }));
  const listening = listen(stream, plan);
  if (plan.stdin !== undefined) stream.end(plan.stdin);
  return {
    stdout: listening.stdout,
    stderr: listening.stderr,
    exit: waitForExit(exec, listening, subject),
    stop: () => stream.destroy(),
  };
}

function listen(stream: Duplex, { outputBytes, onStdout, tapStderr, onExit }: ExecPlan): Listening & Kept {
  const stdout = new CappedBytes(outputBytes);
  const stderr = new CappedBytes(outputBytes);
  const frames = new FrameReader(
    (chunk) => {
      stdout.push(chunk);
      onStdout?.(chunk);
    },
    (chunk) => {
      stderr.push(tapStderr === undefined ? chunk : tapStderr(chunk));
    },
  );
  let lastByteAt = performance.now();
  stream.on('data', (chunk: Buffer) => {
    lastByteAt = performance.now();
    frames.push(chunk);
  });
  // An error here (a command that closes stdin early, a broken connection) is not an end: the exec's state decides.
  stream.on('error', () => undefined);
  const ended = Promise.race([once(stream, 'end'), once(stream, 'close')]).catch(() => undefined);
  const isEnded = (): boolean => stream.readableEnded || stream.destroyed;
  return { stdout, stderr, ended, isEnded, lastByteAt: () => lastByteAt, onExit };
}

async function waitForExit(exec: Docker.Exec, listening: Listening, subject: { container: string }): Promise<number> {
  let pause = 0;
  for (let endedMs = 0; endedMs < CODE_MS;) {
    const isEnded = listening.isEnded();
    await (isEnded ? sleep(pause) : Promise.race([listening.ended, sleep(POLL_MS)]));
    const { Running, ExitCode } = await engineCall(subject, (abortSignal) => exec.inspect({ abortSignal }));
    if (!Running && ExitCode !== null) {
      await drained(listening);
      return ExitCode;
    }
    // A command may close its streams and continue; a finished one without an exit code is awaited for a limited time.
    if (!Running) endedMs += pause;
    if (isEnded) pause = Math.min(pause * 2 + 1, POLL_MS);
  }
  throw new SandboxLostError('the engine does not know how the command ended');
}
