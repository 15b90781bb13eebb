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
  /** Whether it can only be judged by the record of an agent's work. */
  readonly needsSteps: boolean;
  /** SHA-256 of the file. */
  readonly hash: string;
}

/** A prompt or criterion as its files have it. */
export interface PromptDescription {
  /** `verifier/yes-no`; criteria are `criteria/root-cause`. */
  readonly id: string;
  /** Of all its files together. */
  readonly hash: string;
  readonly files: readonly {
    readonly role: 'system' | 'user' | 'criterion';
    readonly path: string;
    /** Whether the user's file replaced or joined the shipped ones. */
    readonly own: boolean;
    readonly text: string;
  }[];
}

/** Prompts as files. Data given to a template is never interpreted as template. */
export abstract class PromptLibrary {
  /** @throws Error for an unknown prompt or a variable the template names and `variables` lacks: a programming error. */
  abstract render(name: string, variables: Readonly<Record<string, unknown>>): Promise<RenderedPrompt>;
  /** The criteria of the rubric, in order of their ids; at least one. @throws BadInputError for a file that is none */
  abstract criteria(): Promise<readonly Criterion[]>;
  /** Every prompt and criterion, in order of their ids. @throws BadInputError for a file of the user's that is wrong */
  abstract list(): Promise<readonly PromptDescription[]>;

  /** Template hash by prompt name, for `run.json`. */
  async hashes(): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries((await this.list()).map(({ id, hash }) => [id, hash]));
  }
}
