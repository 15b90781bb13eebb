import type { Completion, Message } from '../../ports/llm-client.js';
import type { Role, WrittenCall } from '../tools/action.js';

/** A model's answer in bestk's terms. */
export interface Turn {
  readonly thought: string;
  /** Null when no call was found; `problem` then tells the model what to do. */
  readonly call: WrittenCall | null;
  readonly problem: string | null;
  /** The call as written in trajectories: function tags, whatever the format. */
  readonly action: string;
  /** Whether more calls followed; only the first counts. */
  readonly more: boolean;
}

/** How a model writes its calls and receives their results. */
export interface ActionFormat {
  readonly name: string;
  /** Name of the solver's system prompt, below `prompts/`. */
  readonly prompt: string;
  /** Whether tools are passed through the API; otherwise the prompt describes them. */
  readonly offersTools: boolean;
  read(completion: Completion): Turn;
  /** The assistant's turn as kept in the history. */
  answered(completion: Completion): Message;
  /** The next message that the model sees. */
  observed(completion: Completion, observation: string): Message;
}

/** Finish reasons of answers that end anywhere: at their token limit, and at a service's content filter. */
const CUT_OFF = new Set(['length', 'content_filter']);

/** Whether an answer may end within a call, whose end a server's parser then makes up. */
export function isCutOff({ finish_reason }: Pick<Completion, 'finish_reason'>): boolean {
  return CUT_OFF.has(finish_reason);
}

/** The system prompt for a role. */
export function systemPrompt({ prompt }: Pick<ActionFormat, 'prompt'>, role: Role): string {
  return role === 'solver' ? prompt : `${prompt}-${role}`;
}

/** A call in function tags, the form in which R2E-Gym's trajectories store actions. */
export function inTags({ name, parameters }: WrittenCall): string {
  const lines = Object.entries(parameters).map(
    ([key, value]) => `  <parameter=${key}>${typeof value === 'string' ? value : JSON.stringify(value)}</parameter>`,
  );
  return [`<function=${name}>`, ...lines, '</function>'].join('\n');
}
