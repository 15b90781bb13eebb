import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { z } from 'zod';
import { isTooDeep, type JsonShape, shapeOf, TOO_DEEP } from '../../core/json.js';
import { BadInputError } from '../../core/errors/errors.js';
import { parquetRows } from '../records/parquet.js';
import { flawOf, type Parsed, parseJson, type RawLine, rawLines, tryParse, parseRecord } from '../records/records.js';
import { unpacked } from './saved-files.js';
import {
  inMegabytes,
  LOCAL_BOUNDS,
  type Origin,
  type ReadBounds,
  type SavedRecord,
  type SavedRun,
  tooManyValues,
} from './saved-run.js';

/** An unreadable place in a file, and why; the rest of the file is still read. */
export interface Damage {
  readonly file: string;
  readonly line: number | null;
  readonly byte: number | null;
  readonly reason: string;
}

export type Found = { readonly record: SavedRecord } | { readonly damage: Damage };

/**
 * The records of one file: lines of JSONL, or the members of one document. Damaged lines are reported and skipped. The
 * first line decides: if it is not JSON by itself, the file is tried as one document.
 */
export async function* savedRecords(file: string, bounds = LOCAL_BOUNDS): AsyncGenerator<Found> {
  if (file.endsWith('.parquet')) {
    yield* parquetRecords(file);
    return;
  }
  const beside = await filesBeside(file, bounds);
  if (typeof beside === 'string') {
    yield { damage: { file, line: null, byte: null, reason: beside } };
    return;
  }
  const document = new DocumentSoFar(bounds);
  try {
    for await (const raw of rawLines(unpacked(file, bounds.total), bounds.line)) {
      if (raw.line > bounds.lines) throw new Error(`it has more than ${bounds.lines} lines; ${bounds.next}`);
      const line = new SavedLine(raw, bounds);
      if (line.isBlank) continue;
      for (const each of document.take(line)) yield* recordsOf({ file, beside }, each);
      if (document.isLost) break;
    }
  } catch (error) {
    yield { damage: { file, line: null, byte: null, reason: `cannot be read further: ${(error as Error).message}` } };
  }
  yield* documentOf({ file, beside }, document);
}

async function* parquetRecords(file: string): AsyncGenerator<Found> {
  let line = 0;
  try {
    for await (const value of parquetRows(file)) yield { record: { file, line: (line += 1), value } };
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    yield { damage: { file, line: null, byte: null, reason: error.message } };
  }
}

interface Place {
  readonly file: string;
  readonly beside: SavedRecord['beside'];
  readonly line?: number;
  readonly byte?: number;
}

function* recordsOf(place: Place, saved: SavedLine): Generator<Found> {
  const { line, byte } = saved;
  const read = saved.read();
  if ('problem' in read) yield { damage: { file: place.file, line, byte, reason: read.problem } };
  else yield* spread(read.value, { ...place, line, byte });
}

function* documentOf(place: Place, document: DocumentSoFar): Generator<Found> {
  const end = document.end();
  if (end === null) return;
  if ('value' in end) yield* spread(end.value, place);
  else if ('records' in end) for (const each of end.records) yield* recordsOf(place, each);
  else yield { damage: { file: place.file, line: end.line, byte: end.byte, reason: end.problem } };
}

/** A list's elements, the members of an object keyed by id, or the value itself. */
function* spread(value: unknown, { file, beside, line, byte }: Place): Generator<Found> {
  const at = { file, ...(line === undefined ? {} : { line }), ...(beside === undefined ? {} : { beside }) };
  const damage = (reason: string): Found => ({ damage: { file, line: line ?? null, byte: byte ?? null, reason } });
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      yield isRow(element) ? { record: { ...at, index, value: element } } : damage(`element ${index} is not an object`);
    }
  } else if (!isRow(value)) {
    yield damage('is not an object');
  } else if (isFiledById(value)) {
    for (const [key, member] of Object.entries(value)) yield { record: { ...at, key, value: member } };
  } else {
    yield { record: { ...at, value } };
  }
}

type Row = Record<string, unknown>;

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `preds.json` and harness reports are keyed by instance id. */
function isFiledById(value: Row): value is Record<string, Row> {
  const members = Object.values(value);
  return (
    members.length > 0 && members.every((member) => isRow(member) && ('model_patch' in member || 'resolved' in member))
  );
}

