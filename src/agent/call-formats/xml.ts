import { TOOL_SPECS } from '../tools/tool-specs.js';
import type { ActionFormat } from './action-format.js';
import { splitThought, type WrittenCall } from './action.js';

const NUDGE =
  'Your answer holds no complete function call, so nothing was done. Every answer must hold exactly one, like this:\n' +
  '<function=execute_bash>\n  <parameter=command>ls</parameter>\n</function>\nCall finish when you are done.';

/** `<function=…><parameter=…>` in the text: how DeepSWE-Preview and most open models were trained. */
export const xmlFormat: ActionFormat = {
  name: 'xml',
  prompt: 'agent/xml',
  tools: undefined,

  read({ text, reasoning }) {
    const { thought, answer } = splitThought(text);
    const found = findXmlCall(answer);
    const thoughts = [reasoning, thought, (found?.before ?? answer).trim()].filter((part) => part !== '').join('\n\n');
    if (found === null) return { thought: thoughts, call: null, problem: NUDGE, action: '', more: false };
    const { call, before, more } = found;
    const written = answer.slice(before.length);
    const end = more ? written.indexOf('</function>') + '</function>'.length : written.length;
    return { thought: thoughts, call, problem: null, action: written.slice(0, end).trim(), more };
  },

  // What a model thought aloud is not shown to it again: its chat template would drop it as well.
  answered: ({ text }) => ({ role: 'assistant', content: splitThought(text).answer.trim() }),
  observed: (_completion, observation) => ({ role: 'user', content: observation }),
};

/** Longer calls are refused: nothing an agent writes by hand is of this size. */
const LONGEST_CALL = 1_000_000;
const LONGEST_NAME = 200;
const FUNCTION = '<function=';
const END_FUNCTION = '</function>';
const PARAMETER = '<parameter=';
const END_PARAMETER = '</parameter>';

const PARAMETER_NAMES = new Set(
  TOOL_SPECS.flatMap(({ parameters }) => Object.keys(parameters.properties as object)).concat('cmd'),
);

export interface FoundCall {
  readonly call: WrittenCall;
  /** What stands before the call. */
  readonly before: string;
  /** Whether another call follows. */
  readonly more: boolean;
}

/**
 * The first `<function=NAME><parameter=KEY>VALUE</parameter>…</function>` of a text, or null. Linear in its length. A
 * closing tag counts only where the grammar goes on behind it, so that code which holds one stays whole; a call that the
 * end of the answer (or a stop sequence) cuts short counts when at least its last parameter was closed.
 */
export function findXmlCall(text: string): FoundCall | null {
  const start = text.indexOf(FUNCTION);
  if (start === -1 || text.length - start > LONGEST_CALL) return null;
  const header = headerAt(text, start, FUNCTION);
  if (header === null) return null;
  const parameters: Record<string, string> = {};
  let at = header.end;
  for (;;) {
    const next = skipBlanks(text, at);
    if (text.startsWith(END_FUNCTION, next)) {
      at = next + END_FUNCTION.length;
      break;
    }
    const parameter = headerAt(text, next, PARAMETER);
    if (parameter === null) {
      if (next < text.length || Object.keys(parameters).length === 0) return null;
      at = next;
      break;
    }
    const close = closingOf(text, parameter.end);
    if (close === -1) return null;
    parameters[parameter.name] = valueOf(parameter.name, text.slice(parameter.end, close));
    at = close + END_PARAMETER.length;
  }
  return { call: { name: header.name, parameters }, before: text.slice(0, start), more: text.includes(FUNCTION, at) };
}

function headerAt(text: string, at: number, opening: string): { name: string; end: number } | null {
  if (!text.startsWith(opening, at)) return null;
  const from = at + opening.length;
  const end = text.slice(from, from + LONGEST_NAME).indexOf('>');
  return end === -1 ? null : { name: text.slice(from, from + end).trim(), end: from + end + 1 };
}

/** The first closing tag behind which the call ends, the text ends, or a parameter that exists begins. */
function closingOf(text: string, from: number): number {
  for (let at = text.indexOf(END_PARAMETER, from); at !== -1; at = text.indexOf(END_PARAMETER, at + 1)) {
    const next = skipBlanks(text, at + END_PARAMETER.length);
    if (next === text.length || text.startsWith(END_FUNCTION, next)) return at;
    const following = headerAt(text, next, PARAMETER);
    if (following !== null && PARAMETER_NAMES.has(following.name)) return at;
  }
  return -1;
}

/** Models put a value on lines of its own; these line ends are not the value's. A file keeps its last one. */
function valueOf(name: string, raw: string): string {
  if (!raw.startsWith('\n')) return raw;
  return name !== 'file_text' && raw.length > 1 && raw.endsWith('\n') ? raw.slice(1, -1) : raw.slice(1);
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (at < text.length && /\s/.test(text.charAt(at))) at += 1;
  return at;
}
