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
