import { toolSpecs } from '../tools/tool-specs.js';
import type { WrittenCall } from './action.js';

/** Longer calls are refused: nothing an agent writes by hand is of this size. */
const LONGEST_CALL = 1_000_000;
const LONGEST_NAME = 200;
/** How often a text that closes a call may stand inside it. */
const MOST_CLOSINGS = 10;
const END_PARAMETER = '</parameter>';
const TOOL_CALL = '<tool_call>';

const PARAMETER_NAMES = new Set(
  toolSpecs('solver')
    .flatMap(({ parameters }) => Object.keys(parameters.properties as object))
    .concat('cmd'),
);

export interface FoundCall {
  readonly call: WrittenCall;
  /** What stands before the call. */
  readonly before: string;
  /** The call as it was written when that was in function tags; null for every other way. */
  readonly written: string | null;
  /** Whether another call follows. */
  readonly more: boolean;
}

interface Read extends Pick<FoundCall, 'call' | 'written'> {
  readonly end: number;
}

/**
 * The first call of a text, in whichever way a model writes it, or null. Linear in its length.
 *
 * - function tags, in which DeepSWE-Preview was trained: `<function=NAME><parameter=KEY>VALUE</parameter>…</function>`
 * - the same with `name="…"`, or as `<invoke name="…">` (Claude, MiniMax)
 * - JSON in tags: `<function=NAME>{…}</function>` (Llama)
 * - `<tool_call>` around JSON (Hermes, Qwen), around function tags (Qwen3-Coder), around `<arg_key>` and `<arg_value>` (GLM)
 *
 * A server with the fitting tool parser gives calls of the API in their place; many are started without.
 */
export function findCall(text: string): FoundCall | null {
  const start = text.search(OPENING);
  if (start === -1 || text.length - start > LONGEST_CALL) return null;
  const read = text.startsWith(TOOL_CALL, start)
    ? toolCall(text, start + TOOL_CALL.length)
    : inFunctionTags(text, start);
  if (read === null) return null;
  const { end, ...found } = read;
  return { ...found, before: text.slice(0, start), more: OPENING.test(text.slice(end)) };
}

const OPENING = /<(?:function=|function name=|invoke name=|tool_call>)/;

/**
 * A closing tag counts only where the grammar goes on behind it, so that code which holds one stays whole; a call that the
 * end of the answer (or a stop sequence) cuts short counts when at least its last parameter was closed.
 */
function inFunctionTags(text: string, start: number): Read | null {
  const opening = text.startsWith('<invoke', start) ? '<invoke' : '<function';
  const closing = opening.replace('<', '</') + '>';
  const header = headerAt(text, start, opening);
  if (header === null) return null;
  const body = skipBlanks(text, header.end);
  if (text.startsWith('{', body)) {
    const json = jsonBefore(text, body, closing);
    return json === null ? null : { call: { name: header.name, parameters: json.value }, written: null, end: json.end };
  }
  return withParameters(text, start, { ...header, closing });
}

/** @param header where the parameters begin, and what closes them */
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
  for (let at = from; ;) {
    const next = skipBlanks(text, at);
    if (text.startsWith(closing, next)) return done(next + closing.length);
    const parameter = headerAt(text, next, '<parameter');
    if (parameter === null) {
      return next < text.length || Object.keys(parameters).length === 0 ? null : done(next);
    }
    const close = closingOf(text, parameter.end, closing) ?? unclosed(text, parameter.end, closing);
    if (close === null) return null;
    parameters[parameter.name] = valueOf(parameter.name, text.slice(parameter.end, close.at));
    at = close.next;
  }
}

/** `<NAME=x>` and `<NAME name="x" …>`. */
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
  /** Where to go on. */
  readonly next: number;
}

/** The first closing tag behind which the call ends, the text ends, or a parameter that exists begins. */
function closingOf(text: string, from: number, closing: string): Closing | null {
  for (let at = text.indexOf(END_PARAMETER, from); at !== -1; at = text.indexOf(END_PARAMETER, at + 1)) {
    const end = at + END_PARAMETER.length;
    const next = skipBlanks(text, end);
    if (next === text.length || text.startsWith(closing, next) || knownParameterAt(text, next))
      return { at, next: end };
  }
  return null;
}

/** A value that was never closed ends where the next parameter begins on a line of its own, or with the call. */
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

/** Models put a value on lines of its own; these line ends are not the value's. A file keeps its last one. */
function valueOf(name: string, raw: string): string {
  if (!raw.startsWith('\n')) return raw;
  return name !== 'file_text' && raw.length > 1 && raw.endsWith('\n') ? raw.slice(1, -1) : raw.slice(1);
}

/** What stands between `<tool_call>` and its end. */
function toolCall(text: string, from: number): Read | null {
  const at = skipBlanks(text, from);
  if (text.startsWith('<function', at)) return inFunctionTags(text, at);
  const closing = '</tool_call>';
  if (!text.startsWith('{', at)) return withArguments(text, at, closing);
  const json = jsonBefore(text, at, closing);
  if (json === null) return null;
  const { name, arguments: given, parameters = given } = json.value;
  const values = typeof parameters === 'string' ? parseObject(parameters) : asObject(parameters ?? {});
  return typeof name !== 'string' || values === null
    ? null
    : { call: { name, parameters: values }, written: null, end: json.end };
}

/** `NAME <arg_key>KEY</arg_key> <arg_value>VALUE</arg_value> …` */
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
  return { call: { name: written, parameters }, written: null, end: after };
}

/** A JSON object that begins at `from` and ends before `closing`, or with the text where that was left out. */
function jsonBefore(text: string, from: number, closing: string): { value: JsonObject; end: number } | null {
  let at = text.indexOf(closing, from);
  for (let tried = 0; at !== -1 && tried < MOST_CLOSINGS; tried += 1, at = text.indexOf(closing, at + 1)) {
    const value = parseObject(text.slice(from, at));
    if (value !== null) return { value, end: at + closing.length };
  }
  const value = parseObject(text.slice(from));
  return value === null ? null : { value, end: text.length };
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** @returns null for what is no JSON object; one that was written as a JSON text once more is unpacked */
export function parseObject(text: string): JsonObject | null {
  const value = parse(text);
  return asObject(typeof value === 'string' ? parse(value) : value);
}

function asObject(value: unknown): JsonObject | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text.charAt(at))) at += 1;
  return at;
}
