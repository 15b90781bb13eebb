import { z } from 'zod';
import type { BadInputError } from '../../core/errors/errors.js';
import { asJson } from '../../core/json.js';
import type { Environment } from '../../core/run/issue.js';
import { parsePythonList, unescape } from '../inputs/score-columns.js';
import { parseRecord } from '../records/records.js';
import type { DataRow } from './rows.js';

/**
 * Use of a column: part of the issue (`issue`), available for filtering (`filter`), part of the answer and accessible
 * only to grading (`sealed`), or ignored (`unused`).
 */
export type ColumnUse = 'issue' | 'filter' | 'sealed' | 'unused';

/** The instance that a row describes. */
export interface RowIssue {
  readonly instance_id: string;
  /** `owner/name`; null when the row does not contain it. */
  readonly repo: string | null;
  readonly problem_statement: string;
  /** Without an image if a template must supply it. */
  readonly environment: Partial<z.input<typeof Environment>>;
}

/** Reads the rows of one data set, which it recognises by their columns. */
export interface SetReader {
  readonly set: string;
  recognises(row: DataRow['value']): boolean;
  /** Columns of its rows; any other is unknown. */
  readonly columns: Readonly<Record<string, ColumnUse>>;
  /** @throws BadInputError naming file, line and field */
  issue(row: DataRow): RowIssue;
  /** @throws BadInputError naming file, line and field */
  sealed(row: DataRow): SealedContent;
}

/** Parses the row by a schema. @throws BadInputError naming file, line and field */
export function fields<T>(schema: z.ZodType<T>, row: DataRow): T {
  return parseRecord(schema, row);
}

export const MaybeText = z
  .string()
  .nullish()
  .transform((text) => (text === undefined || text === null || text === '' ? null : text));

/**
 * `['a' 'b']` as numpy prints an array of strings, or `array(['a', 'b'], dtype=object)`; undefined for anything else.
 */
function parseNumpyTexts(text: string): string[] | undefined {
  const whole = text.trim();
  const [open, close] = [whole.indexOf('['), whole.lastIndexOf(']')];
  const around = `${whole.slice(0, open)}${whole.slice(close + 1)}`;
  if (open === -1 || close < open || !AROUND_NUMPY.test(around.slice(0, LONGEST_AROUND))) return undefined;
  const inside = whole.slice(open + 1, close).trim();
  const items: string[] = [];
  const token = /(?:'((?:[^'\\]|\\.){0,1000000})'|"((?:[^"\\]|\\.){0,1000000})")(?:\s*,\s*|\s+|$)/y;
  while (token.lastIndex < inside.length) {
    const match = token.exec(inside);
    if (match === null) return undefined;
    items.push(unescape(match[1] ?? match[2] ?? ''));
  }
  return items;
}

/** Text around the brackets: nothing, or `array(` and `, dtype=object)`. */
const AROUND_NUMPY = /^(?:array\((?:, ?dtype=[\w<>.'"]+)?\))?$/;
const LONGEST_AROUND = 80;

/** Names as a list, as JSON in a string, or as a list printed by Python or numpy. */
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

/** Parses a value that some files hold as JSON in a string. */
export function unpackedJson(value: unknown): unknown {
  return typeof value === 'string' ? (asJson(value) ?? value) : value;
}

/** A row's own script that runs its tests. */
export interface EvalScript {
  /** Its name in `{scripts}`. */
  readonly name: string;
  readonly text: string;
  /** The part of it that runs the tests. */
  readonly tests: string;
}

/** The tests that decide whether a patch resolves its issue, in a data set's form. */
export interface HiddenRow {
  /** `owner/name`; null when the row does not contain it. */
  readonly repo: string | null;
  /** Version of the repository; some versions are tested differently. */
  readonly version: string | null;
  /** Null when the tests are part of the image. */
  readonly testPatch: string | null;
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
  /** Shell command with `{files}` or `{modules}`; null = the repository's own. */
  readonly command: string | null;
  /** Name of the parser or the format of its log, as the row says; null = the format that the command implies. */
  readonly log: string | null;
  /** Column that names the parser; absent = `log_parser`. */
  readonly logColumn?: string;
  /** The row's script that `command` runs. It applies the test patch itself. */
  readonly evalScript?: EvalScript;
  /** Why `command` does not tell right patches from wrong ones; only another command can be used. */
  readonly unusable?: BadInputError | undefined;
}

/** Everything that reveals the answer to an instance. */
export interface SealedContent {
  /** Null when the row has none. */
  readonly tests: HiddenRow | null;
  /** The authors' patch; null when the row has none. */
  readonly gold: string | null;
}

/**
 * The answer to an instance, inaccessible from the moment its row is read: it appears in no enumeration and no JSON,
 * and nothing that samples, verifies or selects may import this room to open it.
 */
export class Sealed {
  readonly #read: () => SealedContent;

  /** @param read called when it is opened, so that a damaged label does not stop sampling and selection */
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
