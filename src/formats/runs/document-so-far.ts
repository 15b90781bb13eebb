import { isTooDeep, TOO_DEEP } from '../../core/json-shape.js';
import { flawOf, tryParse } from '../json-flaw.js';
import { inMegabytes, type ReadBounds, tooManyValues } from './read-bounds.js';
import type { SavedLine } from './saved-line.js';

/** What became of the lines that were held for a document. */
export type Document =
  | { readonly value: unknown }
  /** Records after all, of which the first is cut. */
  | { readonly records: readonly SavedLine[] }
  | { readonly problem: string; readonly line: number | null; readonly byte: number | null };

/** The lines of a file, for as long as they may be one JSON document. */
export class DocumentSoFar {
  /** Null: each line is read by itself. */
  private lines: SavedLine[] | null = null;
  private decided = false;
  private size = 0;
  private levels = 0;
  private values = 0;
  private problem: string | null = null;

  constructor(private readonly bounds: ReadBounds) {}

  /** Whether nothing that may still come makes it one, or records. */
  get isLost(): boolean {
    return this.problem !== null;
  }

  /** @returns the lines to read by themselves now; from a first one on that is JSON by itself, each */
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

  /** At the end of the file. @returns null when it was read line by line */
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

  /** No document: records with a first one that is cut, or nothing that can be read. */
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

/** What does not even look like one is not parsed: there may be a million lines, and refusing one takes longest. */
function isRecord(line: SavedLine): boolean {
  const text = line.text?.trim() ?? '';
  if (!text.startsWith('{') || !text.endsWith('}')) return false;
  const read = line.read();
  return 'value' in read && typeof read.value === 'object' && read.value !== null && !Array.isArray(read.value);
}