const CONTINUATION = /^trajectory\.cont-\d+\.json$/;

/**
 * The other files of a trial's folder that belong to `agent/trajectory.json`, and the patch of a harness report; or why they
 * cannot be read.
 */
async function filesBeside(file: string, bounds: ReadBounds): Promise<SavedRecord['beside'] | string> {
  if (basename(file) === 'report.json') return read(dirname(file), ['patch.diff'], bounds);
  if (!file.endsWith('agent/trajectory.json')) return undefined;
  const names = await readdir(dirname(file)).catch(() => []);
  const continued = names.filter((name) => CONTINUATION.test(name));
  continued.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const trial = ['result.json', 'artifacts/model.patch', 'verifier/reward.txt', 'verifier/reward.json'];
  return read(dirname(file), [...trial.map((each) => join('..', each)), ...continued], bounds);
}

async function read(
  folder: string,
  paths: readonly string[],
  { document, next }: ReadBounds,
): Promise<ReadonlyMap<string, string> | string> {
  const found = new Map<string, string>();
  for (const path of paths) {
    const size = await stat(join(folder, path)).then(
      (info) => info.size,
      () => 0,
    );
    if (size > document) return `has a ${basename(path)} larger than ${inMegabytes(document)}; ${next}`;
    const text = await readFile(join(folder, path), 'utf8').catch(() => null);
    if (text !== null) found.set(basename(path), text);
  }
  return found;
}

/** Outcome for the lines that were buffered as a document. */
type Document =
  | { readonly value: unknown }
  /** Records after all, the first of which is truncated. */
  | { readonly records: readonly SavedLine[] }
  | { readonly problem: string; readonly line: number | null; readonly byte: number | null };

/** Buffers the lines of a file while they may form one JSON document. */
class DocumentSoFar {
  /** Null: each line is a separate value. */
  private lines: SavedLine[] | null = null;
  private decided = false;
  private size = 0;
  private levels = 0;
  private values = 0;
  private problem: string | null = null;

  constructor(private readonly bounds: ReadBounds) {}

  /** Whether no further line can make it a document, or records. */
  get isLost(): boolean {
    return this.problem !== null;
  }

  /** @returns the lines to read separately now; if the first line is JSON by itself, that is every line */
  take(line: SavedLine): readonly SavedLine[] {
    if (!this.decided) {
      this.decided = true;
      if (line.mayBeginDocument) this.lines = [];
    }
    if (this.lines === null) return [line];
    this.lines.push(line);
    this.size += (line.text?.length ?? 0) + 1;
    this.levels += line.shape.levels;
    this.values += line.shape.values;
    const excess = this.excess();
    return excess === null ? [] : this.giveUp(excess);
  }

  private excess(): string | null {
    const { document, values, next } = this.bounds;
    if (isTooDeep({ levels: this.levels })) return TOO_DEEP;
    if (this.values > values) return tooManyValues(this.bounds);
    return this.size > document ? `is larger than ${inMegabytes(document)} for one JSON document; ${next}` : null;
  }

  /** To be called at the end of the file. @returns null if it was read line by line */
  end(): Document | null {
    const { lines } = this;
    if (lines === null) return null;
    if (this.problem !== null) return { problem: this.problem, line: 1, byte: 0 };
    const texts = lines.map(({ text, line }) => ({ text: text ?? '\uFFFD', line }));
    const value = tryParse(texts.map(({ text }) => text).join('\n'));
    if (value !== undefined) return { value };
    if (lines.slice(1).some(isRecord)) return { records: lines };
    const { problem, line } = flawOf(texts);
    const byte = lines.find((each) => each.line === line)?.byte ?? null;
    return { problem: `is neither JSON nor JSONL: ${problem}`, line: line ?? null, byte };
  }

  /** Not a document: either records with a truncated first one, or unreadable. */
  private giveUp(problem: string): readonly SavedLine[] {
    const lines = this.lines ?? [];
    if (lines.slice(1).some(isRecord)) {
      this.lines = null;
      return lines;
    }
    this.problem = problem;
    this.lines = [];
    return [];
  }
}

