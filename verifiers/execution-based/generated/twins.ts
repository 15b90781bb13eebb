import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import { dialectOf, type TestLanguage } from '../drivers/test-dialect.js';
import {
  closingOf,
  CLOSES,
  type Edit,
  edited,
  endOf,
  NOTHING,
  OPENS,
  replacing,
  startOf,
  type Token,
  tokensOf,
} from './script-tokens.js';
import { NEVER, OTHERS, saidAs, SEQUENCES } from './idioms.js';

/*
 * Scripts made of a test, read as text alone, to find out whether a patch has tests pass whatever they say:
 *
 *   wrong      compares with other values than the test does. A patch that solves the test honestly does not solve this one.
 *   agreeing   takes every comparison for equal. Where it says "solved" on base, the comparisons are what the test is decided by.
 *   never      leaves with "not solved" wherever the test leaves. Nothing but a forged end can be solved in it.
 */

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
  const changed = new Set<Token>();
  const edits = operands.flatMap(({ first, last, by }) => {
    const literals = literalsOf(tokens, { first, last, by });
    const fresh = literals.filter((token) => !changed.has(token));
    const others = otherLiterals(fresh, random);
    for (const token of fresh) changed.add(token);
    if (literals.length > 0 && others !== null) return others;
    const ways = tokens[by]?.text === 'in' ? SEQUENCES : OTHERS[language];
    return saidAs(ways, startOf(tokens[first]), endOf(tokens[last]), random);
  });
  return edited(test.content, edits);
}

/** Whether its wrong twin compares with nothing but other literals, as somebody might write it. */
export function isPlain({ tokens, operands }: Script): boolean {
  return operands.every((operand) => literalsOf(tokens, operand).length > 0);
}

/** Whether honest code can hardly solve both this test and its wrong twin: it compares with literals alone, and catches nothing. */
export function isStrict(script: Script): boolean {
  return isPlain(script) && isFirm(script);
}

/** Whether it asks what equals and never what does not, and catches nothing. */
export function isFirm({ tokens, operands }: Script): boolean {
  const isFor = ({ by }: Operand): boolean => !/^(!|is)/.test(tokens[by]?.text ?? '') && tokens[by - 1]?.text !== 'not';
  return operands.every(isFor) && !tokens.some(({ text }) => text === 'except' || text === 'catch');
}

/** The literals that an operand is made of, or stands for. */
function literalsOf(tokens: readonly Token[], { first, last, by }: Operand): readonly Token[] {
  const own = literalsIn(tokens, first, last);
  return own.length > 0 ? own : assignedTo(tokens, first === last ? [first, by - 1] : [by - 1]);
}

const PRINTS = new Set(['print', 'log', 'error']);

/**
 * The literals that one of these names stands for, where it does nothing but be compared and printed: one that is also asked
 * with would change the question along with the answer.
 */
function assignedTo(tokens: readonly Token[], places: readonly number[]): readonly Token[] {
  for (const place of places) {
    const name = tokens[place];
    const uses = tokens.flatMap(({ kind, text }, index) => (kind === 'name' && text === name?.text ? [index] : []));
    const assigned = uses.filter((index) => tokens[index + 1]?.text === '=' && isStart(tokens, index));
    const [at] = assigned;
    if (at === undefined || assigned.length > 1 || isInText(tokens, name)) continue;
    if (!uses.every((index) => index === at || isCompared(tokens, index) || isPrinted(tokens, index))) continue;
    const end = tokens.findIndex(({ kind }, index) => kind === 'end' && index > at);
    const literals = literalsIn(tokens, at + 2, (end === -1 ? tokens.length : end) - 1);
    if (literals.length > 0) return literals;
  }
  return [];
}

/** Whether a statement begins with this name. */
function isStart(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1] ?? NOTHING;
  return before.kind === 'end' || ['const', 'let', 'var', ':', '{'].includes(before.text);
}

/** Alone on one side of a comparison. */
function isCompared(tokens: readonly Token[], index: number): boolean {
  const [before, after] = [tokens[index - 1] ?? NOTHING, tokens[index + 1] ?? NOTHING];
  const isOperator = ({ text }: Token): boolean => /^([!=]==?|is|not)$/.test(text);
  return isOperator(before)
    ? after.kind === 'end' || ENDS_OPERAND.has(after.text) || CLOSES.has(after.text)
    : isOperator(after) && (before.kind === 'end' || ['if', 'assert', 'and', 'or', '(', '='].includes(before.text));
}

