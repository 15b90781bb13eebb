import type { ToolCall } from '../ports/llm-client.js';
import { inTags, type ActionFormat } from './action-format.js';
import type { WrittenCall } from './action.js';
import { splitThought } from './thought.js';
import { TOOL_SPECS } from './tool-specs.js';

const NUDGE =
  'Your answer calls no function, so nothing was done. Every answer must call exactly one; call finish when you are done.';

/** Function calls of the API itself. */
export const toolsFormat: ActionFormat = {
  name: 'tools',
  prompt: 'agent/tools',
  tools: TOOL_SPECS,

  read({ text, reasoning, tool_calls: calls }) {
    const { thought, answer } = splitThought(text);
    const thoughts = [reasoning, thought, answer.trim()].filter((part) => part !== '').join('\n\n');
    const [first, ...others] = calls;
    if (first === undefined) return { thought: thoughts, call: null, problem: NUDGE, action: '', more: false };
    const call = asCall(first);
    if (call === null) {
      const problem = `The arguments of ${first.name.slice(0, 80)} are not a JSON object, so nothing was done.`;
      return { thought: thoughts, call: null, problem, action: '', more: false };
    }
    return { thought: thoughts, call, problem: null, action: inTags(call), more: others.length > 0 };
  },

  // A call that is not answered makes servers refuse the history: only the first is kept.
  answered: ({ text, tool_calls: calls }) => ({
    role: 'assistant',
    content: splitThought(text).answer.trim(),
    ...(calls[0] === undefined ? {} : { tool_calls: [{ ...calls[0], arguments: sound(calls[0].arguments) }] }),
  }),
  observed: ({ tool_calls: [first] }, observation) =>
    first === undefined
      ? { role: 'user', content: observation }
      : { role: 'tool', tool_call_id: first.id, content: observation },
};

function asCall({ name, arguments: text }: ToolCall): WrittenCall | null {
  const parameters = parseObject(text);
  return parameters === null ? null : { name, parameters };
}

/** Chat templates parse the arguments of earlier calls; text that is none would end the conversation there. */
function sound(text: string): string {
  return parseObject(text) === null ? '{}' : text;
}

function parseObject(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
