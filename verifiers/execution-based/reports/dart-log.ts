import { z } from 'zod';
import { asJson } from '../../../src/core/json.js';
import { firstGroup, printedLines } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

const DartStart = z.object({
  type: z.literal('testStart'),
  test: z.object({ id: z.number(), name: z.string().min(1) }),
});
const DartDone = z.object({
  type: z.literal('testDone'),
  testID: z.number(),
  result: z.string(),
  hidden: z.boolean().optional(),
  skipped: z.boolean().optional(),
});
const DART_STATUS: Readonly<Record<string, LoggedStatus>> = { success: 'passed', failure: 'failed', error: 'error' };
const DART_LINE = /^(\[\w+\]: +)?\d+:\d+ \+\d+(?: ~\d+)?(?: -\d+)?: (\/[^:]+\.dart): (\S.*)$/;
const DART_FAILED = ' [E]';
const DART_LOADING = /^\d+:\d+ \+\d+(?: ~\d+)? -\d+: loading (\/[^:]+\.dart) \[E\]$/;

/** Parses `dart test` and `flutter test`, also with `--reporter json`. @throws TooMuchError */
export function parseDartLog(log: string): TestLog {
  const tests = new TestLog();
  const names = new Map<number, string>();
  const started = new Set<string>();
  const ended = new Set<string>();
  for (const line of printedLines(log)) {
    if (line.startsWith('{') || line.startsWith('[{')) noteDartEvents(tests, names, asJson(line));
    else noteDartLine(tests, line.trim(), { started, ended });
  }
  for (const name of started) tests.note(name, ended.has(name) ? 'passed' : 'error');
  return tests;
}

interface DartTests {
  readonly started: Set<string>;
  readonly ended: Set<string>;
}

/**
 * A test is printed when it starts, and again, marked, if it fails. Lines that begin with a package are printed twice, before
 * and after the test.
 */
function noteDartLine(tests: TestLog, line: string, seen: DartTests): void {
  const loading = firstGroup(DART_LOADING, line);
  if (loading !== undefined) tests.note(loading, 'error');
  const [, inPackage, path = '', title = 'loading '] = DART_LINE.exec(line) ?? [];
  const name = `${path}: ${title}`;
  if (/^loading /i.test(title)) return;
  if (title.endsWith(DART_FAILED)) tests.note(name.slice(0, -DART_FAILED.length), 'failed');
  else if (inPackage === undefined) tests.note(name, 'passed');
  else (seen.started.has(name) ? seen.ended : seen.started).add(name);
}

function noteDartEvents(tests: TestLog, names: Map<number, string>, value: unknown): void {
  for (const event of Array.isArray(value) ? value : [value]) {
    const start = DartStart.safeParse(event).data?.test;
    if (start !== undefined && !start.name.startsWith('loading ')) names.set(start.id, start.name);
    const done = DartDone.safeParse(event).data;
    if (done !== undefined) noteDartEnd(tests, names.get(done.testID), done);
  }
}

function noteDartEnd(
  tests: TestLog,
  name: string | undefined,
  { result, hidden, skipped }: z.infer<typeof DartDone>,
): void {
  if (name === undefined || hidden === true) return;
  tests.note(name, skipped === true ? 'skipped' : (DART_STATUS[result] ?? 'failed'));
}
