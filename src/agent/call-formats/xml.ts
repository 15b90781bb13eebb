import { type ActionFormat, inTags } from './action-format.js';
import { splitThought } from './action.js';
import { findCall } from './written-calls.js';

const NUDGE =
  'Your answer holds no complete function call, so nothing was done. Every answer must hold exactly one, like this:\n' +
  '<function=execute_bash>\n  <parameter=command>ls</parameter>\n</function>\nCall finish when you are done.';

/** `<function=…><parameter=…>` in the text: how DeepSWE-Preview and most open models were trained. */
export const xmlFormat: ActionFormat = {
  name: 'xml',
  prompt: 'agent/xml',
  offersTools: false,

  read({ text, reasoning }) {
    const { thought, answer } = splitThought(text);
    const found = findCall(answer);
    const thoughts = [reasoning, thought, (found?.before ?? answer).trim()].filter((part) => part !== '').join('\n\n');
    if (found === null) return { thought: thoughts, call: null, problem: NUDGE, action: '', more: false };
    const { call, written, more } = found;
    return { thought: thoughts, call, problem: null, action: written ?? inTags(call), more };
  },

  // What a model thought aloud is not shown to it again: its chat template would drop it as well.
  answered: ({ text }) => ({ role: 'assistant', content: splitThought(text).answer.trim() }),
  observed: (_completion, observation) => ({ role: 'user', content: observation }),
};
