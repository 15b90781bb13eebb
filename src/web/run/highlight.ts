/** A piece of a line: `kind` is a class of the style sheet, '' = plain. */
export interface Piece {
  readonly text: string;
  readonly kind: '' | 'comment' | 'string' | 'number' | 'keyword';
}

const WORDS =
  'and as assert async await break case catch class const continue def default del do elif else enum except export extends false False final finally for from fn func function global if impl import in interface is lambda let match mod mut new nil None nonlocal not null or package pass private public pub raise return self static struct super switch this throw true True try type typeof use var void while with yield';
const KEYWORDS = new Set(WORDS.split(' '));
// A line is no longer than LONGEST, so that none of these takes long.
/* eslint-disable regexp/no-super-linear-move */
const STRING = `"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|\`(?:[^\`\\\\]|\\\\.)*\``;
const HASH = new RegExp(`(#.*$)|(${STRING})|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, 'g');
const SLASHES = new RegExp(`(//.*$|/\\*.*?(?:\\*/|$))|(${STRING})|(\\b\\d[\\w.]*)|([A-Za-z_]\\w*)`, 'g');
/* eslint-enable regexp/no-super-linear-move */
const PLAIN = /\.(md|rst|txt|html?|xml|json|lock|csv|po)$/i;
const HASHED = /\.(py|pyi|rb|sh|ya?ml|toml|cfg|ini|pl|r)$|(^|\/)(Makefile|Dockerfile)$/i;
const LONGEST = 1_000;

/** Words of a line by kind, one line at a time: near enough for reading a diff, in any of the usual languages. */
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

/** The same pieces, cut at `from` and `to`, with what lies between marked. */
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
