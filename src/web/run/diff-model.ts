import { unescaped } from '../route.js';

export interface DiffLine {
  readonly sign: '+' | '-' | ' ';
  readonly text: string;
  /** Line numbers before and after; null if the line does not exist there. */
  readonly before: number | null;
  readonly after: number | null;
}

export interface DiffHunk {
  readonly header: string;
  readonly lines: readonly DiffLine[];
}

export interface DiffFile {
  readonly name: string;
  /** Modes, renames etc., as written by git. */
  readonly notes: readonly string[];
  readonly binary: boolean;
  readonly hunks: readonly DiffHunk[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Parses a unified diff as far as possible, even if truncated; never throws. For display, not for applying. */
export function readDiff(text: string): readonly DiffFile[] {
  const reader = new Reader();
  const lines = text.split('\n');
  for (const [index, line] of lines.entries()) reader.line(line, lines[index + 1]?.startsWith('+++ ') === true);
  return reader.files;
}

interface Growing extends DiffFile {
  name: string;
  binary: boolean;
  readonly notes: string[];
  readonly hunks: { header: string; lines: DiffLine[] }[];
}

class Reader {
  readonly files: Growing[] = [];
  private before = 0;
  private after = 0;
  private beforeLeft = 0;
  private afterLeft = 0;

  line(line: string, plusFollows: boolean): void {
    if (this.beforeLeft > 0 || this.afterLeft > 0) this.content(line);
    else if (line.startsWith('diff --git ')) this.begin(/ ("?b\/.*)/.exec(line)?.[1] ?? line.slice(11));
    else if (line.startsWith('@@')) this.hunk(line);
    else if (line.startsWith('--- ') && plusFollows) this.minusName(line.slice(4));
    else this.header(line);
  }

  private begin(name: string): Growing {
    const file: Growing = { name: pathOf(name), notes: [], binary: false, hunks: [] };
    this.files.push(file);
    return file;
  }

  private minusName(name: string): void {
    const path = pathOf(name);
    if (this.files.length === 0 || this.current().hunks.length > 0) this.begin(name);
    else if (path !== '/dev/null') this.current().name = path;
  }

  private header(line: string): void {
    if (this.files.length === 0) return;
    if (line.startsWith('+++ ')) {
      const path = pathOf(line.slice(4));
      if (path !== '/dev/null') this.current().name = path;
    } else if (/^(GIT binary patch|Binary files )/.test(line)) this.current().binary = true;
    else if (/^(new file|deleted file|old mode|new mode|rename|copy|similarity)/.test(line)) {
      this.current().notes.push(line);
    }
  }

  private current(): Growing {
    return this.files.at(-1) ?? this.begin('');
  }

  private hunk(line: string): void {
    const [, before, beforeCount, after, afterCount] = HUNK.exec(line) ?? [];
    if (before === undefined || after === undefined) return;
    [this.before, this.after] = [Number(before), Number(after)];
    [this.beforeLeft, this.afterLeft] = [Number(beforeCount ?? 1), Number(afterCount ?? 1)];
    this.current().hunks.push({ header: line, lines: [] });
  }

  private content(line: string): void {
    if (line.startsWith('\\')) return;
    const sign = line.startsWith('+') ? '+' : line.startsWith('-') ? '-' : ' ';
    const old = sign === '+' ? null : this.before++;
    const new_ = sign === '-' ? null : this.after++;
    if (old !== null) this.beforeLeft -= 1;
    if (new_ !== null) this.afterLeft -= 1;
    this.files
      .at(-1)
      ?.hunks.at(-1)
      ?.lines.push({ sign, text: line.slice(1), before: old, after: new_ });
  }
}

/**
 * The path of a name in a header: without a time and a prefix; git quotes unusual characters, byte by byte. The service
 * refuses control characters in names, so their escapes may stay.
 */
function pathOf(name: string): string {
  const [given = ''] = name.replace(/\r$/, '').split('\t', 1);
  const quoted = /^"(.*)"$/.exec(given)?.[1];
  const bytes = (quoted ?? '').replaceAll('%', '%25').replaceAll(/\\([0-7]{3}|["\\])/g, (_, code: string) => {
    const byte = code.length === 3 ? parseInt(code, 8) : code.charCodeAt(0);
    return `%${byte.toString(16).padStart(2, '0')}`;
  });
  return (quoted === undefined ? given : unescaped(bytes)).replace(/^[abciow]\//, '');
}

/** A line and its counterpart; a removed line is paired with the added line that replaces it. */
export type Pair = readonly [DiffLine | null, DiffLine | null];

export function sideBySide(lines: readonly DiffLine[]): readonly Pair[] {
  const pairs: Pair[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = (): void => {
    for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
      pairs.push([removed[index] ?? null, added[index] ?? null]);
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.sign === '-') {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.sign === '+') added.push(line);
    else {
      flush();
      pairs.push([line, line]);
    }
  }
  flush();
  return pairs;
}

/** Lines that share less than this, ignoring indentation, count as unrelated rather than as one changed line. */
const SHARED_PART = 0.5;

/** The changed range, [from, to), of each of two versions of a line; null if they have too little in common. */
export function changedSpans(
  a: string,
  b: string,
): readonly [readonly [number, number], readonly [number, number]] | null {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const indent = a.length - a.trimStart().length;
  const shared = Math.max(0, start - indent) + end;
  if (shared < SHARED_PART * (shorter - indent)) return null;
  return [
    [start, a.length - end],
    [start, b.length - end],
  ];
}

/** A part of a line: `kind` is a CSS class suffix, '' = plain. */
export interface Piece {
  readonly text: string;
  readonly kind: '' | 'comment' | 'string' | 'number' | 'keyword';
}

const WORDS =
  'and as assert async await break case catch class const continue def default del do elif else enum except export extends false False final finally for from fn func function global if impl import in interface is lambda let match mod mut new nil None nonlocal not null or package pass private public pub raise return self static struct super switch this throw true True try type typeof use var void while with yield';
const KEYWORDS = new Set(WORDS.split(' '));
// Lines are at most LONGEST characters, which bounds the time that these patterns take.
/* eslint-disable regexp/no-super-linear-move */
const STRING = `"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|\`(?:[^\`\\\\]|\\\\.)*\``;
const HASH = new RegExp(`(#.*$)|(${STRING})|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, 'g');
const SLASHES = new RegExp(`(//.*$|/\\*.*?(?:\\*/|$))|(${STRING})|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, 'g');
/* eslint-enable regexp/no-super-linear-move */
const PLAIN = /\.(md|rst|txt|html?|xml|json|lock|csv|po)$/i;
const HASHED = /\.(py|pyi|rb|sh|ya?ml|toml|cfg|ini|pl|r)$|(^|\/)(Makefile|Dockerfile)$/i;
const LONGEST = 1_000;

/** Highlights one line on its own: an approximation for common languages, good enough for reading a diff. */
export function highlight(text: string, file: string): readonly Piece[] {
  if (text.length > LONGEST || PLAIN.test(file)) return [{ text, kind: '' }];
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(HASHED.test(file) ? HASH : SLASHES)) {
    const [whole] = match;
    const kind = kindOf(match);
    if (kind === '') continue;
    if (match.index > from) pieces.push({ text: text.slice(from, match.index), kind: '' });
    pieces.push({ text: whole, kind });
    from = match.index + whole.length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), kind: '' });
  return pieces;
}

function kindOf([whole, comment, string, number]: RegExpExecArray): Piece['kind'] {
  if (comment !== undefined) return 'comment';
  if (string !== undefined) return 'string';
  if (number !== undefined) return 'number';
  return KEYWORDS.has(whole) ? 'keyword' : '';
}

/** The pieces, split at `from` and `to`, with the part between marked as changed. */
export function marked(
  pieces: readonly Piece[],
  [from, to]: readonly [number, number],
): readonly (Piece & { readonly changed: boolean })[] {
  let at = 0;
  return pieces.flatMap(({ text, kind }) => {
    const [start, end] = [Math.max(0, Math.min(text.length, from - at)), Math.max(0, Math.min(text.length, to - at))];
    at += text.length;
    return [
      { text: text.slice(0, start), kind, changed: false },
      { text: text.slice(start, end), kind, changed: true },
      { text: text.slice(end), kind, changed: false },
    ].filter((piece) => piece.text !== '');
  });
}
