import type { FormatName } from '../../core/run/agent.js';
import type { Completion, ToolCall } from '../../ports/llm-client.js';
import { type ActionFormat, inTags, isCutOff, type Turn } from './action-format.js';
import { splitThought, type WrittenCall } from '../tools/action.js';
import { parseObject } from './lenient-json.js';
import { findCall, type FoundCall } from './written-calls.js';

const BASH_NUDGE =
  'Your answer contains no complete code block, so nothing was done. Every answer must contain exactly one block that ' +
  'begins with ```bash and ends with ```. A block with the single word finish ends your work.';
/** An opening fence at the start of a line, and the next closing one. */
const OPEN = /^```(?:bash|sh|shell|mswea_bash_command)[ \t]*\n/m;
const CLOSE = /^```[ \t]*$/m;

/** One fenced shell command per answer, for models without a call format. */
export const bashFormat: ActionFormat = {
  name: 'bash',
  prompt: 'agent/bash',
  offersTools: false,

  read(completion) {
    const { text, reasoning } = completion;
    const { thought, answer } = splitThought(text.replaceAll('\r\n', '\n'), reasoning);
    const block = firstBlock(answer, isCutOff(completion));
    const written = block === null ? callOf(completion, answer) : null;
    if (written !== null) return asTurn([reasoning, thought], answer, written);
    const thoughts = [reasoning, thought, (block?.before ?? answer).trim()].filter((part) => part !== '').join('\n\n');
    if (block === null) return { thought: thoughts, call: null, problem: BASH_NUDGE, action: '', more: false };
    const command = block.content.trim();
    const call =
      command === 'finish'
        ? { name: 'finish', parameters: { command: 'submit' } }
        : { name: 'execute_bash', parameters: { command: block.content } };
    return { thought: thoughts, call, problem: null, action: inTags(call), more: OPEN.test(block.after) };
  },

  answered: ({ text, reasoning }) => ({ role: 'assistant', content: splitThought(text, reasoning).answer.trim() }),
  observed: (_completion, observation) => ({ role: 'user', content: observation }),
};

/** The call in an answer's text, where a server without a tool parser leaves it. */
function callOf(completion: Completion, answer: string): FoundCall | null {
  return findCall(answer, isCutOff(completion));
}

/** @param isCut whether a fence at the very end may be the beginning of another, within the block */
function firstBlock(text: string, isCut: boolean): { before: string; content: string; after: string } | null {
  const open = OPEN.exec(text);
  if (open === null) return null;
  const rest = text.slice(open.index + open[0].length);
  const close = CLOSE.exec(rest);
  if (close === null || (isCut && close.index + close[0].length === rest.length)) return null;
  return {
    before: text.slice(0, open.index),
    content: rest.slice(0, close.index),
    after: rest.slice(close.index + close[0].length),
  };
}

const TOOLS_NUDGE =
  'Your answer calls no function, so nothing was done. Every answer must call exactly one; call finish when you are done.';

/** Function calls of the API. */
export const toolsFormat: ActionFormat = {
  name: 'tools',
  prompt: 'agent/tools',
  offersTools: true,

  read(completion) {
    const { text, reasoning, tool_calls: calls } = completion;
    const { thought, answer } = splitThought(text, reasoning);
    const thoughts = [reasoning, thought, answer.trim()].filter((part) => part !== '').join('\n\n');
    const [first, ...others] = calls;
    if (first === undefined) return asTurn([reasoning, thought], answer, callOf(completion, answer));
    const call = asCall(first);
    if (call === null || isCutOff(completion)) {
      const why = isCutOff(completion) ? 'may be incomplete' : 'are not a JSON object';
      const problem = `The arguments of ${first.name.slice(0, 80)} ${why}, so nothing was done.`;
      return { thought: thoughts, call: null, problem, action: '', more: false };
    }
    return { thought: thoughts, call, problem: null, action: inTags(call), more: others.length > 0 };
  },

  // Only the first call is kept, since servers reject a history with an unanswered call.
  answered: ({ text, reasoning, tool_calls: calls }) => ({
    role: 'assistant',
    content: splitThought(text, reasoning).answer.trim(),
    ...(calls[0] === undefined || reasoning === '' ? {} : { reasoning }),
    ...(calls[0] === undefined ? {} : { tool_calls: [soundCall(calls[0])] }),
  }),
  observed: ({ tool_calls: [first] }, observation) =>
    first === undefined
      ? { role: 'user', content: observation }
      : { role: 'tool', tool_call_id: first.id, content: observation },
};

function asTurn(thoughts: readonly string[], answer: string, found: FoundCall | null): Turn {
  const thought = [...thoughts, (found?.before ?? answer).trim()].filter((part) => part !== '').join('\n\n');
  if (found === null) return { thought, call: null, problem: TOOLS_NUDGE, action: '', more: false };
  return { thought, call: found.call, problem: null, action: inTags(found.call), more: found.more };
}

/** Longer names are of no tool, but would be stored with every step. */
const LONGEST_NAME = 200;

function asCall({ name, arguments: text }: ToolCall): WrittenCall | null {
  const parameters = parseObject(text === '' ? '{}' : text);
  return parameters === null ? null : { name: name.slice(0, LONGEST_NAME), parameters };
}

function soundCall({ name, arguments: text, ...call }: ToolCall): ToolCall {
  return { ...call, name: name.slice(0, LONGEST_NAME), arguments: sound(text) };
}

/** Chat templates parse the arguments of earlier calls; invalid JSON would end the conversation. */
function sound(text: string): string {
  const value = parseObject(text);
  return value !== null && text.trimStart().startsWith('{') ? text : JSON.stringify(value ?? {});
}

const XML_NUDGE =
  'Your answer contains no complete function call, so nothing was done. Every answer must contain exactly one, like this:\n' +
  '<function=execute_bash>\n  <parameter=command>ls</parameter>\n</function>\nCall finish when you are done.';

/** `<function=…><parameter=…>` in the text, as DeepSWE-Preview and most open models were trained. */
export const xmlFormat: ActionFormat = {
  name: 'xml',
  prompt: 'agent/xml',
  offersTools: false,

  read(completion) {
    const { text, reasoning } = completion;
    const { thought, answer } = splitThought(text, reasoning);
    const found = callOf(completion, answer);
    const thoughts = [reasoning, thought, (found?.before ?? answer).trim()].filter((part) => part !== '').join('\n\n');
    if (found === null) return { thought: thoughts, call: null, problem: XML_NUDGE, action: '', more: false };
    const { call, written, more } = found;
    return { thought: thoughts, call, problem: null, action: written ?? inTags(call), more };
  },

  // Thoughts are not sent back to the model: its chat template would drop them too.
  answered: ({ text, reasoning }) => ({ role: 'assistant', content: splitThought(text, reasoning).answer.trim() }),
  observed: (_completion, observation) => ({ role: 'user', content: observation }),
};

export const ACTION_FORMATS: Readonly<Record<FormatName, ActionFormat>> = {
  xml: xmlFormat,
  tools: toolsFormat,
  bash: bashFormat,
};
