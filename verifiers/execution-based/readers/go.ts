import { z } from 'zod';
import { linesOf, MOST_TESTS, StatusByTest, type TestReport, type TestStatus, TooMuchError } from './test-status.js';

const Event = z.object({ Action: z.string(), Package: z.string(), Test: z.string().optional() });
const STATUS: Readonly<Record<string, TestStatus>> = { pass: 'passed', fail: 'failed', skip: 'skipped' };
/** Of all that is told, these lines alone are parsed. */
const ENDS = /^\{.*"Action": ?"(?:pass|fail|skip)"/;

/**
 * `go test -json`. A package that failed without ending (it crashed, or left early) takes its passes back: what did not run
 * has not passed, and the package's own last word is missing.
 * @throws TooMuchError
 */
export function goReport(stdout: string): TestReport {
  const found: { readonly test: string; readonly of: string; readonly status: TestStatus }[] = [];
  const ended = new Set<string>();
  for (const line of linesOf(stdout)) {
    const event = ENDS.test(line) ? readEvent(line) : null;
    const status = event === null ? undefined : STATUS[event.Action];
    if (event === null || status === undefined) continue;
    if (event.Test === undefined) ended.add(event.Package);
    else if (found.length === MOST_TESTS) throw new TooMuchError();
    else found.push({ test: `${event.Package}.${event.Test}`, of: event.Package, status });
  }
  const tests = new StatusByTest();
  for (const { test, of, status } of found) tests.note(test, ended.has(of) ? status : 'failed');
  return tests.all;
}

function readEvent(line: string): z.infer<typeof Event> | null {
  try {
    return Event.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}
