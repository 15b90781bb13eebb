import { ENDS_OPERAND, type Operand, startOfStatement } from './script-comparisons.js';
import { closingOf, CLOSES, type Edit, endOf, NOTHING, OPENS, replacing, type Token } from './script-tokens.js';

/* The literals that a script compares with, and their replacements. */

/** The literals in an operand, else those assigned to a variable on either side of the comparison. */
export function literalsOf(tokens: readonly Token[], { first, last, by }: Operand): readonly Token[] {
  const own = literalsIn(tokens, first, last);
  return own.length > 0 ? own : assignedTo(tokens, first === last ? [first, by - 1] : [by - 1]);
}

const PRINTS = new Set(['print', 'log', 'error']);

/**
 * The literals assigned to one of these names, if it is otherwise only compared and printed: changing a name that is
 * also an input would change the question along with the answer.
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

/** Whether the token is one whole side of a comparison. */
function isCompared(tokens: readonly Token[], index: number): boolean {
  const [before, after] = [tokens[index - 1] ?? NOTHING, tokens[index + 1] ?? NOTHING];
  const isOperator = ({ text }: Token): boolean => /^([!=]==?|is|not)$/.test(text);
  return isOperator(before)
    ? after.kind === 'end' || ENDS_OPERAND.has(after.text) || CLOSES.has(after.text)
    : isOperator(after) && (before.kind === 'end' || ['if', 'assert', 'and', 'or', '(', '='].includes(before.text));
}

/** Cache by script: which tokens are printed. */
const PRINTED = new WeakMap<readonly Token[], readonly boolean[]>();

/** Whether the token is inside the brackets of a printing call. */
function isPrinted(tokens: readonly Token[], index: number): boolean {
  const known = PRINTED.get(tokens) ?? printedIn(tokens);
  PRINTED.set(tokens, known);
  return known[index] ?? false;
}

function printedIn(tokens: readonly Token[]): readonly boolean[] {
  let end = -1;
  return tokens.map(({ kind }, index) => {
    if (PRINTS.has(tokens[index - 1]?.text ?? '')) end = Math.max(end, closingOf(tokens, index) ?? -1);
    if (kind === 'end') end = -1;
    return end > index;
  });
}

