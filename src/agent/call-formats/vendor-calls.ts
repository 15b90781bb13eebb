import type { WrittenCall } from '../tools/action.js';
import { knownTool } from '../tools/action.js';
import { asObject, jsonAt, type JsonObject, parseObject } from './lenient-json.js';

/** A call found in a text. */
export interface Read {
  readonly call: WrittenCall;
  /** The call as written if it was in function tags; null for every other format. */
  readonly written: string | null;
  readonly end: number;
  /** Whether the text ends before the call does. */
  readonly unended?: boolean;
  /** Whether it is the first of a list. */
  readonly others?: boolean;
}

/**
 * Start of a call, including its name, in the special tokens of a model family whose server does not parse them: Kimi K2,
 * DeepSeek V3 and V3.1, Mistral from 2025 on, OpenAI's open weights.
 */
const NAMED: readonly RegExp[] = [
  /<\|tool_call_begin\|>\s*([^<\s]{1,200})\s*<\|tool_call_argument_begin\|>\s*/y,
  /<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?([^<\s]{1,200})(?:<｜tool▁sep｜>|\s*```json)?\s*/y,
  /\[TOOL_CALLS\]\s*([\w.]{1,200})(?:\[CALL_ID\]\w{0,100})?(?:\[ARGS\])?\s*/y,
  /<\|channel\|>[^<]{0,200}\bto=([\w.]{1,200})[^<]{0,200}(?:<\|constrain\|>\w{0,20})?\s*<\|message\|>\s*/y,
];

/** Prefix of a call whose name is in its JSON: Mistral, Llama 3, Granite, Phi, and tags that models invent. */
const UNNAMED =
  /(?:\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_call\|>|<(?:tool_calls|function_call|functioncall|tool_use)>)\s*/y;

/** Start of any of these. */
export const VENDOR_OPENING =
  /<\|tool_call_begin\|>|<｜tool▁call▁begin｜>|\[TOOL_CALLS\]|<\|channel\|>[^<]{0,200}\bto=|<\|python_tag\|>|<\|tool_call\|>|<(?:tool_calls|function_call|functioncall|tool_use)>/;

/** The call that begins at `start`; null if it is incomplete. */
export function vendorCall(text: string, start: number): Read | null {
  for (const pattern of NAMED) {
    const [opening, name] = at(pattern, text, start);
    const json = opening === null ? null : jsonAt(text, start + opening.length);
    if (json !== null && !json.others) return made((name ?? '').replace(/:\d+$/, ''), json.value, json.end);
  }
  const [opening] = at(UNNAMED, text, start);
  return opening === null ? null : jsonCall(text, start + opening.length);
}

function at(
  pattern: RegExp,
  text: string,
  start: number,
): readonly [opening: string | null, name?: string | undefined] {
  pattern.lastIndex = start;
  const found = pattern.exec(text);
  return found === null ? [null] : [found[0], found[1]];
}

/** `{"name": …, "arguments": {…}}`, or a list of these, with the member names of several families. */
export function jsonCall(text: string, from: number): Read | null {
  const json = jsonAt(text, from);
  if (json === null) return null;
  const call = calledIn(json.value);
  return call === null ? null : { ...made(call.name, call.parameters, json.end), others: json.others };
}

const NAME_KEYS = ['name', 'tool', 'tool_name'];
const ARGUMENT_KEYS = ['parameters', 'arguments', 'input', 'args'];

function calledIn(json: JsonObject): WrittenCall | null {
  const inner = asObject(json.function) ?? json;
  const first = (keys: readonly string[]): unknown =>
    keys.map((key) => inner[key]).find((value) => value !== undefined);
  const [name, parameters = {}] = [first(NAME_KEYS), first(ARGUMENT_KEYS)];
  const values = typeof parameters === 'string' ? parseObject(parameters) : asObject(parameters);
  return typeof name !== 'string' || values === null ? null : { name, parameters: values };
}

function made(name: string, parameters: JsonObject, end: number): Read {
  return { call: { name, parameters }, written: null, end };
}

/**
 * Calls without a mark: JSON as the whole answer or in a code block (Llama 3), a Python list of calls (Llama 4), ReAct's lines,
 * tags named after tools (OpenHands, Cline). Only calls of existing tools count.
 */
export function unmarkedCall(text: string): (Read & { readonly start: number }) | null {
  for (const [pattern, read] of UNMARKED) {
    const found = pattern.exec(text);
    const call = found === null ? null : read(text, found);
    if (found !== null && call !== null && knownTool(call.call.name) !== null) return { ...call, start: found.index };
  }
  return null;
}

const UNMARKED: readonly (readonly [RegExp, (text: string, found: RegExpExecArray) => Read | null])[] = [
  [/^\s*(?=[[{]\s*[{"])/, (text, [blanks]) => jsonCall(text, blanks.length)],
  [
    /```(?:json|tool_call|tool)?[ \t]*\n\s*(?=[[{])/,
    (text, { index, 0: opening }) => jsonCall(text, index + opening.length),
  ],
  [
    /^Action:[ \t]*([\w.]{1,100})[ \t]*\n+Action Input:\s*(?=\{)/m,
    (text, { index, 0: opening, 1: name = '' }) => {
      const json = jsonAt(text, index + opening.length);
      return json === null ? null : made(name, json.value, json.end);
    },
  ],
  [
    /^[ \t]*\[?([a-z_]{3,40})\((?=[a-z_]{1,40}=|\))/m,
    (text, { index, 0: opening, 1: name = '' }) => pythonCall(text, index + opening.length, name),
  ],
  [/<(file_editor|execute_bash|search|finish|bash)>/, tagged],
];

const PYTHON_VALUE =
  /\s*([a-z_]{1,40})\s*=\s*("""[^]*?"""|'''[^]*?'''|"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|-?\d+|True|False|None|\[[\d,\s-]{0,40}\])\s*(,|\))/y;

/** Parses the arguments of a Python call. */
function pythonCall(text: string, from: number, name: string): Read | null {
  const parameters: Record<string, unknown> = {};
  for (let next = from; ;) {
    if (text.startsWith(')', next)) return made(name, parameters, next + 1);
    PYTHON_VALUE.lastIndex = next;
    const [whole, key = '', literal = '', ending] = PYTHON_VALUE.exec(text) ?? [];
    if (whole === undefined) return null;
    parameters[key] = pythonValue(literal);
    next += whole.length;
    if (ending === ')') return made(name, parameters, next);
  }
}

const WORDS: Readonly<Record<string, unknown>> = { True: true, False: false, None: null };

function pythonValue(literal: string): unknown {
  if (literal in WORDS) return WORDS[literal];
  const quote = /^("""|'''|"|')/.exec(literal)?.[0];
  if (quote === undefined) return JSON.parse(literal) as unknown;
  const inner = literal.slice(quote.length, -quote.length);
  return inner.replace(/\\(n|t|r|\\|"|'|\n)/g, (_, code: string) => ESCAPES[code] ?? code);
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' };

const CHILD = /\s*<([a-z_]{1,40})>([^]*?)<\/\1>/y;

/** Parses `<execute_bash>ls</execute_bash>`, or a tag per parameter. */
function tagged(text: string, { index, 0: opening, 1: name = '' }: RegExpExecArray): Read | null {
  const from = index + opening.length;
  const closing = `</${name}>`;
  const end = text.indexOf(closing, from);
  if (end === -1) return null;
  const parameters: Record<string, string> = {};
  const inner = text.slice(from, end);
  for (let next = 0; ;) {
    CHILD.lastIndex = next;
    const [whole, key = '', value = ''] = CHILD.exec(inner) ?? [];
    if (whole === undefined) {
      const rest = inner.slice(next).trim();
      const given = rest === '' ? parameters : commandIn(name, rest, next);
      return given === null ? null : made(name, given, end + closing.length);
    }
    parameters[key] = value.replace(/^\n/, '').replace(/\n$/, '');
    next += whole.length;
  }
}

/** The content of a command tag without a parameter tag. */
function commandIn(name: string, rest: string, from: number): JsonObject | null {
  return knownTool(name) === 'execute_bash' && from === 0 ? { command: rest } : null;
}
