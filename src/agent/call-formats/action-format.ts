import type { Completion, Message } from '../../ports/llm-client.js';
import type { WrittenCall } from './action.js';

/** What a model's answer says, in our words. */
export interface Turn {
  readonly thought: string;
  /** Null when no call was found; `problem` then says what the model should do. */
  readonly call: WrittenCall | null;
  readonly problem: string | null;
  /** The call as trajectories write it: function tags, whatever the format. */
  readonly action: string;
  /** More calls followed; only the first counts. */
  readonly more: boolean;
}

/** How a model writes its calls and hears of their results. */
export interface ActionFormat {
  readonly name: string;
  /** Prompt of the system message, below `prompts/`, of who resolves issues. */
  readonly prompt: string;
  /** Whether tools are offered through the API; otherwise the prompt tells of them. */
  readonly offersTools: boolean;
  read(completion: Completion): Turn;
  /** The assistant's turn as the history keeps it. */
  answered(completion: Completion): Message;
  /** What the model sees next. */
  observed(completion: Completion, observation: string): Message;
}

/** What an agent is there for: to resolve an issue, to judge a patch, or to write tests. */
export type Role = 'solver' | 'judge' | 'author';

/** The prompt of the system message, by what is to be done. */
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
