import { once } from 'node:events';
import { createWriteStream, rmSync } from 'node:fs';
import { mkdtemp, open, readdir, rename, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { BadInputError } from '../../core/errors/errors.js';
import { parquetRows } from '../records/parquet.js';
import type { Located } from '../records/records.js';
import { savedRecords } from '../saved-runs/saved-records.js';

/** One row of a data set and its location. */
export interface DataRow extends Located {
  readonly value: Readonly<Record<string, unknown>>;
  /** Name of its split; null when the files name none. */
  readonly split: string | null;
}

interface DataFile {
  readonly path: string;
  /** Name used in messages. */
  readonly name: string;
  readonly split: string | null;
}

/** A row, or the problem with it. */
type FoundRow = DataRow | BadInputError;

const STDIN = '-';
const READABLE = /\.(parquet|jsonl?|ndjson)(\.(gz|zst))?$/i;
/** Files in a download that contain no rows. */
const NO_ROWS = /^(dataset_infos?|dataset_dict|state|package(-lock)?|tsconfig)\.json$/i;
/** Optionally with a hash, as earlier versions of `datasets` write it. */
const SHARD = /-\d{5}-of-\d{5}(-[0-9a-f]{16})?$/;
const SPLITS = /^(train|dev|test|val|valid|validation|lite|verified|full|filtered)$/i;
const DEEPEST = 4;
/** Split chosen from several when none is requested: the one that results are reported on. */
const DEFAULT_SPLIT = 'test';

/**
 * The files of a data set: one file, a downloaded folder, or standard input (`-`), which is kept in a temporary file
 * until the process ends.
 * @param split of a folder that has several; absent = the only one, or `test`
 * @throws BadInputError for a missing path, a folder without rows, an unknown split
 */
export async function dataFiles(path: string, split?: string): Promise<readonly DataFile[]> {
  if (path === STDIN) return [{ path: await spooled(), name: 'stdin', split: null }];
  const info = await stat(path).catch(() => null);
  if (info === null) throw new BadInputError('does not exist or may not be read.', { file: path });
  if (!info.isDirectory()) return [{ path, name: path, split: split ?? null }];
  const files = await filesBelow(path, DEEPEST);
  if (files.length === 0) {
    throw new BadInputError('contains no data files.', { file: path }, 'Rows are .parquet, .json or .jsonl files.');
  }
  // Without a file that is clearly a split's, as in Multi-SWE-bench's file for each repository, they are one set.
  if (split === undefined && !files.some(isOfSplit)) return files.map((file) => ({ ...file, split: null }));
  return ofSplit(path, files, split);
}

function isOfSplit({ path, split }: DataFile): boolean {
  return SPLITS.test(split ?? '') || SHARD.test(basename(path).replace(READABLE, ''));
}

function ofSplit(folder: string, files: readonly DataFile[], wanted: string | undefined): readonly DataFile[] {
  const splits = [...new Set(files.map(({ split }) => split ?? ''))];
  const chosen = wanted ?? (splits.length === 1 ? splits[0] : DEFAULT_SPLIT);
  const own = files.filter(({ split }) => split === chosen);
  if (own.length > 0) return own;
  const names = splits.join(', ');
  if (wanted === undefined) {
    throw new BadInputError(`has several splits: ${names}.`, { file: folder }, 'Choose one with --split.');
  }
  throw new BadInputError(`has no split "${wanted}".`, { file: folder, field: '--split' }, `It contains: ${names}`);
}

/** If there are parquet files, other files next to them are not rows. */
async function filesBelow(folder: string, depth: number): Promise<readonly DataFile[]> {
  const entries = (await readdir(folder, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1));
  const found: DataFile[] = [];
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (depth > 1) found.push(...(await filesBelow(path, depth - 1)));
    } else if (READABLE.test(entry.name) && !NO_ROWS.test(entry.name)) {
      found.push({ path, name: path, split: splitOf(path) });
    }
  }
  const parquet = found.filter(({ path }) => path.endsWith('.parquet'));
  return parquet.length > 0 ? parquet : found;
}

/** `test-00000-of-00001.parquet`, `test.jsonl` and `test/0000.parquet` belong to the split `test`. */
function splitOf(path: string): string {
  const stem = basename(path).replace(READABLE, '').replace(SHARD, '');
  return /^\d+$/.test(stem) ? basename(dirname(path)) : stem;
}

