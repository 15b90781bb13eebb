import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BadInputError } from '../../core/errors.js';

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

/** In the folder of a run of ours its candidates stand for themselves. */
function unrepeated(names: string[]): string[] {
  const isRun = ['run.json', 'verdicts.jsonl', 'candidates.jsonl'].every((name) => names.includes(name));
  return isRun ? names.filter((name) => !BESIDE_CANDIDATES.has(name)) : names;
}
