import { z } from 'zod';
import { asJson } from '../../../src/core/json.js';
import { printedLines } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

const STATUS: Readonly<Record<string, LoggedStatus>> = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' };
/** Output without a line break may come before it, but only a result that ends the line is the runner's then. */
const RESULT = /^ *--- (PASS|FAIL|SKIP): (\S+)|--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$/;
/** A package whose tests were not compiled, and so not run. */
const NOT_BUILT = /^FAIL\s+\S+ \[(?:build|setup) failed\]$/;
const EVENT_STATUS: Readonly<Record<string, LoggedStatus>> = { pass: 'passed', fail: 'failed', skip: 'skipped' };
const EVENT = /^\{.*"Action": ?"(?:pass|fail|skip)"/;
const Event = z.object({ Action: z.string(), Test: z.string() });

/** Parses the output of `go test -v`, also with `-json`. @throws TooMuchError */
export function parseGoLog(log: string): TestLog {
  const tests = new TestLog();
  for (const line of printedLines(log)) {
    if (EVENT.test(line)) noteEvent(tests, line);
    else noteResult(tests, line);
    if (NOT_BUILT.test(line)) tests.statuses.isIncomplete = true;
  }
  return tests;
}

function noteResult(tests: TestLog, line: string): void {
  if (!line.includes('--- ')) return;
  const [, first, name, later = '', laterName = ''] = RESULT.exec(line) ?? [];
  const status = STATUS[first ?? later];
  if (status !== undefined) tests.note(name ?? laterName, status);
}

function noteEvent(tests: TestLog, line: string): void {
  const { data } = Event.safeParse(asJson(line));
  const status = EVENT_STATUS[data?.Action ?? ''];
  if (data !== undefined && status !== undefined) tests.note(data.Test, status);
}
