import type { Issue } from '../core/run/issue.js';
import type { Sandbox } from '../ports/sandbox.js';
import type { HiddenTests } from './hidden-tests.js';
import type { LogReader } from './runner-logs.js';
import type { TestCommand } from './test-command.js';
import type { TestStatus } from './test-logs.js';

/** The outcome reward of one patch. */
export interface Grade {
  readonly resolved: boolean;
  /** One sentence for people. */
  readonly reason: string;
  /** Seconds that the test command took; 0 when it was not run. */
  readonly seconds: number;
  /** Every required test by its name in the list; empty when none was run. */
  readonly tests: Readonly<Record<string, TestStatus>>;
}

/** Input shared by the grades of one instance. */
export interface GradingContext {
  readonly sandbox: Sandbox;
  /** Content id of the image. */
  readonly imageId: string;
  readonly issue: Issue;
  readonly tests: HiddenTests;
  readonly command: TestCommand;
  readonly readLog: LogReader;
  /** Limit of the test command; a run that takes longer does not resolve the issue. */
  readonly timeLimitS: number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A grade without a test run: the patch itself decides it. */
export function notRun(reason: string): Grade {
  return { resolved: false, reason, seconds: 0, tests: {} };
}
