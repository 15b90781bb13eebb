import type { Message } from './llm-client.js';

export interface RenderedPrompt {
  readonly messages: readonly Message[];
  /** SHA-256 of the template files, not of the data. */
  readonly templateHash: string;
}

/** One thing that a rubric asks about. */
export interface Criterion {
  /** Name of its file, without `.md`. */
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** SHA-256 of the file. */
  readonly hash: string;
}

/** Prompts as files. Data given to a template is never interpreted as template. */
export abstract class PromptLibrary {
  /** @throws Error for an unknown prompt or a variable the template names and `variables` lacks: a programming error. */
  abstract render(name: string, variables: Readonly<Record<string, unknown>>): Promise<RenderedPrompt>;
  /** The criteria of the rubric, in order of their ids; at least one. @throws BadInputError for a file that is none */
  abstract criteria(): Promise<readonly Criterion[]>;
  /** Template hash by prompt name, for `run.json`. */
  abstract hashes(): Promise<Readonly<Record<string, string>>>;
}
