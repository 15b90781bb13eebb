import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import { dialectOf, type TestLanguage } from '../drivers/test-dialect.js';

/*
 * Scripts made of a test, read as text alone, to find out whether a patch has tests pass whatever they say:
 *
 *   wrong      compares with other values than the test does. A patch that solves the test honestly does not solve this one.
 *   agreeing   takes every comparison for equal. Where it says "solved" on base, the comparisons are what the test is decided by.
 *   never      leaves with "not solved" wherever the test leaves. Nothing but a forged end can be solved in it.
 */

interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'mark' | 'end';
  readonly text: string;
  readonly at: number;
}

const NOTHING: Token = { kind: 'end', text: '', at: 0 };

interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The values that a comparison is made with: tokens from the first to the last. */
interface Operand {
  readonly first: number;
  readonly last: number;
  /** Index of the operator, or of an assertion's name. */
  readonly by: number;
}

/** What twins of one test are made from; null for one without a comparison, or of no known language. */
export interface Script {
  readonly test: GeneratedTest;
  readonly language: TestLanguage;
  readonly tokens: readonly Token[];
  readonly operands: readonly Operand[];
}

const LONGEST = 100_000;

export function readScript(test: GeneratedTest): Script | null {
  const language = dialectOf(test)?.name;
  if (language === undefined || test.content.length > LONGEST) return null;
  const tokens = tokensOf(test.content, language);
  return { test, language, tokens, operands: operandsOf(tokens, language) };
}

/** @param random whole numbers from 0 up to and without the one it is given */
export function wrongTwin(
  { test, language, tokens, operands }: Script,
  random: (below: number) => number,
): string | null {
  if (operands.length === 0) return null;
  const edits = operands.flatMap(({ first, last }) => {
    const literals = literalsIn(tokens, first, last);
    if (literals.length > 0) return literals.map((token) => replacing(token, otherLiteral(token.text, random)));
    const [open, close] = language === 'python' ? ['(', ')'] : ['[', ']'];
    const from = startOf(tokens[first]);
    const to = endOf(tokens[last]);
    return [
      { from, to: from, text: open },
      { from: to, to, text: `, ${random(90) + 10}${close}` },
    ];
  });
  return edited(test.content, edits);
}

const ANY = `type("A", (), {"__eq__": lambda s, o: True, "__ne__": lambda s, o: False, "__contains__": lambda s, o: True, "__hash__": lambda s: 0})()`;

export function agreeingTwin({ test, language, tokens, operands }: Script): string {
  const edits = operands.map(({ first, last, by }): Edit => {
    const to = endOf(tokens[last]);
    const operator = tokens[by];
    if (language === 'python' || operator === undefined) return { from: startOf(tokens[first]), to, text: ANY };
    if (operator.kind === 'name') return replacing(operator, operator.text.startsWith('to') ? 'toBeDefined' : 'ok');
    return { from: operator.at, to, text: operator.text.startsWith('!') ? '&& false' : '|| true' };
  });
  return edited(test.content, edits);
}

const EXITS = new Set(['exit', 'quit', 'SystemExit']);
/** Ends a process by itself, whatever stands around it. */
const LEAVES_BY_ITSELF = new Set(['_exit', 'abort', 'reallyExit', 'exitCode']);

/** Null where some way out is not seen for certain. */
export function neverTwin({ test, language, tokens }: Script): string | null {
  if (tokens.some((_, index) => leavesByItself(tokens, index))) return null;
  const edits: Edit[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== 'name' || !EXITS.has(text)) continue;
    const close = closingOf(tokens, index + 1);
    if (close !== null) edits.push({ from: endOf(tokens[index + 1]), to: startOf(tokens[close]), text: '2' });
    else if (!isCaught(tokens, index)) return null;
  }
  if (edits.length === 0) return null;
  const outer = edits.filter(({ from }) => !edits.some((other) => other.from < from && from < other.to));
  return `${edited(test.content, outer)}\n${language === 'python' ? 'raise SystemExit(2)' : ''}\n`;
}

