import type { Message } from './llm-client.js';

export interface RenderedPrompt {
  readonly messages: readonly Message[];
  /** SHA-256 of the template files, not of the data. */
  readonly templateHash: string;
}

/** One criterion of a rubric. */
export interface Criterion {
  /** Name of its file, without `.md`. */
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** Whether judging it requires the trajectory. */
  readonly needsSteps: boolean;
  /** SHA-256 of the file. */
  readonly hash: string;
}

/** A prompt or criterion, as in its files. */
export interface PromptDescription {
  /** `verifier/yes-no`; for criteria, `criteria/root-cause`. */
  readonly id: string;
  /** Hash of all its files together. */
  readonly hash: string;
  readonly files: readonly {
    readonly role: 'system' | 'user' | 'criterion';
    readonly path: string;
    /** Whether it is a user's file, which replaces a shipped one or is additional. */
    readonly own: boolean;
    readonly text: string;
  }[];
}

/** Prompts as files. Data passed to a template is never interpreted as template syntax. */
export abstract class PromptLibrary {
  /** @throws Error for an unknown prompt, or a template variable missing from `variables`: a programming error. */
  abstract render(name: string, variables: Readonly<Record<string, unknown>>): Promise<RenderedPrompt>;
  /** The criteria of the rubric, sorted by id; at least one. @throws BadInputError for an invalid file */
  abstract criteria(): Promise<readonly Criterion[]>;
  /** Every prompt and criterion, sorted by id. @throws BadInputError for an invalid file of the user */
  abstract list(): Promise<readonly PromptDescription[]>;

  /** Template hash by prompt name, for `run.json`. */
  async hashes(): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries((await this.list()).map(({ id, hash }) => [id, hash]));
  }
}