/** Whether a template string outside printing calls may contain the name. */
function isInText(tokens: readonly Token[], name: Token = NOTHING): boolean {
  const isTemplate = ({ kind, text }: Token): boolean => kind === 'string' && /^(`|\w*[fF])/.test(text);
  return tokens.some(
    (token, index) => isTemplate(token) && token.text.includes(name.text) && !isPrinted(tokens, index),
  );
}

/** The literals among the tokens, without arguments of calls: those are inputs, not answers. */
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

/** Whether a bracket after this token is a call or a subscript. */
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

/** Words of a script that may replace others. */
const MOST_WORDS = 100;
/** Limits of values searched for in comments and printed texts by one regular expression: count, and characters. */
const MOST_SPOKEN = 50;
const LONGEST_SPOKEN = 500;

/** The replacements of literals in a twin. */
export class OtherLiterals {
  /** The same literal gets the same replacement everywhere, as in the test. */
  private readonly others = new Map<string, string>();
  private readonly words: readonly string[];

  constructor(
    private readonly tokens: readonly Token[],
    private readonly random: (below: number) => number,
  ) {
    const said = tokens.filter(({ kind }) => kind === 'string' || kind === 'name');
    this.words = [...new Set(said.flatMap(({ text }) => text.match(WORD) ?? []))].slice(0, MOST_WORDS);
  }

  /**
   * No literal becomes the original of another, in which a value may be searched for; null if that is unavoidable.
   * @param whole whether they are compared as a whole, not searched for in something
   */
  of(literals: readonly Token[], whole: boolean): readonly Edit[] | null {
    const taken = new Set(literals.flatMap(({ text }) => [text, ...(EQUAL[text] ?? [])]));
    const words = whole ? this.words : [];
    const edits = literals.flatMap((token) => {
      const known = this.others.get(token.text);
      const tries = Array.from({ length: 9 }, () => otherLiteral(token.text, this.random, words));
      const other = [...(known === undefined ? [] : [known]), ...tries].find((text) => !taken.has(text));
      return other === undefined ? [] : [replacing(token, other)];
    });
    if (edits.length < literals.length) return null;
    for (const [index, { text }] of literals.entries()) {
      const other = edits[index]?.text;
      if (other !== undefined && !this.others.has(text)) this.others.set(text, other);
    }
    return edits;
  }

  /**
   * Replaces the values in comments and printed texts as well: a twin that mentions one value and compares with another
   * would be recognisable.
   */
  echoes(content: string, edited: ReadonlySet<Token>): readonly Edit[] {
    const others = new Map([...this.others].map(([text, other]) => [bare(text), bare(other)]));
    const isSought = (text: string): boolean => (text.length > 1 || /\d/.test(text)) && text.length <= LONGEST_SPOKEN;
    const known = [...others.keys()].filter(isSought).slice(0, MOST_SPOKEN);
    if (known.length === 0) return [];
    const spoken = new RegExp(`\\{[^{}]*\\}|(?<![\\w.%])(?:${known.map(escaped).join('|')})(?!\\w|\\.\\w)`, 'g');
    const places = this.tokens.flatMap((token, index): [number, number][] => {
      const before = this.tokens[index - 1];
      const gap: [number, number] = [before === undefined ? 0 : endOf(before), token.at];
      const isSaid =
        token.kind === 'string' && !edited.has(token) && (isPrinted(this.tokens, index) || isAlone(this.tokens, index));
      return isSaid ? [gap, [token.at, endOf(token)]] : [gap];
    });
    places.push([endOf(this.tokens.at(-1)), content.length]);
    return places.flatMap(([from, to]) => {
      const said = content.slice(from, to);
      const text = said.replace(spoken, (word) => others.get(word) ?? word);
      return text === said ? [] : [{ from, to, text }];
    });
  }
}

/** Without its quotes. */
function bare(text: string): string {
  return text.replace(/^\w*("""|'''|"|')(.*)\1$/s, '$2');
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** Whether it is a statement by itself, or the message of an assertion. */
function isAlone(tokens: readonly Token[], index: number): boolean {
  const [before, after] = [tokens[index - 1] ?? NOTHING, tokens[index + 1] ?? NOTHING];
  if (after.kind !== 'end') return false;
  if (before.kind === 'end') return true;
  const start = startOfStatement(tokens, index);
  return before.text === ',' && tokens[start]?.text === 'assert';
}

const EQUAL: Readonly<Record<string, readonly string[]>> = {
  ...{ '0': ['False', 'false'], '1': ['True', 'true'] },
  ...{ False: ['0'], false: ['0'], True: ['1'], true: ['1'] },
};

function otherLiteral(text: string, random: (below: number) => number, words: readonly string[]): string {
  const opposite = OPPOSITE.get(text);
  if (opposite !== undefined) return opposite;
  const quote = /^\w*("""|'''|"|')/.exec(text)?.[0];
  if (quote !== undefined) return otherWord(text, random, words) ?? otherString(text, quote, random);
  const more = random(9) + 1;
  if (/^\d{1,15}$/.test(text)) return String(Number(text) + more);
  return /^\d{0,9}\.\d{1,6}$/.test(text) ? String(Number(text) + more) : String(more + 17);
}

const WORD = /[A-Za-z]{4,}/g;

/**
 * Replaces a word by another one of the script, since a misspelt word would occur nowhere in the repository. Null if
 * there is none, or if the text has a digit, which any other digit can replace.
 */
function otherWord(text: string, random: (below: number) => number, words: readonly string[]): string | null {
  const own = /[\d\\]/.test(text) ? [] : [...text.matchAll(WORD)];
  const others = words.filter((word) => !text.includes(word));
  const place = own[random(Math.max(1, own.length))];
  const other = others[random(Math.max(1, others.length))];
  if (place === undefined || other === undefined) return null;
  return text.slice(0, place.index) + other + text.slice(place.index + place[0].length);
}

/** Replaces a letter or digit, so that the text still looks handwritten. */
function otherString(text: string, quote: string, random: (below: number) => number): string {
  const inside = text.slice(quote.length);
  const all = /\d/.test(inside) ? /\d/g : /[a-z]/gi;
  const places = text.includes('\\') ? [] : [...inside.matchAll(all)];
  const place = places[random(Math.max(1, places.length))];
  const letter = String.fromCharCode(97 + random(26));
  if (place === undefined) return `${quote}${letter}${text.slice(quote.length)}`;
  const at = quote.length + place.index;
  const old = text.charAt(at);
  const other = /\d/.test(old) ? String((Number(old) + 1 + random(9)) % 10) : letter === old ? 'x' : letter;
  return `${text.slice(0, at)}${other === old ? 'y' : other}${text.slice(at + 1)}`;
}
