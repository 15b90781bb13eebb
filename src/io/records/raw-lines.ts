const NEWLINE = 10;

export interface RawLine {
  /** From 1. */
  readonly line: number;
  /** Where it begins, from 0. */
  readonly byte: number;
  /** Null when the line is longer than it may be. */
  readonly bytes: Buffer | null;
}

/**
 * The lines of a stream, one at a time; at most one is held, and nothing of one that is too long.
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

/** What a text says as JSON, or what is wrong with it. */
export type Parsed = { readonly value: unknown } | { readonly problem: string };

export function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { problem: (error as Error).message.slice(0, 200) };
  }
}

/** The value, or undefined when the text is no JSON. */
export function tryParse(text: string): unknown {
  const parsed = parseJson(text);
  return 'value' in parsed ? parsed.value : undefined;
}

export function parseError(text: string): string {
  const parsed = parseJson(text);
  return 'problem' in parsed ? parsed.problem : 'it ends too early';
}

/** The first line up to which a document cannot be the beginning of any, found by halving; or the last line. */
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
