import { toolSpecs } from '../tools/tool-specs.js';
import type { WrittenCall } from '../tools/action.js';
import { jsonAt } from './lenient-json.js';
import { jsonCall, type Read, unmarkedCall, VENDOR_OPENING, vendorCall } from './vendor-calls.js';

/** Longer calls are rejected: no agent writes a call of this size. */
const LONGEST_CALL = 1_000_000;
/** No tool has nearly as many; an unclosed one is followed to the end of the call. */
const MOST_PARAMETERS = 100;
const LONGEST_NAME = 200;
const END_PARAMETER = '</parameter>';
const TOOL_CALL = '<tool_call>';
const END_TOOL_CALL = '</tool_call>';

const PARAMETER_NAMES = new Set(
  toolSpecs('solver')
    .flatMap(({ parameters }) => Object.keys(parameters.properties as object))
    .concat('cmd'),
);

export interface FoundCall {
  readonly call: WrittenCall;
  /** The text before the call. */
  readonly before: string;
  /** The call as written if it was in function tags; null for every other format. */
  readonly written: string | null;
  /** Whether another call follows. */
  readonly more: boolean;
}

/**
 * The first call in a text, in any format a model may write, or null. Linear in the length of the text.
 *
 * - function tags, on which DeepSWE-Preview was trained: `<function=NAME><parameter=KEY>VALUE</parameter>…</function>`
 * - the same with `name="…"`, or as `<invoke name="…">` (Claude, MiniMax)
 * - JSON in tags: `<function=NAME>{…}</function>` (Llama)
 * - `<tool_call>` around JSON (Hermes, Qwen), around function tags (Qwen3-Coder), around `<arg_key>` and `<arg_value>` (GLM)
 * - special tokens of other families, and unmarked calls (`vendor-calls.ts`)
 *
 * A server with a matching tool parser returns API calls instead, but many run without one.
 * @param isCut whether the answer reached its token limit, so that a call without its end may lack parameters
 */
export function findCall(given: string, isCut = false): FoundCall | null {
  const text = withoutPrefix(given);
  const start = text.search(OPENING);
  if (text.length - Math.max(0, start) > LONGEST_CALL) return null;
  const read = start === -1 ? unmarkedCall(text) : markedCall(text, start);
  if (read === null || (isCut && read.unended === true)) return null;
  const { call, written, end, others = false } = read;
  const before = text.slice(0, start === -1 ? (read as { start?: number }).start : start);
  return { call, written, before, more: others || OPENING.test(text.slice(end)) };
}

/** Removes the prefix of `<minimax:invoke …>` and the like. */
function withoutPrefix(text: string): string {
  const prefix = /<(\w{1,20}:)invoke name=/.exec(text)?.[1];
  return prefix === undefined ? text : text.replaceAll(`<${prefix}`, '<').replaceAll(`</${prefix}`, '</');
}

function markedCall(text: string, start: number): Read | null {
  if (text.startsWith(TOOL_CALL, start)) return toolCall(text, start + TOOL_CALL.length);
  return TAG.test(text.slice(start, start + LONGEST_NAME)) ? inFunctionTags(text, start) : vendorCall(text, start);
}

const TAG = /^<(?:function=|function name=|invoke name=)/;
const OPENING = new RegExp(`<(?:function=|function name=|invoke name=|tool_call>)|${VENDOR_OPENING.source}`);

/**
 * A closing tag counts only where the grammar continues after it, so that code containing one stays whole. A call cut short by
 * a stop sequence counts if at least its last parameter was closed.
 */
function inFunctionTags(text: string, start: number): Read | null {
  const opening = text.startsWith('<invoke', start) ? '<invoke' : '<function';
  const closing = opening.replace('<', '</') + '>';
  const header = headerAt(text, start, opening);
  if (header === null) return null;
  const body = skipBlanks(text, header.end);
  if (text.startsWith('{', body)) {
    const json = jsonAt(text, body);
    return json === null ? null : { call: { name: header.name, parameters: json.value }, written: null, end: json.end };
  }
  return withParameters(text, start, { ...header, closing });
}

