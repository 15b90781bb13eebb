import { isUtf8 } from 'node:buffer';
import { isTooDeep, type JsonShape, shapeOf, TOO_DEEP } from '../../core/json-shape.js';
import { type Parsed, parseJson } from '../records/raw-lines.js';
import type { RawLine } from '../records/raw-lines.js';
import { inMegabytes, type ReadBounds, tooManyValues } from './saved-run.js';

/** A line of a file, looked at before it is parsed, and parsed once. */
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

  /** Whether it is no JSON by itself, and not for its size or depth. One that ends like a record is a damaged one. */
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

/** A byte-order mark at the beginning of the file goes, anywhere else it is text. */
function decoded(bytes: Buffer, line: number): string | null {
  if (!isUtf8(bytes)) return null;
  const text = bytes.toString('utf8');
  return line === 1 && text.startsWith('\uFEFF') ? text.slice(1) : text;
}
