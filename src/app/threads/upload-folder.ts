import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { BadInputError } from '../../core/errors/errors.js';
import { type Level, MachineLowError } from '../../core/errors/unavailable.js';
import { rawLines } from '../../io/records/records.js';
import { unpacked } from '../../io/saved-runs/saved-files.js';
import { SavedLine } from '../../io/saved-runs/saved-records.js';
import type { ReadBounds } from '../../io/saved-runs/saved-run.js';
import type { HostResources } from '../../ports/sandbox.js';
import { isRunning } from '../../core/async/concurrency.js';

const OF_ANY_MACHINE = 'bestk-upload-';
const OF_THIS_MACHINE = `${OF_ANY_MACHINE}${hostname()}-`;
/** Longer than any upload takes. */
const DAY_MS = 86_400_000;

const LOOK_EVERY_MS = 1_000;
/** Reported on ENOSPC: uploads may fill the disk between two checks. */
const FULL: Level = { resource: 'uploads', place: tmpdir(), freeBytes: 0, floorBytes: 0 };
/** The place of what is wrong in an upload. */
export const BODY = { field: 'body' };
/** Rejected records that an answer names, and characters of each reason. */
export const NAMED = 20;
export const LONGEST_REASON = 1_000;

/** A request body that is being received. */
export interface Received {
  readonly upload: AsyncIterable<Uint8Array>;
  /** Whether it is compressed; it is stored as it arrives. */
  readonly gzip: boolean;
  /** Maximum size in bytes. */
  readonly largest: number;
  readonly room: HostResources;
}

/**
 * Writes an upload to a file in a temporary folder, and processes it there; the folder is removed afterwards. The `stop` signal
 * aborts when the machine runs out of space, or the client has disconnected.
 * @throws what the work throws, MachineLowError, the reason of `left`, BadInputError for an upload that is too large
 */
export async function withUpload<Made>(
  received: Received,
  left: AbortSignal,
  work: (file: string, folder: string, stop: AbortSignal) => Promise<Made>,
): Promise<Made> {
  const requireRoom = async (): Promise<void> => {
    const low = await received.room.shortage(['uploads', 'store']);
    if (low !== null) throw low;
  };
  await requireRoom();
  const folder = await makeUploadFolder();
  const full = new AbortController();
  const look = setInterval(() => {
    requireRoom().catch((error: unknown) => {
      full.abort(error);
    });
  }, LOOK_EVERY_MS);
  try {
    const file = join(folder, received.gzip ? 'upload.jsonl.gz' : 'upload.jsonl');
    await pipeline(limited(received, full.signal), createWriteStream(file, { mode: 0o600 }));
    return await work(file, folder, AbortSignal.any([left, full.signal]));
  } catch (error) {
    throw (error as { code?: unknown } | null)?.code === 'ENOSPC' ? new MachineLowError(FULL) : error;
  } finally {
    clearInterval(look);
    await rm(folder, { recursive: true, force: true });
  }
}

async function* limited({ upload, largest }: Received, full: AbortSignal): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of upload) {
    full.throwIfAborted();
    size += chunk.length;
    if (size > largest) throw new BadInputError(`is larger than ${largest / 1024 ** 3} GiB; send it in parts.`, BODY);
    yield chunk;
  }
}

/**
 * The content of a stored upload, decompressed while it is read.
 * @param most limit of the decompressed bytes
 * @throws BadInputError for a damaged archive, or a larger one
 */
export async function* readUpload(file: string, most: number): AsyncGenerator<Uint8Array> {
  try {
    yield* unpacked(file, most);
  } catch (error) {
    throw new BadInputError(`cannot be unpacked: ${(error as Error).message}`, BODY);
  }
}

/** A line of an upload: its text, and the value that it says as JSON. */
export interface UploadedLine {
  readonly text: string;
  readonly value: unknown;
  readonly line: number;
}

/**
 * Reads the lines of an upload that are not blank, one at a time.
 * @param instead what to do with more lines than `bounds` allows
 * @throws BadInputError naming the line
 */
export async function* uploadedLines(
  source: AsyncIterable<Uint8Array>,
  bounds: ReadBounds,
  instead = 'send it in parts',
): AsyncGenerator<UploadedLine> {
  for await (const raw of rawLines(source, bounds.line)) {
    const at = { ...BODY, line: raw.line };
    if (raw.line > bounds.lines) throw new BadInputError(`has more than ${bounds.lines} lines; ${instead}.`, at);
    const saved = new SavedLine(raw, bounds);
    if (saved.isBlank) continue;
    const read = saved.read();
    if ('problem' in read) throw new BadInputError(`${read.problem}.`, at);
    yield { text: saved.text ?? '', value: read.value, line: raw.line };
  }
}

/** Creates a folder for one upload; its name contains the machine and process that own it. */
export function makeUploadFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), `${OF_THIS_MACHINE}${process.pid}-`));
}

/**
 * Removes folders, possibly gigabytes, of killed processes: those of this machine at once, those of other machines (removed
 * containers) after a day. Call before the first upload of this process.
 */
export async function removeLeftUploads(): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(OF_ANY_MACHINE));
  // A folder of another user cannot be removed; that is ignored.
  await Promise.allSettled(names.map((name) => removeLeft(name)));
}

async function removeLeft(name: string): Promise<void> {
  const path = join(tmpdir(), name);
  const owner = ownerOf(name);
  // In a container, a restarted service has the same process id as before.
  const isLeft =
    owner === null ? Date.now() - (await stat(path)).mtimeMs > DAY_MS : owner === process.pid || !isRunning(owner);
  if (isLeft) await rm(path, { recursive: true });
}

/** The owner's process id; null = a process of another machine. */
function ownerOf(name: string): number | null {
  if (!name.startsWith(OF_THIS_MACHINE)) return null;
  const [, pid] = /^(\d+)-\w+$/.exec(name.slice(OF_THIS_MACHINE.length)) ?? [];
  return pid === undefined ? null : Number(pid);
}
