import type { TestLanguage } from '../drivers/test-dialect.js';

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'mark' | 'end';
  readonly text: string;
  readonly at: number;
}

export const NOTHING: Token = { kind: 'end', text: '', at: 0 };

export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export const OPENS: ReadonlySet<string> = new Set('([{');
export const CLOSES: ReadonlySet<string> = new Set(')]}');

/** Cache of matching brackets, by script. */
const CLOSINGS = new WeakMap<readonly Token[], ReadonlyMap<number, number>>();

/** Index of the bracket that closes the one at `open`; null if either is missing. */
export function closingOf(tokens: readonly Token[], open: number): number | null {
  const known = CLOSINGS.get(tokens) ?? closingsIn(tokens);
  CLOSINGS.set(tokens, known);
  return known.get(open) ?? null;
}

function closingsIn(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const closings = new Map<number, number>();
  const opened: number[] = [];
  for (const [index, token] of tokens.entries()) {
    const change = deeper(token);
    if (change === 1) opened.push(index);
    const open = change === -1 ? opened.pop() : undefined;
    if (open !== undefined) closings.set(open, index);
  }
  return closings;
}

function deeper({ kind, text }: Token = NOTHING): -1 | 0 | 1 {
  if (kind !== 'mark') return 0;
  return OPENS.has(text) ? 1 : CLOSES.has(text) ? -1 : 0;
}

/** The tokens of a script, without comments, blanks and line ends inside brackets. */
export function tokensOf(text: string, language: TestLanguage): readonly Token[] {
  const found: Token[] = [];
  const unclosed: Unclosed = new Map();
  let depth = 0;
  for (let at = 0; at < text.length;) {
    const [kind, word] = wordAt(text, at, LEXERS[language], unclosed);
    if (OPENS.has(word)) depth += 1;
    else if (CLOSES.has(word) && depth > 0) depth -= 1;
    if (kind !== null && (kind !== 'end' || depth === 0)) found.push({ kind, text: word, at });
    at += Math.max(1, word.length);
  }
  return found;
}

type Lexer = readonly (readonly [Token['kind'] | null, RegExp])[];

/** By pattern: the index before which its closing mark is known to be missing, so that it is not tried there. */
type Unclosed = Map<RegExp, number>;

function wordAt(text: string, at: number, lexer: Lexer, unclosed: Unclosed): readonly [Token['kind'] | null, string] {
  for (const [kind, pattern] of lexer) {
    if (at < (unclosed.get(pattern) ?? 0)) continue;
    pattern.lastIndex = at;
    const [word = '', closing] = pattern.exec(text) ?? [];
    if (closing === '') unclosed.set(pattern, at + word.length);
    else if (word !== '') return [kind, word];
  }
  return [null, ''];
}

const WORDS = [
  ['number', /(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][-+]?\d+)?|\.\d[\d_]*(?:[eE][-+]?\d+)?)[jJn]?/y],
  ['name', /[A-Za-z_$][\w$]*/y],
  ['mark', /===|!==|==|!=|<=|>=|=>|&&|\|\||\*\*|[-+*/%&|^<>=(){}[\],:.;!?@~]/y],
] as const;

/** Each pattern's capture group is its closing mark, empty if it is missing. */
const LEXERS: Readonly<Record<TestLanguage, Lexer>> = {
  python: [
    [null, /#[^\n]*|\\\n|[ \t\r\f]+/y],
    ['end', /\n|;/y],
    ['string', /[rRbBuUfF]{0,2}"""(?:[^\\"]|\\[^]|"(?!""))*("""|)/y],
    ['string', /[rRbBuUfF]{0,2}'''(?:[^\\']|\\[^]|'(?!''))*('''|)/y],
    ['string', /[rRbBuUfF]{0,2}"(?:[^\\"\n]|\\[^])*("?)/y],
    ['string', /[rRbBuUfF]{0,2}'(?:[^\\'\n]|\\[^])*('?)/y],
    ...WORDS,
  ],
  javascript: [
    [null, /\/\/[^\n]*|[ \t\r\f]+/y],
    [null, /\/\*(?:[^*]|\*(?!\/))*(\*\/|)/y],
    ['end', /\n|;/y],
    ['string', /"(?:[^\\"\n]|\\[^])*("?)/y],
    ['string', /'(?:[^\\'\n]|\\[^])*('?)/y],
    ['string', /`(?:[^\\`]|\\[^])*(`?)/y],
    ...WORDS,
  ],
};

export function startOf(token: Token = NOTHING): number {
  return token.at;
}

export function endOf(token: Token = NOTHING): number {
  return token.at + token.text.length;
}

export function replacing(token: Token, text: string): Edit {
  return { from: token.at, to: endOf(token), text };
}

export function edited(text: string, edits: readonly Edit[]): string {
  let done = '';
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.from - b.from)) {
    done += text.slice(at, edit.from) + edit.text;
    at = edit.to;
  }
  return done + text.slice(at);
}