/** Parses only lines that look like a record: there may be a million lines, and failed parses are the slowest. */
function isRecord(line: SavedLine): boolean {
  const text = line.text?.trim() ?? '';
  if (!text.startsWith('{') || !text.endsWith('}')) return false;
  const read = line.read();
  return 'value' in read && typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value);
}

/** A line of a file, inspected before it is parsed, and parsed once. */
export class SavedLine {
  readonly line: number;
  readonly byte: number;
  /** Null when it is too long, or not UTF-8. */
  readonly text: string | null;
  readonly shape: JsonShape;
  private parsed: Parsed | null = null;

  constructor({ line, byte, bytes }: RawLine, bounds: ReadBounds) {
    this.line = line;
    this.byte = byte;
    this.shape = shapeOf(bytes ?? Buffer.alloc(0));
    this.text = bytes === null ? null : decoded(bytes, line);
    if (bytes === null) {
      this.parsed = { problem: `the line is longer than ${inMegabytes(bounds.line)}; ${bounds.next}` };
    } else if (this.text === null) this.parsed = { problem: 'is not UTF-8' };
    else if (isTooDeep(this.shape)) this.parsed = { problem: TOO_DEEP };
    else if (this.shape.values > bounds.values) this.parsed = { problem: tooManyValues(bounds) };
  }

  get isBlank(): boolean {
    return this.text?.trim() === '';
  }

  /** Whether it is not JSON, but neither too large nor too deep. A line that ends like a record is a damaged one. */
  get mayBeginDocument(): boolean {
    return this.parsed === null && 'problem' in this.read() && !/[}\]]\s*$/.test(this.text ?? '');
  }

  read(): Parsed {
    if (this.parsed !== null) return this.parsed;
    const parsed = parseJson(this.text ?? '');
    this.parsed = 'problem' in parsed ? { problem: `is not JSON: ${parsed.problem}` } : parsed;
    return this.parsed;
  }
}

/** A byte-order mark is removed at the beginning of the file; elsewhere it is text. */
function decoded(bytes: Buffer, line: number): string | null {
  if (!isUtf8(bytes)) return null;
  const text = bytes.toString('utf8');
  return line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text;
}

export const MaybeText = z
  .string()
  .nullish()
  .transform((value) => value ?? null);
export const MaybeNumber = z
  .number()
  .nullish()
  .catch(null)
  .transform((value) => value ?? null);

/** Parses the record by a schema. @throws BadInputError naming file, line and field */
export function fieldsOf<T>(schema: z.ZodType<T>, record: SavedRecord): T {
  return parseRecord(schema, record);
}

export function originOf(format: string, record: SavedRecord, known: Partial<Origin>): Origin {
  return {
    format,
    file: record.file,
    line: record.line ?? null,
    id: null,
    model: null,
    cost_usd: null,
    input_tokens: null,
    output_tokens: null,
    model_calls: null,
    exit_reason: null,
    ...known,
  };
}

/** A file's name without its type extensions: `a.traj.json.gz` is `a`. */
export function stemOf(file: string): string {
  const name = basename(file);
  const kind = /\.(?:gz|zst|jsonl?|ndjson|traj|report)$/i.exec(name);
  return kind === null ? name : stemOf(name.slice(0, kind.index));
}

/** By which predictions and reports are recognised as those of a run. */
export function patchHash({ patch, submitted }: Pick<SavedRun, 'patch' | 'submitted'>): string {
  const text = submitted ?? patch;
  return createHash('sha256').update(text.trim()).digest('base64');
}

/** Whether a file is in the folder of another one or below it. */
export function isWithin(file: string, other: string): boolean {
  return !/^\.\.(?:\/|$)/.test(relative(dirname(other), file));
}

/** Name of the folder that holds a file, or of its parent if the folder is named like the file. */
export function runFolderOf(file: string): string {
  const folder = dirname(file);
  return basename(basename(folder) === stemOf(file) ? dirname(folder) : folder);
}

/** The first non-empty part as an id: trimmed, white space collapsed, at most as long as a candidate id may be. */
export function idOf(...parts: readonly (string | null | undefined)[]): string {
  const known = parts.filter((part): part is string => part !== null && part !== undefined && part.trim() !== '');
  // Of megabytes, no more is looked at than may become an id.
  return (known[0] ?? 'candidate').trim().slice(0, 2_000).replace(/\s+/g, ' ').slice(0, 200);
}
