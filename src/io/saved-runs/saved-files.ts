import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, type Readable, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Decompress } from 'fzstd';
import { BadInputError } from '../../core/errors/errors.js';

/** What may hold saved runs; which format it is, the content says. */
const READABLE = /\.(jsonl?|ndjson|traj)(\.gz|\.zst)?$/i;

/**
 * The files under paths, folders walked in the order of their names, each once: links are followed, loops are not.
 * A file that is named itself is read whatever its name.
 * @throws BadInputError for a path that is not there
 */
export async function* savedFiles(paths: readonly string[]): AsyncGenerator<string> {
  const seen = new Set<string>();
  for (const path of paths) yield* walk(path, seen, true);
}

/** What a set of runs leaves beside their folders: the same again, and an import that they were made from. */
const SET_FILES = new Set([
  ...['selections.jsonl', 'predictions.jsonl', 'candidates.jsonl', 'scores.jsonl', 'skipped.jsonl', 'imported'],
]);

/** What `solve` leaves beside its candidates.jsonl: the same again in other formats, and what was found out about them. */
const BESIDE_CANDIDATES = new Set([
  'run.json',
  'selection.json',
  'usage.json',
  'verdicts.jsonl',
  'matrix.jsonl',
  'tests.jsonl',
  'trajectories.jsonl',
  'predictions.jsonl',
]);

async function* walk(path: string, seen: Set<string>, named: boolean): AsyncGenerator<string> {
  const info = await stat(path).catch(() => null);
  if (info === null) {
    // A link to nowhere in a folder is nothing to read.
    if (named) throw new BadInputError('does not exist or may not be read.', { file: path });
    return;
  }
  const real = await realpath(path);
  if (seen.has(real)) return;
  seen.add(real);
  if (!info.isDirectory()) {
    if (info.isFile() && (named || READABLE.test(path))) yield path;
    return;
  }
  for (const name of unrepeated(await readdir(path)).sort()) yield* walk(join(path, name), seen, false);
}

/** In the folder of a run of ours its candidates stand for themselves, in that of a set its runs. */
function unrepeated(names: string[]): string[] {
  const isSet = ['selections.jsonl', 'predictions.jsonl', 'skipped.jsonl'].every((name) => names.includes(name));
  if (isSet) return names.filter((name) => !SET_FILES.has(name));
  const isRun = ['run.json', 'verdicts.jsonl', 'candidates.jsonl'].every((name) => names.includes(name));
  return isRun ? names.filter((name) => !BESIDE_CANDIDATES.has(name)) : names;
}

/** A file that grows more than this in unpacking, and beyond a gigabyte, is a bomb and no saved run. */
const MOST_GROWTH = 200;
const HARMLESS = 1024 * 1024 * 1024;
const CHUNK = 1024 * 1024;

/** The file grows without end in unpacking, or beyond what is taken. */
export class UnpackingBomb extends Error {}

/**
 * What a file holds, unpacked when its name ends in `.gz` or `.zst`.
 * @param most bytes of a packed file, unpacked
 * @throws what reading throws, UnpackingBomb, and the unpacker's error for a damaged archive (behind what stands before it)
 */
export async function* unpacked(file: string, most = Infinity): AsyncGenerator<Buffer> {
  const packed = createReadStream(file, { highWaterMark: CHUNK });
  const unpacker = unpackerOf(file);
  if (unpacker === null) {
    for await (const chunk of packed) yield chunk as Buffer;
    return;
  }
  const out = new PassThrough({ highWaterMark: CHUNK });
  const running = pipeline(packed, unpacker, guard(packed, most), out);
  running.catch(() => undefined);
  for await (const chunk of out as Readable) yield chunk as Buffer;
  await running;
}

function unpackerOf(file: string): Transform | null {
  if (file.endsWith('.gz')) return createGunzip({ chunkSize: CHUNK });
  return file.endsWith('.zst') ? zstd() : null;
}

function zstd(): Transform {
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback): void {
      attempt(done, () => {
        decompress.push(chunk);
      });
    },
    flush(done: TransformCallback): void {
      attempt(done, () => {
        decompress.push(new Uint8Array(0), true);
      });
    },
  });
  const decompress = new Decompress((piece) => stream.push(Buffer.from(piece)));
  return stream;
}

function attempt(done: TransformCallback, work: () => void): void {
  try {
    work();
    done();
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)));
  }
}

/** Ends the reading of a file that grows without end, or beyond `most` bytes. */
function guard(packed: { readonly bytesRead: number }, most: number): Transform {
  let size = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done: TransformCallback): void {
      size += chunk.length;
      const isBomb = size > HARMLESS && size > MOST_GROWTH * Math.max(1, packed.bytesRead);
      if (size > most) done(new UnpackingBomb(`it unpacks to more than ${most} bytes`));
      else if (isBomb) done(new UnpackingBomb(`it grows more than ${MOST_GROWTH} times in unpacking`));
      else done(null, chunk);
    },
  });
}
