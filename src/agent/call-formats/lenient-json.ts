import { asSmallJson } from '../../core/json.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** No call has nearly as many values; what is nested deeper than any call could not be written down again. */
const MOST_VALUES = 10_000;

/** @returns null if it is not a JSON object; an object encoded as a JSON string is unpacked */
export function parseObject(text: string): JsonObject | null {
  const value = parse(text);
  return asObject(typeof value === 'string' ? parse(value) : value);
}

export function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

/** Parses JSON as models write it: tolerates raw line ends and tabs in strings, and trailing commas. */
function parse(text: string): unknown {
  return asSmallJson(text, MOST_VALUES) ?? asSmallJson(forgiven(text), MOST_VALUES) ?? null;
}

const CONTROL: Readonly<Record<string, string>> = { '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t` };

function forgiven(text: string): string {
  let made = '';
  for (const { at, to, quoted } of piecesOf(text, 0)) {
    const piece = text.slice(at, to);
    made += quoted
      ? piece.replace(/[\n\r\t]/g, (control) => CONTROL[control] ?? '')
      : piece.replace(/,(?=\s*[}\]])/g, '');
  }
  return made;
}

interface Piece {
  readonly at: number;
  readonly to: number;
  /** Whether it is a string including its quotes; an unterminated one counts. */
  readonly quoted: boolean;
}

/** Splits a text into strings and what is between them. */
function* piecesOf(text: string, from: number): Generator<Piece> {
  let at = from;
  while (at < text.length) {
    const quote = text.indexOf('"', at);
    const to = quote === -1 ? text.length : quote;
    if (to > at) yield { at, to, quoted: false };
    if (quote === -1) return;
    let end = quote + 1;
    while (end < text.length && text.charAt(end) !== '"') end += text.charAt(end) === '\\' ? 2 : 1;
    at = Math.min(end + 1, text.length);
    yield { at: quote, to: at, quoted: true };
  }
}

/** The object that begins at `from`, or the first of a list of objects, and its end; null if there is none. */
export function jsonAt(text: string, from: number): { value: JsonObject; end: number; others: boolean } | null {
  const end = endOfValue(text, from);
  if (end === null) return null;
  const written = text.slice(from, end);
  if (!written.startsWith('[')) {
    const value = parseObject(written);
    return value === null ? null : { value, end, others: false };
  }
  const list = parse(written);
  const value = Array.isArray(list) ? asObject(list[0]) : null;
  return value === null ? null : { value, end, others: (list as unknown[]).length > 1 };
}

function endOfValue(text: string, from: number): number | null {
  if (!/[[{]/.test(text.charAt(from))) return null;
  let depth = 0;
  for (const { at, to, quoted } of piecesOf(text, from)) {
    for (let next = at; !quoted && next < to; next += 1) {
      const letter = text.charAt(next);
      if (letter === '{' || letter === '[') depth += 1;
      else if (letter === '}' || letter === ']') depth -= 1;
      if (depth === 0) return next + 1;
    }
  }
  return null;
}
