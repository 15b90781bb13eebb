import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import { dialectOf, type TestLanguage } from '../drivers/test-dialect.js';
import {
  closingOf,
  type Edit,
  edited,
  endOf,
  NOTHING,
  replacing,
  startOf,
  type Token,
  tokensOf,
} from './script-tokens.js';
import { EXITS, type Operand, operandsOf } from './script-comparisons.js';
import { literalsOf, OtherLiterals } from './literals.js';

/*
 * Scripts made from a test's text, to find out whether a patch makes tests pass regardless of their content:
 *
 *   wrong      compares with other values than the test. A patch that honestly solves the test does not solve it.
 *   agreeing   takes every comparison for equal. If base solves it, the comparisons decide the test.
 *   never      exits with "not solved" wherever the test exits. Only a forged outcome can be "solved".
 */

/** What the twins of one test are made from; null if its language is unknown, or the test too long. */
export interface Script {
  readonly test: GeneratedTest;
  readonly language: TestLanguage;
  readonly tokens: readonly Token[];
  readonly operands: readonly Operand[];
}

const LONGEST = 100_000;

export function readScript(test: GeneratedTest): Script | null {
  const language = dialectOf(test)?.name;
  if (language === undefined || language === 'command' || test.content.length > LONGEST) return null;
  const tokens = tokensOf(test.content, language);
  const operands = operandsOf(tokens, language);
  return operands && { test, language, tokens, operands };
}

/** @param random integers in 0 ≤ n < its argument */
export function wrongTwin(
  { test, language, tokens, operands }: Script,
  random: (below: number) => number,
): string | null {
  if (operands.length === 0) return null;
  const changed = new Set<Token>();
  const literals = new OtherLiterals(tokens, random);
  const edits = operands.flatMap((operand) => {
    const { first, last, by } = operand;
    const found = literalsOf(tokens, operand);
    const fresh = found.filter((token) => !changed.has(token));
    const isSought = tokens[by]?.text === 'in';
    const others = literals.of(fresh, !isSought);
    for (const token of fresh) changed.add(token);
    if (found.length > 0 && others !== null) return others;
    return saidAs(isSought ? SEQUENCES : OTHERS[language], startOf(tokens[first]), endOf(tokens[last]), random);
  });
  const within = new Set<Token>(operands.flatMap(({ first, last }) => tokens.slice(first, last + 1)));
  return edited(test.content, [...edits, ...literals.echoes(test.content, within)]);
}

/** Whether its wrong twin compares only with other literals, as a handwritten test might. */
export function isPlain({ tokens, operands }: Script): boolean {
  return operands.every((operand) => literalsOf(tokens, operand).length > 0);
}

/** Whether honest code can hardly solve both it and its wrong twin: it compares only with literals, catches nothing. */
export function isStrict(script: Script): boolean {
  return isPlain(script) && isFirm(script);
}

/** Whether it only asks for equality, never for inequality, and catches nothing. */
export function isFirm({ tokens, operands }: Script): boolean {
  const isFor = ({ by }: Operand): boolean => !/^(!|is)/.test(tokens[by]?.text ?? '') && tokens[by - 1]?.text !== 'not';
  return operands.every(isFor) && !tokens.some(({ text }) => text === 'except' || text === 'catch');
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

/** Names that end a process regardless of the surrounding code. */
const LEAVES_BY_ITSELF = new Set(['_exit', 'abort', 'reallyExit', 'exitCode']);

/** Null if some way to exit is not recognised with certainty. */
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

/** An exit that is named to catch it is not an exit. */
function isCaught(tokens: readonly Token[], index: number): boolean {
  return tokens[index]?.text === 'SystemExit' && tokens[index - 1]?.text !== 'raise';
}

/* What twins contain instead of an expression `@`, in many variants that no patch can recognise; `#` is a number. */

/** Contains no element of the expression, and equals no value, not even as an array compared by element. */
const SEQUENCES: readonly string[] = [
  ...['[@, #]', '(@, #)', '[#, @]', '(#, @)', '[[@], #]', '([@], #)', 'list((@, #))', 'iter([@, #])', 'tuple([#, @])'],
];

/** Also equals no value. */
export const OTHERS: Readonly<Record<TestLanguage, readonly string[]>> = {
  python: [
    ...SEQUENCES,
    ...['{#: @}', '{"value": @}', 'dict(value=@)', 'type(@)', 'id(@)', 'str(@) + "#"', '"#" + repr(@)', '(lambda: @)'],
  ],
  javascript: [
    ...[
      '[#, @]',
      '[@, #]',
      '[[@], #]',
      '({ value: @ })',
      '({ at: #, value: @ })',
      'String(@) + "#"',
      '"#" + String(@)',
    ],
    ...['new Set([@, #])', 'new Map([[#, @]])', '(() => @)'],
  ],
};

/** Is 2 whatever the status would have been, and contains the original, so as to look like it. */
export const NEVER: Readonly<Record<TestLanguage, readonly string[]>> = {
  python: [
    ...['2 if (@) else 2', '(@) and 2 or 2', '(2, 2)[bool(@)]', '[2, 2][not (@)]', '2 + 0 * bool(@)', '(@, 2)[1]'],
    ...[
      '[@, 2][-1]',
      '2 - bool(@) * 0',
      '1 + 1 ** bool(@)',
      '2 * 1 ** bool(@)',
      '{0: 2}.get(bool(@), 2)',
      'len([@, 0])',
    ],
    ...['3 - (1 if (@) else 1)', '(not (@)) * 0 + 2', '[2 for _ in [@]][0]', '(lambda code: 2)(@)'],
  ],
  javascript: [
    ...['(@) ? 2 : 2', '(@) && 2 || 2', '[2, 2][Number(!(@))]', '[@, 2][1]', '2 + 0 * Number(!(@))', '[@, 0].length'],
    ...['3 - ((@) ? 1 : 1)', '((code) => 2)(@)', '1 + 1 ** Number(!(@))', '2 - Number(!(@)) * 0'],
  ],
};

/** Wraps a part of a text in one of these variants. */
function saidAs(ways: readonly string[], from: number, to: number, random: (below: number) => number): readonly Edit[] {
  const [before = '', behind = ''] = (ways[random(ways.length)] ?? '@').split('@');
  const numbered = (text: string): string => text.replace('#', String(random(90) + 10));
  return [
    { from, to: from, text: numbered(before) },
    { from: to, to, text: numbered(behind) },
  ];
}
