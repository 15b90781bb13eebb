import { byWord, firstGroup, markedTest, printedLines, type ReadLine, readLines, statusOfWord } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

const TASTY_RESULT = /^: *(OK|PASS|FAIL|ERROR|SKIP|PENDING)(?!\w)/;
const HUNIT = byWord(/^### (?<word>Failure|Error) +in: +(?<name>\S.*)$/);
const BRACKETED = /^ +(\S.*) \[([✓✔✗✘‐])\]$/;
const NUMBERED = /^ *\d+\) +(\S.*)$/;
const NOISE = ['Test suite ', 'Linking ', 'Building ', 'Running  '];

const tasty: ReadLine = (line) => {
  const end = line.lastIndexOf(':');
  const result = end === -1 ? undefined : TASTY_RESULT.exec(line.slice(end))?.[1];
  const status = result === undefined ? undefined : statusOfWord(result);
  return status === undefined ? null : [line.slice(0, end).trim(), status];
};
const bracketed: ReadLine = (line) => {
  const [, title = '', mark] = BRACKETED.exec(line) ?? [];
  if (mark === undefined) return null;
  return [title, '✓✔'.includes(mark) ? 'passed' : mark === '‐' ? 'skipped' : 'failed'];
};
const marked: ReadLine = (line) => {
  const found = markedTest(line);
  return found === null ? null : [...found, [found[0].replace(/ \([^()]*\)$/, '')]];
};
const numbered: ReadLine = (line) => {
  const failed = firstGroup(NUMBERED, line);
  return failed === undefined ? null : [failed, 'failed'];
};
/** Parses tasty, hspec with marks, and HUnit. @throws TooMuchError */
export function parseHaskellLog(log: string): TestLog {
  const readers = [tasty, bracketed, marked, numbered, HUNIT];
  const quiet =
    (read: ReadLine): ReadLine =>
    (line) =>
      NOISE.some((each) => line.includes(each)) ? null : read(line);
  return readLines(log, ...readers.map(quiet));
}

const STARTS = /^Test suite .*: RUNNING\.\.\./;
const FAILURES = 'Failures:';
const FAILED = / FAILED *\[\d+\]$/;
const SKIPPED = / (?:PENDING|SKIPPED)(?!\w)/;
const UNCHANGED = "Golden and Actual output didn't change";
const MOST_LEVELS = 20;
const LONGEST_PATH = 2_000;

/**
 * Parses hspec's tree, in which an example that passed has no mark: it is a line without deeper ones below it. Only the lines
 * between the start of the suite and its failures report a pass; names are joined by full stops.
 * @throws TooMuchError
 */
export function parseHspecTree(log: string): TestLog {
  const tests = new TestLog();
  const tree = new HspecTree(tests);
  let part: 'before' | 'tree' | 'failures' = 'before';
  for (const line of printedLines(log)) {
    if (line.trim() === FAILURES) part = 'failures';
    else if (STARTS.test(line)) part = 'tree';
    else if (part === 'tree') tree.line(line);
    else if (part === 'failures') noteFailure(tests, line);
  }
  tree.end();
  return tests;
}

function noteFailure(tests: TestLog, line: string): void {
  const failed = firstGroup(NUMBERED, line);
  if (failed !== undefined) tests.note(failed.split(/, */).join('.'), 'failed');
}

class HspecTree {
  private path: string[] = [];
  private last: { readonly name: string; readonly status: LoggedStatus; readonly indent: number } | null = null;

  constructor(private readonly tests: TestLog) {}

  line(line: string): void {
    const text = line.trim();
    if (text === '' || text === UNCHANGED) return;
    const indent = line.length - text.length;
    if (this.last !== null && this.last.indent >= indent) this.end();
    const end = FAILED.exec(text) ?? SKIPPED.exec(text);
    const level = Math.min(indent >> 1, MOST_LEVELS);
    this.path = [...Array.from({ length: level }, (_, at) => this.path[at] ?? ''), text.slice(0, end?.index).trim()];
    const name = this.path
      .filter((title) => title !== '')
      .join('.')
      .slice(0, LONGEST_PATH);
    this.last = { name, status: FAILED.test(text) ? 'failed' : end === null ? 'passed' : 'skipped', indent };
  }

  end(): void {
    if (this.last !== null) this.tests.note(this.last.name, this.last.status);
    this.last = null;
  }
}
