import { logLines } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

/** XFAIL counts as passed, as in SWE-bench's harness (`grading.py`, `test_passed`); XPASS and SKIPPED do not. */
const PYTEST_STATUS: Readonly<Record<string, LoggedStatus>> = {
  PASSED: 'passed',
  XFAIL: 'passed',
  FAILED: 'failed',
  ERROR: 'error',
  SKIPPED: 'skipped',
};
const SUMMARY = /^=+ short test summary info =+$/;
const SECTION = /^=+ (?:FAILURES|ERRORS|PASSES|XFAILURES|warnings summary|short test summary info)\b.* =+$/;
/** `PASSED path::test[a b]`, `FAILED path::test[a b] - message`. */
const SUMMARY_LINE = /^(PASSED|XFAIL|FAILED|ERROR|SKIPPED) +(\S.*)$/;
/** `SKIPPED [2] path:line: reason` counts tests without naming them. */
const COUNTED = /^SKIPPED +\[\d+\](?: |$)/;
const WORD = / (PASSED|XFAIL|FAILED|ERROR|SKIPPED)(?= \(|$)/g;
/** `[ 50%]`, also with the test's duration. */
const PERCENT = /\[ *\d+%\](?: in [\d.]+ ?s)?$/;
const LONGEST_END = 60;
/** What pytest-xdist prints before `PASSED path::test`. */
const WORKER = /^\[gw\d+\] \[ *\d+%\] /;

/**
 * Parses pytest's output with `-rA`, `-v` or both. Only the last summary, and the lines before any captured output, can
 * report a pass, because tests may print anything elsewhere. A failure counts anywhere.
 */
export function parsePytestLog(log: string): TestLog {
  const lines = logLines(log);
  const tests = new TestLog();
  const lastSummary = lines.findLastIndex((line) => SUMMARY.test(line));
  const firstSection = lines.findIndex((line) => SECTION.test(line));
  for (const [index, line] of lines.entries()) {
    const inProgress = firstSection === -1 || index < firstSection;
    const found = summaryLine(line) ?? (inProgress ? progressLine(line) : null);
    const isTrusted = inProgress || (lastSummary !== -1 && index > lastSummary);
    if (found !== null && (isTrusted || isBad(found))) noteFound(tests, found);
  }
  return tests;
}

function noteFound(tests: TestLog, { id, status, others = [] }: Found): void {
  tests.note(id, status, [...spellings(id), ...others]);
}

function isBad({ status }: Found): boolean {
  return status === 'failed' || status === 'error';
}

interface Found {
  readonly id: string;
  readonly status: LoggedStatus;
  readonly others?: readonly string[];
}

function progressLine(line: string): Found | null {
  const worker = WORKER.exec(line);
  return worker === null ? verboseLine(line) : summaryLine(line.slice(worker[0].length));
}

function summaryLine(line: string): Found | null {
  const [, word = '', rest = ''] = COUNTED.test(line) ? [] : (SUMMARY_LINE.exec(line) ?? []);
  const status = PYTEST_STATUS[word];
  if (status === undefined) return null;
  // SWE-bench's parsers keep the reason of an expected failure.
  return word === 'PASSED' ? { id: rest, status } : { id: idBeforeMessage(rest), status, others: [rest] };
}

/** The id in `path::test[a b] - message`: a parameter may contain ` - ` too. */
function idBeforeMessage(text: string): string {
  const parameter = /^[^\s[]+\[/.exec(text)?.[0] ?? '';
  const close = parameter === '' ? -1 : closing(text, parameter.length);
  const end = text.indexOf(' - ', close === -1 ? 0 : close);
  return end === -1 ? text : text.slice(0, end);
}

/** End of the first `]` that ends the text or precedes a message. */
function closing(text: string, from: number): number {
  const message = text.indexOf('] - ', from);
  if (message !== -1) return message + 1;
  return text.endsWith(']') ? text.length : -1;
}

/** Parses `path::test[a b] PASSED (reason) [ 12%]`, as `-v` prints during the run. */
function verboseLine(line: string): Found | null {
  const end = PERCENT.exec(line.slice(-LONGEST_END))?.[0].length ?? 0;
  const said = line.slice(0, line.length - end).trimEnd();
  const colons = said.indexOf('::', 1);
  if (colons === -1 || /\s/.test(said.slice(0, colons))) return null;
  const words = [...said.matchAll(WORD)].filter(({ index }) => index > colons + 2);
  const word = words.find(({ index, 0: whole }) => index + whole.length === said.length || said.endsWith(')'));
  const status = PYTEST_STATUS[word?.[1] ?? ''];
  return word === undefined || status === undefined ? null : { id: said.slice(0, word.index), status };
}

/**
 * Alternative names of a test in published lists: cut at the first blank (SWE-bench's parser keeps one word), a path as
 * parameter cut to its last part (`parse_log_pytest_options`), numbers for matplotlib's buttons
 * (`parse_log_matplotlib`), only the function, class and function without their file (R2E-Gym).
 */
function spellings(id: string): readonly string[] {
  const [word = id] = id.split(' ');
  const bracket = word.endsWith(']') ? word.indexOf('[') : -1;
  const [main, option] = bracket === -1 ? [word, ''] : [word.slice(0, bracket), word.slice(bracket + 1, -1)];
  const scope = main.lastIndexOf('::');
  const before = scope === -1 ? 0 : scope + 2;
  const names = [word, main.slice(before), id.slice(before), id.split('::').slice(1).join('.')];
  if (id.includes('MouseButton.')) {
    names.push(word.replaceAll('MouseButton.LEFT', '1').replaceAll('MouseButton.RIGHT', '3'));
  }
  if (option.startsWith('/') && !option.startsWith('//') && !option.includes('*')) {
    names.push(`${main}[/${option.slice(option.lastIndexOf('/') + 1)}]`);
  }
  return names.filter((name) => name !== id);
}
