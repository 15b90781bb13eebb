import { type LogFormat, readLog } from '../../verifiers/execution-based/reports/log-formats.js';
import type { TestLog } from '../../verifiers/execution-based/reports/test-log.js';

/** The output of a command, and its format. */
export interface PrintedLog {
  readonly format: LogFormat;
  readonly bytes: Uint8Array;
}

/** Parses a log without blocking other work; null if that takes too long, or if it is larger than that of any test suite. */
export type LogReader = (log: PrintedLog, signal: AbortSignal) => Promise<TestLog | null>;

export function parseLog({ format, bytes }: PrintedLog): TestLog | null {
  return readLog(format, bytes);
}

/** For processes that serve nothing else meanwhile. */
export const readHere: LogReader = (log) => Promise.resolve(parseLog(log));
