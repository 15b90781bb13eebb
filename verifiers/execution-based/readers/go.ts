import { z } from 'zod';
import { StatusByTest, type TestReport, type TestStatus } from './test-status.js';

const Event = z.object({ Action: z.string(), Package: z.string(), Test: z.string().optional() });
const STATUS: Readonly<Record<string, TestStatus>> = { pass: 'passed', fail: 'failed', skip: 'skipped' };

/**
 * `go test -json`. A package that failed without ending (it crashed, or left early) takes its passes back: what did not run
 * has not passed, and the package's own last word is missing.
 */
export function goReport(stdout: string): TestReport {
  const tests = new StatusByTest();
  const ended = new Set<string>();
  const found: { readonly test: string; readonly of: string; readonly status: TestStatus }[] = [];
  for (const line of stdout.split('\n')) {
    const event = line.startsWith('{') ? readEvent(line) : null;
    const status = event === null ? undefined : STATUS[event.Action];
    if (event === null || status === undefined) continue;
    if (event.Test === undefined) ended.add(event.Package);
    else found.push({ test: `${event.Package}.${event.Test}`, of: event.Package, status });
  }
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
