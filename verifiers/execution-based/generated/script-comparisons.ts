import type { TestLanguage } from '../drivers/test-dialect.js';
import { closingOf, CLOSES, NOTHING, OPENS, type Token } from './script-tokens.js';

/* What a script compares with, and what the comparison decides, judged by text only. */

/** The values that something is compared with: tokens `first` to `last`. */
export interface Operand {
  readonly first: number;
  readonly last: number;
  /** Index of the operator, or of an assertion's name. */
  readonly by: number;
}

const COMPARISONS: Readonly<Record<TestLanguage, ReadonlySet<string>>> = {
  python: new Set(['==', '!=', 'in', 'is']),
  javascript: new Set(['==', '!=', '===', '!==']),
};
const ASSERTION = /^(assert_?\w*(equal|same|allclose)\w*|(deep|strict|deepStrict)?equals?|to(be|equal|strictequal))$/i;

/** Limit per script, since each operand is checked against the whole script. */
const MOST_OPERANDS = 500;

/** Null if there are too many. */
export function operandsOf(tokens: readonly Token[], language: TestLanguage): readonly Operand[] | null {
  const found: Operand[] = [];
  const heads = new LoopHeads();
  for (const [index, token] of tokens.entries()) {
    // Changing the end of a loop could make it endless; the value of `__name__` is irrelevant.
    if (heads.hold(token) || tokens[index - 1]?.text === '__name__') continue;
    if (COMPARISONS[language].has(token.text)) addCompared(found, tokens, index);
    else if (isAssertion(token)) addAsserted(found, tokens, index);
    if (found.length > MOST_OPERANDS) return null;
  }
  return found.filter((operand) => !tellsBug(tokens, operand));
}

/** Names with which a script exits. */
export const EXITS: ReadonlySet<string> = new Set(['exit', 'quit', 'SystemExit']);
const ELSEWHERE = new Set([
  ...['and', 'or', 'not', '!', '&&', '||', '?', 'if', 'elif', 'else', 'for', 'while', 'def', 'function', 'return'],
]);

/**
 * `if got == -1: sys.exit(2)` describes the bug: a twin without it would leave base in another way than tests do, and a
 * patch that solves the test does not get there.
 */
function tellsBug(tokens: readonly Token[], { first, last, by }: Operand): boolean {
  if (!/^(={2,3}|is)$/.test(tokens[by]?.text ?? '')) return false;
  const [head, ...condition] = tokens.slice(startOfStatement(tokens, by), first);
  const test = head?.text === 'else' ? condition.shift() : head;
  if (!/^(el)?if$/.test(test?.text ?? '') || condition.some(({ text }) => ELSEWHERE.has(text))) return false;
  const behind = tokens.slice(last + 1);
  const exit = behind.findIndex(({ text }) => EXITS.has(text) || ELSEWHERE.has(text));
  return ['exit', '(', '2', ')'].every((text, at) => {
    const own = behind[exit + at]?.text ?? '';
    return at === 0 ? EXITS.has(own) : own === text;
  });
}

export function startOfStatement(tokens: readonly Token[], index: number): number {
  let start = index;
  for (; start > 0; start -= 1) {
    const { kind, text } = tokens[start - 1] ?? NOTHING;
    if (kind === 'end' || text === '{' || text === '}') break;
  }
  return start;
}

/** Follows statements: whether a token is in the head of a `while`, or is the `in` of a `for`. */
class LoopHeads {
  private after: 'while' | 'for' | null = null;

  hold({ kind, text }: Token): boolean {
    if (kind === 'end') this.after = null;
    else if (text === 'while' || text === 'for') this.after = text;
    const isName = this.after === 'for' && text === 'in';
    if (isName) this.after = null;
    return isName || this.after === 'while';
  }
}

function isAssertion({ kind, text }: Token): boolean {
  return kind === 'name' && ASSERTION.test(text) && !/not/i.test(text);
}

function addCompared(found: Operand[], tokens: readonly Token[], by: number): void {
  const isNot = tokens[by]?.text === 'is' && tokens[by + 1]?.text === 'not';
  const first = by + (isNot ? 2 : 1);
  add(found, first, endOfOperand(tokens, first), by);
}

function addAsserted(found: Operand[], tokens: readonly Token[], by: number): void {
  const close = tokens[by + 1]?.text === '(' ? closingOf(tokens, by + 1) : null;
  if (close !== null) add(found, ...lastArgument(tokens, by + 2, close), by);
}

function add(found: Operand[], first: number, end: number, by: number): void {
  // A nested operand is part of the outer one.
  if (end > first && first > (found.at(-1)?.last ?? -1)) found.push({ first, last: end - 1, by });
}

export const ENDS_OPERAND = new Set([
  ...['and', 'or', 'if', 'else', 'for', 'in', 'not', 'is', 'as', ',', ':', '?', '=', ';', '=>'],
  ...['==', '!=', '===', '!==', '<', '>', '<=', '>=', '&&', '||'],
]);

/** Index after the last token of the operand that begins at `from`. */
function endOfOperand(tokens: readonly Token[], from: number): number {
  let index = from;
  while (index < tokens.length) {
    const { kind, text } = tokens[index] ?? NOTHING;
    if (kind === 'end' || CLOSES.has(text) || ENDS_OPERAND.has(text)) break;
    index = OPENS.has(text) ? (closingOf(tokens, index) ?? tokens.length) + 1 : index + 1;
  }
  return Math.min(index, tokens.length);
}

/** Start and end of the last positional argument. */
function lastArgument(tokens: readonly Token[], from: number, close: number): readonly [number, number] {
  let last: readonly [number, number] = [from, from];
  for (let start = from; start < close;) {
    let end = start;
    while (end < close && tokens[end]?.text !== ',') end = (closingOf(tokens, end) ?? end) + 1;
    if (end > start && tokens[start + 1]?.text !== '=') last = [start, end];
    start = end + 1;
  }
  return last;
}