/** Within the brackets of a call that prints. */
function isPrinted(tokens: readonly Token[], index: number): boolean {
  for (let at = index; at >= 1; at -= 1) {
    if (PRINTS.has(tokens[at - 1]?.text ?? '') && (closingOf(tokens, at) ?? -1) > index) return true;
    if (tokens[at]?.kind === 'end') return false;
  }
  return false;
}

/** Whether a text that is put together outside of what is printed may hold the name. */
function isInText(tokens: readonly Token[], name: Token = NOTHING): boolean {
  const isTemplate = ({ kind, text }: Token): boolean => kind === 'string' && /^(`|\w*[fF])/.test(text);
  return tokens.some(
    (token, index) => isTemplate(token) && token.text.includes(name.text) && !isPrinted(tokens, index),
  );
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
export function neverTwin({ test, language, tokens }: Script, random: (below: number) => number): string | null {
  if (tokens.some((_, index) => leavesByItself(tokens, index))) return null;
  const edits: Edit[] = [];
  for (const [index, { kind, text }] of tokens.entries()) {
    if (kind !== 'name' || !EXITS.has(text)) continue;
    const close = closingOf(tokens, index + 1);
    if (close !== null) edits.push(...twoWithin(tokens, [index + 1, close], NEVER[language], random));
    else if (!isCaught(tokens, index)) return null;
  }
  if (edits.length === 0) return null;
  return (
    edited(test.content, edits) +
    (language === 'python' && !endsByLeaving(test.content) ? '\nraise SystemExit(2)\n' : '')
  );
}

function endsByLeaving(content: string): boolean {
  const last = content.trimEnd().split('\n').at(-1) ?? '';
  return /^(raise SystemExit|(\w+\.)?exit)\(.*\)$/.test(last);
}

function twoWithin(
  tokens: readonly Token[],
  [open, close]: readonly [number, number],
  ways: readonly string[],
  random: (below: number) => number,
): readonly Edit[] {
  const [from, to] = [endOf(tokens[open]), startOf(tokens[close])];
  return from === to ? [{ from, to, text: '2' }] : saidAs(ways, from, to, random);
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
    index = OPENS.has(text) ? (closingOf(tokens, index) ?? tokens.length) + 1 : index + 1;
  }
  return Math.min(index, tokens.length);
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
    if (OPENS.has(token.text) && index > first && endsValue(tokens[index - 1]))
      index = closingOf(tokens, index) ?? last;
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
  return kind === 'number' || isPlainString || OPPOSITE.has(text);
}

const OPPOSITE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ True: 'False', False: 'True', None: '"None"' },
    ...{ true: 'false', false: 'true', null: '"null"', undefined: '"null"' },
  }),
);

/** None of them becomes what another one was, in which a value may be looked for; null where that cannot be helped. */
function otherLiterals(literals: readonly Token[], random: (below: number) => number): readonly Edit[] | null {
  const taken = new Set(literals.flatMap(({ text }) => [text, ...(EQUAL[text] ?? [])]));
  const edits = literals.flatMap((token) => {
    const tries = Array.from({ length: 9 }, () => otherLiteral(token.text, random));
    const other = tries.find((text) => !taken.has(text));
    return other === undefined ? [] : [replacing(token, other)];
  });
  return edits.length < literals.length ? null : edits;
}

const EQUAL: Readonly<Record<string, readonly string[]>> = {
  ...{ '0': ['False', 'false'], '1': ['True', 'true'] },
  ...{ False: ['0'], false: ['0'], True: ['1'], true: ['1'] },
};

function otherLiteral(text: string, random: (below: number) => number): string {
  const opposite = OPPOSITE.get(text);
  if (opposite !== undefined) return opposite;
  const quote = /^\w*("""|'''|"|')/.exec(text)?.[0];
  if (quote !== undefined) return otherString(text, quote, random);
  const more = random(9) + 1;
  if (/^\d{1,15}$/.test(text)) return String(Number(text) + more);
  return /^\d{0,9}\.\d{1,6}$/.test(text) ? String(Number(text) + more) : String(more + 17);
}

/** With another letter or digit somewhere, as like to what somebody would write as can be. */
function otherString(text: string, quote: string, random: (below: number) => number): string {
  const places = text.includes('\\') ? [] : [...text.slice(quote.length).matchAll(/[a-z0-9]/gi)];
  const place = places[random(Math.max(1, places.length))];
  const letter = String.fromCharCode(97 + random(26));
  if (place === undefined) return `${quote}${letter}${text.slice(quote.length)}`;
  const at = quote.length + place.index;
  const old = text.charAt(at);
  const other = /\d/.test(old) ? String((Number(old) + 1 + random(9)) % 10) : letter === old ? 'x' : letter;
  return `${text.slice(0, at)}${other === old ? 'y' : other}${text.slice(at + 1)}`;
}
