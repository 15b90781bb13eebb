import { z } from 'zod';
import type { LogFormat } from '../io/datasets/set-reader.js';
import { type LoggedStatus, logLines, parseDjangoLog, parsePytestLog, parseSympyLog, TestLog } from './test-logs.js';
import { asJson, listOf } from '../core/json.js';

/** Parses one line; null when it reports no test. */
type ReadLine = (line: string) => readonly [name: string, status: LoggedStatus] | null;

/** Removed from names, since it differs between runs of the same test. */
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

/** Parses the output of `go test -v`. */
export function parseGoLog(log: string): TestLog {
  return readLog(log, (line) => {
    const [, word = '', name = ''] = GO_LINE.exec(line) ?? [];
    const status = GO_STATUS[word];
    return status === undefined ? null : [name, status];
  });
}

const CARGO_STATUS: Readonly<Record<string, LoggedStatus>> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' };
const CARGO_LINE = /^test (\S.*) \.\.\. (ok|FAILED|ignored)\b/;

/** Parses the output of `cargo test`. */
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
/** Mocha numbers failures. */
const NUMBERED_LINE = /^ {2,}\d+\) (\S.*[^:])$/;

/** Parses the output of Jest, Vitest, Mocha and runners that print TAP. */
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

/** Parses Gradle's output per test, and that of Maven's Surefire per class. */
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

/** The class ends the line. Searched separately: one expression would search for it again from every count. */
function mavenClass(line: string): ReturnType<ReadLine> {
  const counts = MAVEN_COUNTS.exec(line);
  const at = line.lastIndexOf(MAVEN_CLASS);
  if (counts === null || at < counts.index + counts[0].length) return null;
  const name = line.slice(at + MAVEN_CLASS.length);
  const [, failures, errors] = counts;
  return /^\S+$/.test(name) ? [name, failures === '0' && errors === '0' ? 'passed' : 'failed'] : null;
}

const CTEST_LINE = /^ *\d+\/\d+ Test +#\d+: (\S+) \.*[ *]*(Passed|Failed|Skipped|Not Run|Timeout|Exception)/;

/** Parses the output of `ctest`. */
export function parseCtestLog(log: string): TestLog {
  return readLog(log, (line) => {
    const [, name = '', word] = CTEST_LINE.exec(line) ?? [];
    if (word === undefined) return null;
    if (word === 'Passed') return [name, 'passed'];
    return [name, word === 'Skipped' || word === 'Not Run' ? 'skipped' : 'failed'];
  });
}

const Results = z.object({ tests: listOf(z.object({ name: z.string(), status: z.string() })) });

/**
 * Parses the output of SWE-bench Pro's own parsers, `{"tests": [{"name", "status"}]}`, from the last line that begins
 * with `{`.
 */
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

/** The output of a command, and its format. */
export interface PrintedLog {
  readonly format: LogFormat;
  readonly bytes: Uint8Array;
}

/** Parses a log without blocking other work; null if that takes too long. */
export type LogReader = (log: PrintedLog, signal: AbortSignal) => Promise<TestLog | null>;

const PYTEST_BEGINS = /^=+ test session starts =+$/m;

const PARSERS: Readonly<Record<LogFormat, (log: string) => TestLog>> = {
  pytest: parsePytestLog,
  unittest: parseDjangoLog,
  // Newer versions run pytest behind the same command.
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

/** For processes that serve nothing else meanwhile. */
export const readHere: LogReader = (log) => Promise.resolve(parseLog(log));
