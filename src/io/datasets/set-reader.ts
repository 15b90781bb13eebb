import { z } from 'zod';
import { asJson } from '../../core/json.js';
import type { Environment } from '../../core/run/issue.js';
import { parsePythonList, unescape } from '../inputs/score-columns.js';
import { parseRecord } from '../records/records.js';
import type { DataRow } from './rows.js';

/**
 * What becomes of a column: it goes into the issue (`issue`), it can be filtered by (`filter`), it tells the answer and is
 * kept where only grading gets it (`sealed`), or nothing is done with it (`unused`).
 */
export type ColumnUse = 'issue' | 'filter' | 'sealed' | 'unused';

/** What a row says of its instance. */
export interface RowIssue {
  readonly instance_id: string;
  /** `owner/name`; null when the row does not say it. */
  readonly repo: string | null;
  readonly problem_statement: string;
  /** Without the image that a template may name. */
  readonly environment: Partial<z.input<typeof Environment>>;
}

/** Knows the rows of one data set by their columns. */
export interface SetReader {
  readonly set: string;
  recognises(row: DataRow['value']): boolean;
  /** Columns that its rows have; any other is unknown. */
  readonly columns: Readonly<Record<string, ColumnUse>>;
  /** @throws BadInputError naming file, line and field */
  issue(row: DataRow): RowIssue;
  /** @throws BadInputError naming file, line and field */
  sealed(row: DataRow): SealedContent;
}

/** The row's fields as a schema says. @throws BadInputError naming file, line and field */
export function fields<T>(schema: z.ZodType<T>, row: DataRow): T {
  return parseRecord(schema, row);
}

export const MaybeText = z
  .string()
  .nullish()
  .transform((text) => (text === undefined || text === null || text === '' ? null : text));

/** `['a' 'b']` as numpy prints an array of texts, or `array(['a', 'b'], dtype=object)`; undefined for anything else. */
function parseNumpyTexts(text: string): string[] | undefined {
  const whole = text.trim();
  const [open, close] = [whole.indexOf('['), whole.lastIndexOf(']')];
  const around = `${whole.slice(0, open)}${whole.slice(close + 1)}`;
  if (open === -1 || close < open || !AROUND_NUMPY.test(around.slice(0, LONGEST_AROUND))) return undefined;
  const inside = whole.slice(open + 1, close).trim();
  const items: string[] = [];
  const token = /(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")(?:\s*,\s*|\s+|$)/y;
  while (token.lastIndex < inside.length) {
    const match = token.exec(inside);
    if (match === null) return undefined;
    items.push(unescape(match[1] ?? match[2] ?? ''));
  }
  return items;
}

/** What stands around the brackets: nothing, or `array(` and `, dtype=object)`. */
const AROUND_NUMPY = /^(?:array\((?:, ?dtype=[\w<>.'"]+)?\))?$/;
const LONGEST_AROUND = 80;

/** Names as a list, as JSON in a text, or as Python or numpy prints a list. */
export const Names = z.preprocess(
  (value, context) => {
    if (typeof value !== 'string') return value ?? [];
    const list = asJson(value) ?? parsePythonList(value) ?? parseNumpyTexts(value);
    if (list !== undefined) return list;
    context.addIssue({ code: 'custom', message: 'must be a list of names, or one as JSON in a string' });
    return z.NEVER;
  },
  z.array(z.string().min(1)),
);

/** A value that some files hold as JSON in a text. */
export function unpackedJson(value: unknown): unknown {
  return typeof value === 'string' ? (asJson(value) ?? value) : value;
}

/** How the log of a test command is read. */
export type LogFormat = 'pytest' | 'unittest' | 'sympy' | 'go' | 'cargo' | 'javascript' | 'java' | 'ctest' | 'json';

/** The tests that decide whether a patch resolves its issue, as a data set has them. */
export interface HiddenRow {
  /** `owner/name`; null when the row does not say it. */
  readonly repo: string | null;
  /** Of the repository; some versions are tested in another way. */
  readonly version: string | null;
  /** Null when the tests are part of the image. */
  readonly testPatch: string | null;
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
  /** Shell command with `{files}` or `{modules}`; null = the repository's own. */
  readonly command: string | null;
  /** Null = what the command tells. */
  readonly log: LogFormat | null;
}

/** All that tells the answer to an instance. */
export interface SealedContent {
  /** Null when the row has none. */
  readonly tests: HiddenRow | null;
  /** The patch that its authors wrote; null when the row has none. */
  readonly gold: string | null;
}

/**
 * What tells the answer to an instance, out of reach from the moment its row is read: it is in no enumeration and no JSON,
 * and only grading and reports may import this room to open it.
 */
export class Sealed {
  readonly #read: () => SealedContent;

  /** @param read asked when somebody opens it: who samples and selects is not kept by a damaged label */
  constructor(read: () => SealedContent) {
    this.#read = read;
  }

  /** @throws BadInputError naming file, line and field of what cannot be read */
  open(): SealedContent {
    return this.#read();
  }

  toJSON(): string {
    return 'sealed';
  }
}
