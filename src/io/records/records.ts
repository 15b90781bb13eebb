import { createReadStream, readFileSync, type ReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { BadInputError, type InputPlace } from '../../core/errors/errors.js';
import { parquetRows } from './parquet.js';

/** One JSON value of a file and its location: a line of JSONL, or an index or key in one document. */
export interface Located {
  readonly value: unknown;
  readonly file: string;
  readonly line?: number;
  /** Position in a list, from 0. */
  readonly index?: number;
  /** Its key in an object, e.g. an instance id in `preds.json`. */
  readonly key?: string;
}

const LONGEST_LINE = 64 * 1024 * 1024;
const LARGEST_DOCUMENT = 256 * 1024 * 1024;

/**
 * The records of a file, JSON, JSONL or parquet: a stream of lines, the elements of a list, the members of an object of
 * objects, one object, or rows. Lines are read one at a time; blank lines, a byte-order mark and CRLF are accepted.
 * @throws BadInputError naming file and line: missing, a folder, not UTF-8, not JSON, a line too long, without any
 * record
 */
export async function* readRecords(file: string): AsyncGenerator<Located> {
  let found = 0;
  if (file.endsWith('.parquet')) {
    for await (const value of parquetRows(file)) yield { value, file, line: (found += 1) };
    return;
  }
  for await (const { text, line } of linesOf(file)) {
    found += 1;
    const value = tryParse(text);
    if (value !== undefined) {
      yield* spread(value, file, line);
    } else if (found === 1) {
      // Not a line of JSONL, so possibly the first line of one document.
      yield* readDocument(file);
      return;
    } else {
      throw new BadInputError(`is not JSON: ${parseError(text)}`, { file, line });
    }
  }
  if (found === 0) throw new BadInputError('has no records.', { file }, 'Use a file with at least one record.');
}

async function* readDocument(file: string): AsyncGenerator<Located> {
  const lines: Line[] = [];
  let length = 0;
  for await (const each of linesOf(file)) {
    lines.push(each);
    length += each.text.length + 1;
    if (length > LARGEST_DOCUMENT) throw new BadInputError('is too large for one JSON document; use JSONL.', { file });
  }
  const whole = lines.map(({ text }) => text).join('\n');
  const value = tryParse(whole);
  if (value === undefined) {
    const { problem, line } = flawOf(lines);
    throw new BadInputError(`is neither JSON nor JSONL: ${problem}`, { file, line });
  }
  yield* spread(value, file);
}

function* spread(value: unknown, file: string, line?: number): Generator<Located> {
  const at = { file, ...(line === undefined ? {} : { line }) };
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) yield { ...at, index, value: element as unknown };
  } else if (isObjectOfObjects(value)) {
    for (const [key, member] of Object.entries(value)) yield { ...at, key, value: member };
  } else {
    yield { ...at, value };
  }
}

/** `preds.json` is keyed by id and holds only objects; a single record has at least one plain value. */
function isObjectOfObjects(value: unknown): value is Record<string, object> {
  if (typeof value !== 'object' || value === null) return false;
  const members = Object.values(value);
  return (
    members.length > 0 &&
    members.every((member) => typeof member === 'object' && member !== null && !Array.isArray(member))
  );
}

async function* linesOf(file: string): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let pending: Buffer[] = [];
  let pendingLength = 0;
  let line = 1;
  const decode = (bytes: Buffer): string => {
    try {
      return decoder.decode(bytes);
    } catch {
      throw new BadInputError('is not valid UTF-8.', { file, line }, 'Save the file as UTF-8.');
    }
  };
  for await (const chunk of chunksOf(file)) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const rest = chunk.subarray(start, end);
      const text = decode(pending.length === 0 ? rest : Buffer.concat([...pending, rest]));
      if (text.trim() !== '') yield { text, line };
      [pending, pendingLength, start, line] = [[], 0, end + 1, line + 1];
    }
    pending.push(chunk.subarray(start));
    pendingLength += chunk.length - start;
    if (pendingLength > LONGEST_LINE) throw new BadInputError('is longer than 64 MB.', { file, line });
  }
  const last = decode(Buffer.concat(pending));
  if (last.trim() !== '') yield { text: last, line };
}

async function* chunksOf(file: string): AsyncGenerator<Buffer> {
  const stream: ReadStream = createReadStream(file, { highWaterMark: 1024 * 1024 });
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reasons: Record<string, string> = {
      ENOENT: 'does not exist.',
      EISDIR: 'is a folder, not a file.',
      EACCES: 'may not be read.',
    };
    throw new BadInputError(reasons[code ?? ''] ?? `cannot be read: ${message}`, { file });
  }
}

/** The text of a small file written by bestk. @throws BadInputError naming the file */
export async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw unreadable(file, error);
  });
}

