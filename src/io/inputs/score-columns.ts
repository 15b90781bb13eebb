import { BadInputError } from '../../core/errors/errors.js';

/** Location of a row, for messages. */
export interface RowPlace {
  readonly file: string;
  readonly line?: number | undefined;
}

/** One row of a score matrix: its columns by name, each validated when it is read. */
export class ScoreColumns {
  constructor(
    private readonly row: Readonly<Record<string, unknown>>,
    private readonly place: RowPlace,
    /** Path of the row within the line, for messages. */
    private readonly within = '',
  ) {}

  get names(): readonly string[] {
    return Object.keys(this.row);
  }

  /** The columns nested under a name; empty if the name is absent. */
  under(name: string): ScoreColumns {
    const value = this.row[name] ?? {};
    if (typeof value !== 'object' || Array.isArray(value)) throw this.error('is not an object of columns', name);
    return new ScoreColumns(value as Record<string, unknown>, this.place, `${this.within}${name}.`);
  }

  /** The first of these names that the row has. */
  nameOf(names: readonly string[]): string | undefined {
    return names.find((name) => this.row[name] !== undefined && this.row[name] !== null);
  }

  text(names: readonly string[]): string | undefined {
    const name = this.nameOf(names);
    if (name === undefined) return undefined;
    const value = this.row[name];
    if (typeof value !== 'string' || value === '') throw this.error('is not a text', name);
    return value;
  }

  /** Numbers or null (abstained); undefined when the row has no such column. */
  numbers(names: readonly string[], { least, most }: { least: number; most: number }): (number | null)[] | undefined {
    return this.list(names, (value, refuse) => {
      if (value === null) return null;
      if (typeof value === 'boolean') return Number(value);
      if (typeof value !== 'number') throw refuse(`is ${describe(value)}; it must be a number`);
      if (!Number.isFinite(value)) throw refuse(`is ${value}; use null for a missing score`);
      if (value < least || value > most) throw refuse(`is ${value}, outside ${least} to ${most}`);
      return value;
    });
  }

  /** Labels: 1 or true, 0 or false, null = not graded. */
  labels(names: readonly string[]): (boolean | null)[] | undefined {
    return this.list(names, (value, refuse) => {
      if (value === null || typeof value === 'boolean') return value;
      if (value === 0 || value === 1) return value === 1;
      throw refuse(`is ${describe(value)}; a label is 0, 1 or null`);
    });
  }

  texts(names: readonly string[]): (string | null)[] | undefined {
    return this.list(names, (value, refuse) => {
      if (value === null || typeof value === 'string') return value;
      if (typeof value === 'number' && Number.isFinite(value)) return String(value);
      throw refuse(`is ${describe(value)}; it must be a string`);
    });
  }

  /** One list of strings, or null, per candidate. */
  textLists(names: readonly string[]): (readonly string[] | null)[] | undefined {
    return this.list(names, (value, refuse) => {
      if (value === null) return null;
      if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value;
      throw refuse(`is ${describe(value)}; it must be a list of strings`);
    });
  }

  /** One number for all candidates, or one each. */
  shared(name: string, n: number): (number | null)[] | undefined {
    const value = this.row[name];
    if (typeof value !== 'number') return this.numbers([name], { least: 0, most: Infinity });
    if (!Number.isFinite(value) || value <= 0) throw this.error(`is ${value}, not above 0`, name);
    return Array.from({ length: n }, () => value);
  }

  error(message: string, field: string): BadInputError {
    return new BadInputError(`${message}.`, { ...this.place, field: `${this.within}${field}` });
  }

  private list<T>(names: readonly string[], check: (value: unknown, refuse: Refuse) => T): T[] | undefined {
    const name = this.nameOf(names);
    if (name === undefined) return undefined;
    const given = this.row[name];
    const list = typeof given === 'string' ? parsePythonList(given) : given;
    if (!Array.isArray(list)) throw this.error(`is ${describe(given)}; it must be a list`, name);
    let at = 0;
    const refuse: Refuse = (message) => this.error(message, `${name}.${at}`);
    return list.map((value: unknown, index) => {
      at = index;
      return check(value, refuse);
    });
  }
}

type Refuse = (message: string) => BadInputError;

function describe(value: unknown): string {
  if (typeof value === 'string') return `the text ${JSON.stringify(value.slice(0, 40))}`;
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : 'an object';
}

/**
 * A flat Python list as written by `str()` or `repr()`: numbers, True, False, None, nan, inf and quoted strings.
 * `undefined` when the text is something else.
 */
export function parsePythonList(text: string): (number | boolean | string | null)[] | undefined {
  const inside = /^[[(]([^]*)[\])]$/.exec(text.trim())?.[1];
  if (inside === undefined) return undefined;
  const body = inside.trim().replace(/,$/, '');
  const items: (number | boolean | string | null)[] = [];
  // Counted: without a limit, the engine's stack overflows on a text of 8 MB.
  const token = /\s*(?:'((?:[^'\\]|\\.){0,1000000})'|"((?:[^"\\]|\\.){0,1000000})"|([^\s,'"[\](){}]+))\s*(,|$)/y;
  while (token.lastIndex < body.length) {
    const match = token.exec(body);
    if (match === null) return undefined;
    const [, single, double, bare] = match;
    const item = bare === undefined ? unescape(single ?? double ?? '') : word(bare);
    if (item === undefined) return undefined;
    items.push(item);
  }
  return items;
}

const WORDS = new Map<string, number | boolean | null>([
  ['True', true],
  ['False', false],
  ['None', null],
  ['null', null],
  ['nan', NaN],
  ['inf', Infinity],
  ['-inf', -Infinity],
]);

function word(bare: string): number | boolean | null | undefined {
  const known = WORDS.get(bare);
  if (known !== undefined) return known;
  return /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(bare) ? Number(bare) : undefined;
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

/** Reverses the escapes of Python's `repr`. */
export function unescape(text: string): string {
  return text.replace(/\\(?:x([\da-f]{2})|u([\da-f]{4})|U([\da-f]{8})|([^]))/g, (all: string, ...found: string[]) => {
    const [two, four, eight, other = ''] = found;
    const code = parseInt(two ?? four ?? eight ?? '', 16);
    if (Number.isNaN(code)) return ESCAPES[other] ?? other;
    return code > 0x10ffff ? all : String.fromCodePoint(code);
  });
}