function leavesByItself(tokens: readonly Token[], index: number): boolean {
  const { kind, text } = tokens[index] ?? NOTHING;
  const isRunner = text === 'main' && tokens[index - 1]?.text === '.';
  return kind === 'name' && (isRunner || LEAVES_BY_ITSELF.has(text));
}

/** Who names an exit to catch it does not leave by it. */
function isCaught(tokens: readonly Token[], index: number): boolean {
  return tokens[index]?.text === 'SystemExit' && tokens[index - 1]?.text !== 'raise';
}

const COMPARISONS: Readonly<Record<TestLanguage, ReadonlySet<string>>> = {
  python: new Set(['==', '!=', 'in', 'is']),
  javascript: new Set(['==', '!=', '===', '!==']),
};
const ASSERTION = /^(assert_?\w*(equal|same|allclose)\w*|(deep|strict|deepStrict)?equals?|to(be|equal|strictequal))$/i;

function operandsOf(tokens: readonly Token[], language: TestLanguage): readonly Operand[] {
  const found: Operand[] = [];
  const heads = new LoopHeads();
  for (const [index, token] of tokens.entries()) {
    // What ends a loop would make it endless; what a module is called says nothing.
    if (heads.hold(token) || tokens[index - 1]?.text === '__name__') continue;
    if (COMPARISONS[language].has(token.text)) addCompared(found, tokens, index);
    else if (isAssertion(token)) addAsserted(found, tokens, index);
  }
  return found;
}

/** Follows statements: whether a token stands in the head of a `while`, or is the `in` of a `for`. */
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
  // One within another is left to the outer.
  if (end > first && first > (found.at(-1)?.last ?? -1)) found.push({ first, last: end - 1, by });
}

const OPENS: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };
const CLOSES = new Set(Object.values(OPENS));
const ENDS_OPERAND = new Set([
  ...['and', 'or', 'if', 'else', 'for', 'in', 'not', 'is', 'as', ',', ':', '?', '=', ';', '=>'],
  ...['==', '!=', '===', '!==', '<', '>', '<=', '>=', '&&', '||'],
]);

/** Index behind the last token of what begins at `from`. */
function endOfOperand(tokens: readonly Token[], from: number): number {
  let index = from;
  while (index < tokens.length) {
    const { kind, text } = tokens[index] ?? NOTHING;
    if (kind === 'end' || CLOSES.has(text) || ENDS_OPERAND.has(text)) break;
    index = text in OPENS ? (closingOf(tokens, index) ?? tokens.length) + 1 : index + 1;
  }
  return Math.min(index, tokens.length);
}

/** Index of the bracket that closes the one at `open`; null when there is none at either. */
function closingOf(tokens: readonly Token[], open: number): number | null {
  if (deeper(tokens[open]) !== 1) return null;
  let depth = 0;
  for (let index = open; index < tokens.length; index += 1) {
    depth += deeper(tokens[index]);
    if (depth === 0) return index;
  }
  return null;
}

function deeper({ kind, text }: Token = NOTHING): -1 | 0 | 1 {
  if (kind !== 'mark') return 0;
  return text in OPENS ? 1 : CLOSES.has(text) ? -1 : 0;
}

/** Where the last one of those begins and ends that are not given by name. */
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

/** Literals among the tokens, but for arguments of a call: those are a question, no answer. */
function literalsIn(tokens: readonly Token[], first: number, last: number): readonly Token[] {
  const found: Token[] = [];
  for (let index = first; index <= last; index += 1) {
    const token = tokens[index] ?? NOTHING;
    if (token.text in OPENS && index > first && endsValue(tokens[index - 1])) index = closingOf(tokens, index) ?? last;
    else if (isLiteral(token)) found.push(token);
  }
  return found;
}

/** What a bracket behind it calls or asks for a part. */
function endsValue(token: Token = NOTHING): boolean {
  return token.kind === 'name' || token.text === ')' || token.text === ']';
}