/** @param header the function's name, where its parameters begin, and the closing tag */
function withParameters(
  text: string,
  start: number,
  { name, end: from, closing }: { name: string; end: number; closing: string },
): Read | null {
  const parameters: Record<string, string> = {};
  const plain = text.startsWith('<function=', start);
  const done = (end: number): Read => {
    return { call: { name, parameters }, written: plain ? text.slice(start, end).trim() : null, end };
  };
  for (let [at, count] = [from, 0]; count <= MOST_PARAMETERS; count += 1) {
    const next = skipBlanks(text, at);
    if (text.startsWith(closing, next)) return done(next + closing.length);
    // The closing function tag is missing before `</tool_call>`.
    if (text.startsWith(END_TOOL_CALL, next) && Object.keys(parameters).length > 0) return done(next);
    const parameter = headerAt(text, next, '<parameter');
    if (parameter === null) {
      return next < text.length || Object.keys(parameters).length === 0 ? null : { ...done(next), unended: true };
    }
    const close = closingOf(text, parameter.end, closing) ?? unclosed(text, parameter.end, closing);
    if (close === null) return null;
    parameters[parameter.name] = valueOf(parameter.name, text.slice(parameter.end, close.at));
    at = close.next;
  }
  return null;
}

/** Parses `<NAME=x>` and `<NAME name="x" …>`. */
function headerAt(text: string, at: number, opening: string): { name: string; end: number } | null {
  if (!text.startsWith(opening, at)) return null;
  const from = at + opening.length;
  const end = text.slice(from, from + LONGEST_NAME).indexOf('>');
  if (end === -1) return null;
  const said = text.slice(from, from + end);
  const name = /["']([^"']*)["']/.exec(said)?.[1] ?? said.replace('=', '');
  return { name: name.trim(), end: from + end + 1 };
}

interface Closing {
  readonly at: number;
  /** Where parsing continues. */
  readonly next: number;
}

/** The first closing tag that is followed by the end of the call or text, or by a known parameter. */
function closingOf(text: string, from: number, closing: string): Closing | null {
  for (let at = text.indexOf(END_PARAMETER, from); at !== -1; at = text.indexOf(END_PARAMETER, at + 1)) {
    const end = at + END_PARAMETER.length;
    const next = skipBlanks(text, end);
    const ends = [closing, END_TOOL_CALL].some((end) => text.startsWith(end, next));
    if (next === text.length || ends || knownParameterAt(text, next)) return { at, next: end };
  }
  return null;
}

/** An unclosed value ends where the next parameter begins on a new line, or with the call. */
function unclosed(text: string, from: number, closing: string): Closing | null {
  const end = text.indexOf(closing, from);
  if (end === -1) return null;
  for (let at = text.indexOf('\n<parameter', from); at !== -1 && at < end; at = text.indexOf('\n<parameter', at + 1)) {
    if (knownParameterAt(text, at + 1)) return { at: at + 1, next: at + 1 };
  }
  return { at: end, next: end };
}

function knownParameterAt(text: string, at: number): boolean {
  const header = headerAt(text, at, '<parameter');
  return header !== null && PARAMETER_NAMES.has(header.name);
}

const CDATA = /^\s*<!\[CDATA\[([^]*?)\]\]>\s*$/;

/** Models put a value on separate lines; those line ends are not part of it. `file_text` keeps its last one. */
function valueOf(name: string, written: string): string {
  const raw = CDATA.exec(written)?.[1] ?? written;
  if (!raw.startsWith('\n')) return raw;
  return name !== 'file_text' && raw.length > 1 && raw.endsWith('\n') ? raw.slice(1, -1) : raw.slice(1);
}

/** Parses the content of `<tool_call>`. */
function toolCall(text: string, from: number): Read | null {
  const at = skipBlanks(text, from);
  if (TAG.test(text.slice(at, at + LONGEST_NAME))) return inFunctionTags(text, at);
  const closing = END_TOOL_CALL;
  return /[[{]/.test(text.charAt(at)) ? jsonCall(text, at) : withArguments(text, at, closing);
}

/** Parses `NAME <arg_key>KEY</arg_key> <arg_value>VALUE</arg_value> …`. */
function withArguments(text: string, from: number, closing: string): Read | null {
  const end = text.indexOf(closing, from);
  const inner = text.slice(from, end === -1 ? text.length : end);
  const [name = '', ...pairs] = inner.split('<arg_key>');
  const parameters: Record<string, string> = {};
  for (const pair of pairs) {
    const [key = '', value] = pair.split(/<\/arg_key>\s*<arg_value>/);
    if (value === undefined) return null;
    parameters[key.trim()] = value.split('</arg_value>')[0] ?? '';
  }
  const written = name.trim();
  if (written === '' || written.length > LONGEST_NAME) return null;
  const after = end === -1 ? text.length : end + closing.length;
  return { call: { name: written, parameters }, written: null, end: after, unended: end === -1 };
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text.charAt(at))) at += 1;
  return at;
}