/**
 * The rows of a file. An unreadable row is yielded as a problem, and reading continues. @throws BadInputError for a
 * damaged parquet file
 */
export async function* dataRows({ path, name, split }: DataFile): AsyncGenerator<FoundRow> {
  if (path.endsWith('.parquet')) {
    let row = 0;
    for await (const value of parquetRows(path)) yield { value, file: name, line: (row += 1), split };
    return;
  }
  for await (const found of savedRecords(path)) {
    if ('record' in found) yield { ...found.record, file: name, split };
    else yield new BadInputError(`${found.damage.reason}.`, { file: name, line: found.damage.line ?? undefined });
  }
}

const MAGIC: readonly (readonly [string, string])[] = [
  ['50415231', '.parquet'],
  ['1f8b', '.jsonl.gz'],
  ['28b52ffd', '.jsonl.zst'],
];

let stdin: Promise<string> | null = null;

/** Standard input as a file, because it is read more than once; its extension follows its content. */
function spooled(): Promise<string> {
  stdin ??= spool(process.stdin);
  return stdin;
}

async function spool(input: AsyncIterable<unknown>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'bestk-stdin-'));
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true });
  });
  const path = join(folder, 'rows');
  const stream = createWriteStream(path, { mode: 0o600 });
  for await (const chunk of input) if (!stream.write(chunk)) await once(stream, 'drain');
  stream.end();
  await once(stream, 'finish');
  const named = `${path}${await extensionOf(path)}`;
  await rename(path, named);
  return named;
}

async function extensionOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    const magic = buffer.toString('hex');
    return MAGIC.find(([start]) => magic.startsWith(start))?.[1] ?? '.jsonl';
  } finally {
    await file.close();
  }
}

/** Templates of image names: one for all repositories, others for specific ones. */
export interface ImageTemplates {
  readonly all: string | null;
  readonly byRepo: ReadonlyMap<string, string>;
}

/**
 * Parses the values of `--image`: `TEMPLATE`, or `OWNER/NAME=TEMPLATE` for one repository.
 * @throws BadInputError for two templates for the same instances, or an unknown placeholder
 */
export function imageTemplates(given: readonly string[]): ImageTemplates | undefined {
  if (given.length === 0) return undefined;
  const byRepo = new Map<string, string>();
  let all: string | null = null;
  for (const each of given) {
    const [, repo, template = each] = /^([^={}]+)=(.*)$/s.exec(each) ?? [];
    requirePlaceholders(template);
    if (repo === undefined ? all !== null : byRepo.has(repo)) {
      throw new BadInputError(`is set twice${repo === undefined ? '' : ` for ${repo}`}.`, { field: '--image' });
    }
    if (repo === undefined) all = template;
    else byRepo.set(repo, template);
  }
  return { all, byRepo };
}

function requirePlaceholders(template: string): void {
  const unknown = template.replaceAll(/\{(instance_id|repo|image_name)\}/g, '').match(/\{[^}]*\}?/)?.[0];
  if (unknown === undefined) return;
  throw new BadInputError(
    `has the unknown placeholder ${unknown}.`,
    { field: '--image' },
    'Known are {instance_id}, {repo} and {image_name}, the name that the row has.',
  );
}

interface Named {
  readonly instance_id: string;
  readonly repo: string | null;
  /** From the row, or by its data set's convention. */
  readonly image: string | null;
}

/** A template, which the user gave, overrides the row. Null when there is neither. */
export function imageOf({ instance_id, repo, image }: Named, templates: ImageTemplates | undefined): string | null {
  const template = (repo === null ? undefined : templates?.byRepo.get(repo)) ?? templates?.all ?? null;
  if (template === null) return image;
  const values: Readonly<Record<string, string>> = { instance_id, repo: repo ?? '', image_name: image ?? '' };
  return lowered(template.replaceAll(/\{(instance_id|repo|image_name)\}/g, (_, name: string) => values[name] ?? ''));
}

/** Lower-cases the image name, in which capitals are not allowed, but not the tag. */
function lowered(reference: string): string {
  const [last = ''] = reference.split('/').slice(-1);
  const tag = /[:@]/.exec(last);
  const end = reference.length - (tag === null ? 0 : last.length - tag.index);
  return `${reference.slice(0, end).toLowerCase()}${reference.slice(end)}`;
}
