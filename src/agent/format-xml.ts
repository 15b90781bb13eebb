import type { ActionFormat } from './action-format.js';
import { splitThought } from './thought.js';
import { findXmlCall } from './xml-call.js';

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
