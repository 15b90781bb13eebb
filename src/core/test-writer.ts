import type { GeneratedTest } from './generated-test.js';
import type { Issue } from './issue.js';

export interface WrittenTests {
  readonly tests: readonly GeneratedTest[];
  /** Answers without any complete script. */
  readonly unreadable: number;
}

/** Has tests written for an issue, from its text and the source at base alone: no candidate is shown to the author. */
export interface TestWriter {
  /** @throws the model's failure when it gave no answer at all, and what the sandbox throws */
  write(issue: Issue, signal: AbortSignal): Promise<WrittenTests>;
}
