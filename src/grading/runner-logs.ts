import { z } from 'zod';
import type { LogFormat } from '../io/datasets/set-reader.js';
import { type LoggedStatus, logLines, parseDjangoLog, parsePytestLog, parseSympyLog, TestLog } from './test-logs.js';
import { asJson } from '../core/json.js';

/** Reads one line; null when it reports no test. */
type ReadLine = (line: string) => readonly [name: string, status: LoggedStatus] | null;

/** Runs of the same test differ by these. */
const TIMING = /(?:\[\s*\d[\d.]*\s*m?s\s*\]|\(\s*\d[\d.]*\s*m?s\s*\)|\s\d[\d.]*\s?m?s)$/i;

function readLog(log: string, read: ReadLine): TestLog {
  const tests = new TestLog();
  for (const line of logLines(log)) {
    const found = read(line);
    if (found !== null)
      tests.note(
        ...found,
        [withoutTiming(found[0])].filter((name) => name !== found[0]),
      );
  }
  return tests;
}

function withoutTiming(name: string): string {
  return name.replace(TIMING, '').trim();
}

const GO_STATUS: Readonly<Record<string, LoggedStatus>> = { PASS: 'passed', FAIL: 'failed', SKIP: 'skipped' };
const GO_LINE = /^ *--- (PASS|FAIL|SKIP): (\S+)/;

/** What `go test -v` prints. */
export function parseGoLog(log: string): TestLog {
  return readLog(log, (line) => {
    const [, word = '', name = ''] = GO_LINE.exec(line) ?? [];
    const status = GO_STATUS[word];
    return status === undefined ? null : [name, status];
  });
}

const CARGO_STATUS: Readonly<Record<string, LoggedStatus>> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' };
const CARGO_LINE = /^test (\S.*) \.\.\. (ok|FAILED|ignored)\b/;

/** What `cargo test` prints. */
export function parseCargoLog(log: string): TestLog {
  return readLog(log, (line) => {
    const [, name = '', word = ''] = CARGO_LINE.exec(line) ?? [];
    const status = CARGO_STATUS[word];
    return status === undefined ? null : [name, status];
  });
}

const MARKS: Readonly<Record<string, LoggedStatus>> = {
  '✓': 'passed',
  '✔': 'passed',
  '√': 'passed',
  '✕': 'failed',
  '✗': 'failed',
  '✖': 'failed',
  '×': 'failed',
  '○': 'skipped',
  '↓': 'skipped',
};
const MARKED_LINE = /^\s*([✓✔√✕✗✖×○↓]) (?:skipped )?(\S.*)$/;
const TAP_LINE = /^ *(not ok|ok) \d+ (?:- )?(\S.*)$/;
/** Mocha numbers what failed. */
const NUMBERED_LINE = /^ {2,}\d+\) (\S.*[^:])$/;

/** What Jest, Vitest, Mocha and the runners that speak TAP print. */
export function parseJavaScriptLog(log: string): TestLog {
  return readLog(log, (line) => {
    const [, mark = '', name = ''] = MARKED_LINE.exec(line) ?? [];
    const status = MARKS[mark];
    if (status !== undefined) return [withoutTiming(name), status];
    const [, word, title = ''] = TAP_LINE.exec(line) ?? [];
    if (word !== undefined) return tapResult(word, title);
    const failed = NUMBERED_LINE.exec(line)?.[1];
    return failed === undefined ? null : [withoutTiming(failed), 'failed'];
  });
}

function tapResult(word: string, title: string): readonly [string, LoggedStatus] {
  const at = title.indexOf(' # ');
  const name = withoutTiming(at === -1 ? title : title.slice(0, at));
  const isSkipped = at !== -1 && /^(skip|todo)/i.test(title.slice(at + 3));
  return [name, isSkipped ? 'skipped' : word === 'ok' ? 'passed' : 'failed'];
}

const GRADLE_LINE = /^(\S.*) (PASSED|FAILED|SKIPPED)$/;
const GRADLE_STATUS: Readonly<Record<string, LoggedStatus>> = {
  PASSED: 'passed',
  FAILED: 'failed',
  SKIPPED: 'skipped',
};
const MAVEN_COUNTS = /Tests run: \d+, Failures: (\d+), Errors: (\d+), Skipped: \d+,/;
const MAVEN_CLASS = ' in ';
const MAVEN_FAILURE = /^\[ERROR\] +([\w.$]+)/;

/** What Gradle prints of every test, and Maven's Surefire of every class. */
export function parseJavaLog(log: string): TestLog {
  return readLog(log, (line) => {
    const [, name = '', word = ''] = GRADLE_LINE.exec(line) ?? [];
    const status = GRADLE_STATUS[word];
    return status === undefined ? mavenResult(line) : [name, status];
  });
}

function mavenResult(line: string): ReturnType<ReadLine> {
  const found = mavenClass(line);
  if (found !== null) return found;
  const failed = /<<< (?:FAILURE|ERROR)!$/.test(line) ? MAVEN_FAILURE.exec(line)?.[1] : undefined;
  return failed === undefined ? null : [failed, 'failed'];
}

/** The class stands at the end, whatever stands between: in one expression every count would look for it anew. */
function mavenClass(line: string): ReturnType<ReadLine> {
  const counts = MAVEN_COUNTS.exec(line);
  const at = line.lastIndexOf(MAVEN_CLASS);
  if (counts === null || at < counts.index + counts[0].length) return null;
  const name = line.slice(at + MAVEN_CLASS.length);
  const [, failures, errors] = counts;
  return /^\S+$/.test(name) ? [name, failures === '0' && errors === '0' ? 'passed' : 'failed'] : null;
}

const CTEST_LINE = /^ *\d+\/\d+ Test +#\d+: (\S+) \.*[ *]*(Passed|Failed|Skipped|Not Run|Timeout|Exception)/;

/** What `ctest` prints. */
export function parseCtestLog(log: string): TestLog {
  return readLog(log, (line) => {
    const [, name = '', word] = CTEST_LINE.exec(line) ?? [];
    if (word === undefined) return null;
    if (word === 'Passed') return [name, 'passed'];
    return [name, word === 'Skipped' || word === 'Not Run' ? 'skipped' : 'failed'];
  });
}

const Results = z.object({ tests: z.array(z.object({ name: z.string(), status: z.string() })) });

/** What SWE-bench Pro's own parsers write: `{"tests": [{"name", "status"}]}`, here the last line that is such a document. */
export function parseJsonLog(log: string): TestLog {
  const tests = new TestLog();
  const begin = log.lastIndexOf('\n{');
  const parsed = Results.safeParse(asJson(log.slice(begin + 1)));
  for (const { name, status } of parsed.data?.tests ?? []) tests.note(name, jsonStatus(status));
  return tests;
}

function jsonStatus(status: string): LoggedStatus {
  const word = status.toUpperCase();
  if (word === 'PASSED' || word === 'XFAIL') return 'passed';
  if (word === 'SKIPPED') return 'skipped';
  return word === 'ERROR' ? 'error' : 'failed';
}

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