/**
 * The same, synchronously: takes a third of the time when reading thousands of files with no other work waiting.
 * @throws BadInputError naming the file
 */
export function readTextNow(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): BadInputError {
  return new BadInputError(`cannot be read: ${(error as Error).message}`, { file });
}

/** Location of a record's field. */
export function placeOf({ file, line, key, index }: Located, field: string): InputPlace {
  const member = key ?? (index === undefined ? '' : `[${index}]`);
  return { file, line, field: [member, field].filter((part) => part !== '').join('.') };
}

/** Parses the record by its schema. @throws BadInputError naming file, line and the first wrong field */
export function parseRecord<T>(schema: z.ZodType<T>, record: Located, within = ''): T {
  const parsed = schema.safeParse(record.value);
  if (parsed.success) return parsed.data;
  const [first, ...others] = parsed.error.issues;
  const field = [within, ...(first?.path.map(String) ?? [])].filter((part) => part !== '').join('.');
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  throw new BadInputError(`${first?.message ?? 'is wrong'}${more}`, placeOf(record, field));
}

/** Rejects the second record of an id, naming both locations. */
export class UniqueRecords {
  private readonly seen = new Map<string, number | undefined>();

  constructor(private readonly field: string) {}

  has(id: string): boolean {
    return this.seen.has(id);
  }

  /** @throws BadInputError if the id was added before */
  add(id: string, record: Located): void {
    if (this.seen.has(id)) {
      const line = this.seen.get(id);
      const where = line === undefined ? 'earlier in the file' : `on line ${line}`;
      throw new BadInputError(
        `"${id}" already occurs ${where}.`,
        placeOf(record, this.field),
        'Give every record a unique id.',
      );
    }
    this.seen.set(id, record.line);
  }
}

const NEWLINE = 10;

export interface RawLine {
  /** From 1. */
  readonly line: number;
  /** Offset of its first byte, from 0. */
  readonly byte: number;
  /** Null when the line exceeds the limit. */
  readonly bytes: Buffer | null;
}

/**
 * The lines of a stream, one at a time; at most one is held in memory, and none that is too long.
 * @param longest in bytes
 */
export async function* rawLines(chunks: AsyncIterable<Uint8Array>, longest: number): AsyncGenerator<RawLine> {
  let held: Uint8Array[] = [];
  let size = 0;
  let [line, byte, offset] = [1, 0, 0];
  const take = (piece: Uint8Array): void => {
    size += piece.length;
    if (size <= longest) held.push(piece);
    else held = [];
  };
  const finish = (end: number): RawLine => {
    const done = { line, byte, bytes: size > longest ? null : joined(held) };
    [held, size, line, byte] = [[], 0, line + 1, end + 1];
    return done;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end));
      yield finish(offset + end);
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
    offset += chunk.length;
  }
  if (size > 0) yield finish(offset);
}

function joined(pieces: readonly Uint8Array[]): Buffer {
  const [only] = pieces;
  if (pieces.length !== 1 || only === undefined) return Buffer.concat(pieces);
  return Buffer.from(only.buffer, only.byteOffset, only.length);
}

/** A line of a file and its number, from 1. */
export interface Line {
  readonly text: string;
  readonly line: number;
}

/** A parsed JSON value, or the parse error. */
export type Parsed = { readonly value: unknown } | { readonly problem: string };

export function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: (error as Error).message.slice(0, 200) };
  }
}

/** The value, or undefined when the text is not JSON. */
export function tryParse(text: string): unknown {
  const parsed = parseJson(text);
  return 'value' in parsed ? parsed.value : undefined;
}

export function parseError(text: string): string {
  const parsed = parseJson(text);
  return 'problem' in parsed ? parsed.problem : 'it ends too early';
}

/** The first line at which the text stops being a prefix of valid JSON, by bisection; or the last line. */
export function flawOf(lines: readonly Line[]): { problem: string; line: number | undefined } {
  const [first, second] = lines;
  const isStream = first?.text.startsWith('{') === true && second !== undefined && tryParse(second.text) !== undefined;
  if (isStream) return { problem: parseError(first.text), line: first.line };
  const upTo = (count: number): string =>
    lines
      .slice(0, count)
      .map(({ text }) => text)
      .join('\n');
  let [sound, flawed] = [0, lines.length];
  while (flawed - sound > 1) {
    const middle = (sound + flawed) >> 1;
    if (canGoOn(upTo(middle))) sound = middle;
    else flawed = middle;
  }
  return { problem: parseError(upTo(flawed)), line: lines[flawed - 1]?.line };
}

function canGoOn(text: string): boolean {
  if (tryParse(text) !== undefined) return true;
  const problem = parseError(text);
  return problem.startsWith('Unexpected end') || problem.includes(`at position ${text.length}`);
}
