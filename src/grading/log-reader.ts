import type { LogFormat } from '../io/datasets/sealed.js';
import {
  parseCargoLog,
  parseCtestLog,
  parseGoLog,
  parseJavaLog,
  parseJavaScriptLog,
  parseJsonLog,
} from './runner-logs.js';
import { parseDjangoLog, parsePytestLog, parseSympyLog, TestLog } from './test-logs.js';

/** What a command printed, and by whose rules it is read. */
export interface PrintedLog {
  readonly format: LogFormat;
  readonly bytes: Uint8Array;
}

/** Reads a log apart from what else is going on; null for one that takes too long. */
export type LogReader = (log: PrintedLog, signal: AbortSignal) => Promise<TestLog | null>;

const PYTEST_BEGINS = /^=+ test session starts =+$/m;

const PARSERS: Readonly<Record<LogFormat, (log: string) => TestLog>> = {
  pytest: parsePytestLog,
  unittest: parseDjangoLog,
  // Newer versions have pytest behind the same command.
  sympy: (log) => (PYTEST_BEGINS.test(log) ? parsePytestLog(log) : parseSympyLog(log)),
  go: parseGoLog,
  cargo: parseCargoLog,
  javascript: parseJavaScriptLog,
  java: parseJavaLog,
  ctest: parseCtestLog,
  json: parseJsonLog,
};

export function parseLog({ format, bytes }: PrintedLog): TestLog {
  return PARSERS[format](Buffer.from(bytes).toString('utf8'));
}

/** For who answers nobody else meanwhile. */
export const readHere: LogReader = (log) => Promise.resolve(parseLog(log));
