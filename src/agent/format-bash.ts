import { inTags, type ActionFormat } from './action-format.js';
import { splitThought } from './thought.js';

const NUDGE =
  'Your answer holds no complete code block, so nothing was done. Every answer must hold exactly one block that begins ' +
  'with ```bash and ends with ```. A block with the single word finish submits your work.';
/** An opening fence on a line of its own, up to the next closing one. */
const OPEN = /^```(?:bash|sh|shell)[ \t]*\n/m;
const CLOSE = /^```[ \t]*$/m;

/** One fenced shell command an answer: for models without calls of their own. */
export const bashFormat: ActionFormat = {
  name: 'bash',
  prompt: 'agent/bash',
  tools: undefined,

  read({ text, reasoning }) {
    const { thought, answer } = splitThought(text);
    const block = firstBlock(answer);
    const thoughts = [reasoning, thought, (block?.before ?? answer).trim()].filter((part) => part !== '').join('\n\n');
    if (block === null) return { thought: thoughts, call: null, problem: NUDGE, action: '', more: false };
    const command = block.content.trim();
    const call =
      command === 'finish'
        ? { name: 'finish', parameters: { command: 'submit' } }
        : { name: 'execute_bash', parameters: { command: block.content } };
    return { thought: thoughts, call, problem: null, action: inTags(call), more: OPEN.test(block.after) };
  },

  answered: ({ text }) => ({ role: 'assistant', content: splitThought(text).answer.trim() }),
  observed: (_completion, observation) => ({ role: 'user', content: observation }),
};

function firstBlock(text: string): { before: string; content: string; after: string } | null {
  const open = OPEN.exec(text);
  if (open === null) return null;
  const rest = text.slice(open.index + open[0].length);
  const close = CLOSE.exec(rest);
  if (close === null) return null;
  return {
    before: text.slice(0, open.index),
    content: rest.slice(0, close.index),
    after: rest.slice(close.index + close[0].length),
  };
}
