/**
 * Parser for the Markdown that issues are written in. Common libraries overflow the stack, or take seconds, on 20 kB of `- -
 * - …`; this one reads each line a bounded number of times, and nests at most `DEEPEST` levels. HTML, including comments, is
 * shown as text: models read it, so the reader has to see it.
 */
export type Block =
  | { readonly kind: 'heading' | 'paragraph' | 'code'; readonly text: string }
  | { readonly kind: 'rule' }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly first: number | null; readonly items: readonly (readonly Block[])[] }
  | { readonly kind: 'table'; readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

const DEEPEST = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}(?=\s|$)/;
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])( +|$)/;
const INDENTED = /^(?: {4}|\t)/;

/** A position in the lines being parsed. */
interface Reading {
  readonly lines: readonly string[];
  readonly depth: number;
  at: number;
}

export function blocksOf(text: string): readonly Block[] {
  return read(text.replaceAll('\r\n', '\n').split('\n'), 0);
}

function read(lines: readonly string[], depth: number): Block[] {
  const reading: Reading = { lines, depth, at: 0 };
  const blocks: Block[] = [];
  while (reading.at < lines.length) {
    if (isBlank(lines[reading.at])) reading.at += 1;
    else blocks.push(readBlock(reading));
  }
  return blocks;
}

/** Tests for the start of a block, with their parsers; the first match wins. */
const READERS: readonly (readonly [(line: string, reading: Reading) => boolean, (reading: Reading) => Block])[] = [
  [(line) => FENCE.test(line), fenced],
  [(line) => HEADING.test(line), (reading) => ({ kind: 'heading', text: lineOf(reading).replace(HEADING, '').trim() })],
  [(line) => RULE.test(line), (reading) => (lineOf(reading), { kind: 'rule' })],
  [(line, { depth }) => depth < DEEPEST && QUOTE.test(line), quote],
  [(line, { depth }) => depth < DEEPEST && ITEM.test(line), list],
  [(line) => INDENTED.test(line), indented],
  [(line, { lines, at }) => line.includes('|') && isDelimiters(lines[at + 1]), table],
];

function readBlock(reading: Reading): Block {
  const line = reading.lines[reading.at] ?? '';
  const [, reader = paragraph] = READERS.find(([fits]) => fits(line, reading)) ?? [];
  return reader(reading);
}

/** Returns the current line and advances. */
function lineOf(reading: Reading): string {
  reading.at += 1;
  return reading.lines[reading.at - 1] ?? '';
}

function quote(reading: Reading): Block {
  const lines = taken(reading, (line) => QUOTE.test(line)).map((line) => line.replace(QUOTE, ''));
  return { kind: 'quote', blocks: read(lines, reading.depth + 1) };
}

function indented(reading: Reading): Block {
  const code = taken(reading, (line) => INDENTED.test(line)).map((line) => line.replace(INDENTED, ''));
  return { kind: 'code', text: code.join('\n') };
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === '';
}

function isDelimiters(line: string | undefined): boolean {
  return line?.includes('|') === true && cellsOf(line).every((cell) => /^:?-+:?$/.test(cell));
}

/** The lines from here on for which `holds`; at least one. */
function taken(reading: Reading, holds: (line: string) => boolean): string[] {
  const from = reading.at;
  do reading.at += 1;
  while (reading.at < reading.lines.length && holds(reading.lines[reading.at] ?? ''));
  return reading.lines.slice(from, reading.at);
}

/** Up to the closing fence, or to the end. */
function fenced(reading: Reading): Block {
  const fence = FENCE.exec(reading.lines[reading.at] ?? '')?.[1] ?? '';
  const [, ...code] = taken(reading, (line) => !isFence(line, fence));
  reading.at += 1;
  return { kind: 'code', text: code.join('\n') };
}

function isFence(line: string, open: string): boolean {
  const text = line.trim();
  return text.startsWith(open) && text === (open[0] ?? '').repeat(text.length);
}

function paragraph(reading: Reading): Block {
  const lines = taken(reading, (line) => !isBlank(line) && !begins(line));
  return { kind: 'paragraph', text: lines.join('\n').trim() };
}

function begins(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE, ITEM].some((mark) => mark.test(line));
}

/** Items with the same kind of marker; lines indented as far as an item's text belong to it. */
function list(reading: Reading): Block {
  const mark = markOf(reading.lines[reading.at]);
  const items: (readonly Block[])[] = [];
  while (mark.at(-1) === markOf(reading.lines[reading.at]).at(-1)) items.push(item(reading));
  return { kind: 'list', first: /^\d/.test(mark) ? Number.parseInt(mark, 10) : null, items };
}

/** Empty = the line does not start an item. */
function markOf(line = ''): string {
  return RULE.test(line) ? '' : (ITEM.exec(line)?.[2] ?? '');
}

function item(reading: Reading): readonly Block[] {
  const line = reading.lines[reading.at] ?? '';
  const begin = ITEM.exec(line)?.[0].length ?? 0;
  const width = Math.min(begin, 6);
  const [, ...rest] = taken(reading, (each) => isBlank(each) || indentOf(each) >= width || goesOn(reading, each));
  const inner = rest.map((each) => each.slice(Math.min(width, indentOf(each))));
  return read([line.slice(begin), ...inner], reading.depth + 1);
}

/** Whether an unindented line continues a paragraph. */
function goesOn({ lines, at }: Reading, line: string): boolean {
  return !isBlank(lines[at - 1]) && !begins(line);
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

const MOST_COLUMNS = 40;

function table(reading: Reading): Block {
  const [head = '', , ...rows] = taken(reading, (line) => line.includes('|'));
  return { kind: 'table', head: cellsOf(head), rows: rows.map(cellsOf) };
}

function cellsOf(line: string): readonly string[] {
  const cells = line.trim().replace(/^\|/, '').replace(/\|$/, '').split('|', MOST_COLUMNS);
  return cells.map((cell) => cell.trim());
}
