import { createReadStream, existsSync, statSync } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Duplex, PassThrough, type Readable, Transform, type TransformCallback } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Decompress } from 'fzstd';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { sha256 } from '../../core/identifier.js';
import { parseRecord, readRecords } from '../records/records.js';
import { UnpackingBomb, ZstdFrames } from './zstd-frames.js';

/** Files that may hold saved runs; the format is determined by content. */
const READABLE = /\.((jsonl?|ndjson|traj)(\.gz|\.zst)?|parquet)$/i;

/**
 * The files under paths, each once; folders are walked in name order, and links followed without looping. A file that
 * is named directly is read regardless of its extension.
 * @throws BadInputError for a missing path
 */
export async function* savedFiles(paths: readonly string[]): AsyncGenerator<string> {
  const seen = new Set<string>();
  for (const path of paths) yield* walk(path, seen, true);
}

/** What a set of runs leaves next to their folders: copies of their data, and the import they were made from. */
const SET_FILES = new Set([
  ...['selections.jsonl', 'predictions.jsonl', 'candidates.jsonl', 'scores.jsonl', 'skipped.jsonl', 'imported'],
]);

/** Files that `solve` and `rescore` of one instance leave next to candidates.jsonl: the same data in other formats, and results. */
const BESIDE_CANDIDATES = new Set(
  [
    'run.json',
    'selection.json',
    'usage.json',
    'verdicts.jsonl',
    'matrix.jsonl',
    'tests.jsonl',
    'trajectories.jsonl',
    ...SET_FILES,
  ].filter((name) => name !== 'candidates.jsonl'),
);

async function* walk(path: string, seen: Set<string>, named: boolean): AsyncGenerator<string> {
  const info = await stat(path).catch(() => null);
  if (info === null) {
    // A dangling link inside a folder is ignored.
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
  for (const name of (await unrepeated(path)).sort()) yield* walk(join(path, name), seen, false);
}

/**
 * Files that repeat others of their folder, or are read with them: OpenHands' predictions with altered patches, the choice of
 * Agentless among its K, and the summaries and continuations of Terminus 2.
 */
const PARTS_OF: readonly (readonly [part: RegExp, of: RegExp])[] = [
  [/^output\.swebench\.jsonl$/, /^output\.jsonl$/],
  [/^all_preds\.jsonl$/, /^output_\d+_processed\.jsonl$/],
  [/^trajectory\.(summarization|cont)-.*\.json$/, /^trajectory\.json$/],
];

/** In the folder of one of bestk's runs only the candidates are read, in that of a set only its runs. */
async function unrepeated(folder: string): Promise<string[]> {
  const all = await readdir(folder);
  const present = PARTS_OF.filter(([, of]) => all.some((name) => of.test(name)));
  const names = all.filter((name) => !present.some(([part]) => part.test(name)));
  const isRun = ['run.json', 'verdicts.jsonl', 'candidates.jsonl'].every((name) => names.includes(name));
  const isSet = ['selections.jsonl', 'predictions.jsonl', 'skipped.jsonl'].every((name) => names.includes(name));
  if (!isRun && !isSet) return names;
  const [others, runs] = isRun ? [BESIDE_CANDIDATES, []] : [SET_FILES, await runsOfSet(folder)];
  const isEarlier = (path: string): boolean => existsSync(join(path, 'run.json')) && !runs.includes(path);
  return names.filter((name) => !others.has(name) && !isEarlier(join(folder, name)));
}

const SelectionLine = z.object({ instance_id: z.string() });

/**
 * Folders of the runs that a set's `selections.jsonl` names, sorted; the folder may have runs of earlier commands, too.
 * @throws BadInputError for a damaged file
 */
export async function runsOfSet(folder: string): Promise<readonly string[]> {
  const file = join(folder, 'selections.jsonl');
  const found = new Set<string>();
  if (statSync(file).size === 0) return [];
  for await (const record of readRecords(file)) {
    const own = runOfSet(folder, parseRecord(SelectionLine, record).instance_id);
    if (own !== undefined) found.add(own);
  }
  return [...found].sort();
}

/** The folder of an instance's run in that of a set, as named now or by earlier versions. */
export function runOfSet(folder: string, instanceId: string): string | undefined {
  const names = [folderName(instanceId), plainName(instanceId)].map((name) => join(folder, name));
  return names.find((each) => existsSync(join(each, 'run.json')));
}

/** Whether a set's run, in a folder as named by earlier versions, has been written again. */
export function isReplaced(run: string, instanceId: string): boolean {
  const own = join(dirname(run), folderName(instanceId));
  return own !== run && existsSync(join(own, 'run.json'));
}

/** Ids may contain any characters, folder names may not: ids that differ must not become one name. */
export function folderName(instanceId: string): string {
  const name = plainName(instanceId);
  if (name === instanceId) return name;
  return `${name}-${sha256(instanceId).slice(0, 8)}`;
}

function plainName(instanceId: string): string {
  return instanceId
    .replace(/[^\w.@-]+/g, '_')
    .replace(/^\.+/, '_')
    .slice(0, 150);
}

/** A file beyond a gigabyte that unpacks to more than this many times its size is a decompression bomb. */
const MOST_GROWTH = 200;
const HARMLESS = 1024 * 1024 * 1024;
const CHUNK = 1024 * 1024;
/** Bytes of a Zstandard stream that are unpacked at once. */
const PIECE = 1024;

/**
 * A file's content, unpacked if its name ends in `.gz` or `.zst`.
 * @param most limit of the unpacked bytes of a packed file
 * @throws read errors, UnpackingBomb, and the unpacker's error for a damaged archive (after yielding what precedes the
 * damage)
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

function unpackerOf(file: string): Duplex | null {
  if (file.endsWith('.gz')) return createGunzip({ chunkSize: CHUNK });
  return file.endsWith('.zst') ? Duplex.from(unpackZstd) : null;
}

/** In small pieces: all blocks of a piece are unpacked at once, and four bytes may be a block of 128 kB. */
async function* unpackZstd(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const frames = new ZstdFrames();
  let [unpacked, blocks] = [0, [] as Buffer[]];
  const decompress = new Decompress((block) => {
    unpacked += block.length;
    blocks.push(Buffer.from(block));
  });
  const push = function* (piece: Buffer, isLast: boolean): Generator<Buffer> {
    blocks = [];
    try {
      frames.take(piece);
      frames.requireWorth(unpacked);
      decompress.push(piece, isLast);
    } finally {
      // What precedes damage is sound.
      yield* blocks;
    }
  };
  for await (const chunk of packed) {
    for (let start = 0; start < chunk.length; start += PIECE) yield* push(chunk.subarray(start, start + PIECE), false);
  }
  yield* push(Buffer.alloc(0), true);
}

/** Stops reading a decompression bomb, or a file beyond `most` unpacked bytes. */
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
