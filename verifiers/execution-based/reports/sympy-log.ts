import { firstGroup, printedLines } from './log-lines.js';
import { parsePytestLog } from './pytest-log.js';
import { type LoggedStatus, TestLog } from './test-log.js';

/** A result that sympy's `bin/test --verbose` printed: a letter of its reporter, or `failure` from its list of failures. */
export interface SympyResult {
  readonly file: string;
  readonly test: string;
  readonly letter: 'ok' | 'f' | 'F' | 'T' | 'E' | 's' | 'w' | 'X' | 'failure';
}

const FILE = /^(\S+\.py)\[\??\d*\]/;
const TEST = /^(test_\w+)(?: |$)/;
const LETTER = /(?:^|\s)(ok|f|F|T|E|s|w|X)(?: *\[(?:OK|FAIL)\])?$/;
const FAILURE = /^_+ (\S+\.py):(test_\w+) _+$/;

/** The output of the running test may come between its name and its result. */
export function* readSympyResults(log: string): Generator<SympyResult> {
  let file = '';
  let running: string | null = null;
  for (const line of printedLines(log)) {
    yield* sympyFailure(line);
    file = firstGroup(FILE, line) ?? file;
    running = firstGroup(TEST, line) ?? running;
    const letter = firstGroup(LETTER, line) as SympyResult['letter'] | undefined;
    if (running === null || letter === undefined) continue;
    yield { file, test: running, letter };
    running = null;
  }
}

function* sympyFailure(line: string): Generator<SympyResult> {
  const [, file = '', test] = FAILURE.exec(line) ?? [];
  if (test !== undefined) yield { file, test, letter: 'failure' };
}

/** An expected failure counts as passed, as everywhere in SWE-bench. */
const STATUS: Readonly<Record<SympyResult['letter'], LoggedStatus>> = {
  ...{ ok: 'passed', f: 'passed', F: 'failed', T: 'failed', E: 'error' },
  ...{ s: 'skipped', w: 'skipped', X: 'failed', failure: 'failed' },
};
const PYTEST_BEGINS = /^=+ test session starts =+$/m;

/**
 * Parses sympy's `bin/test --verbose`, behind which newer versions run pytest. Lists contain only function names; the file
 * distinguishes equal ones.
 * @throws TooMuchError
 */
export function parseSympyLog(log: string): TestLog {
  if (PYTEST_BEGINS.test(log)) return parsePytestLog(log);
  const tests = new TestLog();
  for (const { file, test, letter } of readSympyResults(log)) {
    tests.note(`${file}:${test}`, STATUS[letter], [test]);
  }
  return tests;
}