function isLiteral({ kind, text }: Token): boolean {
  const isPlainString = kind === 'string' && !/^(`|\w*[fF])/.test(text);
  return kind === 'number' || isPlainString || text in OPPOSITE;
}

const OPPOSITE: Readonly<Record<string, string>> = { True: 'False', False: 'True', true: 'false', false: 'true' };

function otherLiteral(text: string, random: (below: number) => number): string {
  if (text in OPPOSITE) return OPPOSITE[text] ?? text;
  const quote = /^\w*("""|'''|"|')/.exec(text)?.[0];
  if (quote !== undefined) {
    const letters = Array.from({ length: 3 }, () => String.fromCharCode(97 + random(26))).join('');
    return `${quote}${letters}${text.slice(quote.length)}`;
  }
  const more = random(9) + 1;
  if (/^\d{1,15}$/.test(text)) return String(Number(text) + more);
  return /^\d{0,9}\.\d{1,6}$/.test(text) ? String(Number(text) + more) : String(more + 17);
}

/** What a script is made of; comments, blanks and line ends within brackets left out. */
function tokensOf(text: string, language: TestLanguage): readonly Token[] {
  const found: Token[] = [];
  let depth = 0;
  for (let at = 0; at < text.length;) {
    const [kind, word] = wordAt(text, at, LEXERS[language]);
    if (word in OPENS) depth += 1;
    else if (CLOSES.has(word) && depth > 0) depth -= 1;
    if (kind !== null && (kind !== 'end' || depth === 0)) found.push({ kind, text: word, at });
    at += Math.max(1, word.length);
  }
  return found;
}

type Lexer = readonly (readonly [Token['kind'] | null, RegExp])[];

function wordAt(text: string, at: number, lexer: Lexer): readonly [Token['kind'] | null, string] {
  for (const [kind, pattern] of lexer) {
    pattern.lastIndex = at;
    const word = pattern.exec(text)?.[0] ?? '';
    if (word !== '') return [kind, word];
  }
  return [null, ''];
}

const WORDS = [
  ['number', /(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.[\d_]*)?(?:[eE][-+]?\d+)?|\.\d[\d_]*(?:[eE][-+]?\d+)?)[jJn]?/y],
  ['name', /[A-Za-z_$][\w$]*/y],
  ['mark', /===|!==|==|!=|<=|>=|=>|&&|\|\||\*\*|[-+*/%&|^<>=(){}[\],:.;!?@~]/y],
] as const;

const LEXERS: Readonly<Record<TestLanguage, Lexer>> = {
  python: [
    [null, /#[^\n]*|\\\n|[ \t\r\f]+/y],
    ['end', /\n|;/y],
    ['string', /[rRbBuUfF]{0,2}"""(?:[^\\"]|\\[^]|"(?!""))*"""/y],
    ['string', /[rRbBuUfF]{0,2}'''(?:[^\\']|\\[^]|'(?!''))*'''/y],
    ['string', /[rRbBuUfF]{0,2}(?:"(?:[^\\"\n]|\\[^])*"|'(?:[^\\'\n]|\\[^])*')/y],
    ...WORDS,
  ],
  javascript: [
    [null, /\/\/[^\n]*|\/\*(?:[^*]|\*(?!\/))*\*\/|[ \t\r\f]+/y],
    ['end', /\n|;/y],
    ['string', /"(?:[^\\"\n]|\\[^])*"|'(?:[^\\'\n]|\\[^])*'|`(?:[^\\`]|\\[^])*`/y],
    ...WORDS,
  ],
};

function startOf(token: Token = NOTHING): number {
  return token.at;
}

function endOf(token: Token = NOTHING): number {
  return token.at + token.text.length;
}

function replacing(token: Token, text: string): Edit {
  return { from: token.at, to: endOf(token), text };
}

function edited(text: string, edits: readonly Edit[]): string {
  let done = '';
  let at = 0;
  for (const edit of [...edits].sort((a, b) => a.from - b.from)) {
    done += text.slice(at, edit.from) + edit.text;
    at = edit.to;
  }
  return done + text.slice(at);
}
