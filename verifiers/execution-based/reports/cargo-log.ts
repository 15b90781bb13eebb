import { firstGroup, printedLines } from './log-lines.js';
import { TestLog } from './test-log.js';

/** A result that `cargo test` or `cargo nextest` printed. */
export interface CargoResult {
  readonly test: string;
  readonly word: 'ok' | 'FAILED' | 'ignored';
}

const START = /^test (\S.*?) \.\.\. ?(.*)$/;
const RESULT = /^(?:(ok)(?: <[\d.]+s>)?$|(ignored)(?:, |$)|(FAILED)\b)/;
const NEXTEST = /^ *(PASS|FAIL|SIGABRT|SIGSEGV|TIMEOUT|SKIP) \[[^\]]*\] (?:\([^)]*\) )?(\S+) (\S.*)$/;
const NEXTEST_WORD: Readonly<Record<string, CargoResult['word']>> = { PASS: 'ok', SKIP: 'ignored' };
const LISTED = /^ {4}(\S.*)$/;

/**
 * With one thread, a test's output comes between its name and its result. What a test prints may look like a result: all of
 * them up to the next test are yielded, and so are the names in the list of failures.
 */
export function* readCargoResults(log: string): Generator<CargoResult> {
  let running: string | null = null;
  let isList = false;
  for (const line of printedLines(log)) {
    const [test, said] = startedTest(line);
    if (test !== null || line.startsWith('test result: ')) running = test;
    const word = firstGroup(RESULT, said);
    if (running !== null && word !== undefined) yield { test: running, word: word as CargoResult['word'] };
    isList = isListOfFailures(line, isList);
    if (isList) yield* listedFailure(line);
    yield* nextestResult(line);
  }
}

function isListOfFailures(line: string, isOpen: boolean): boolean {
  return line === 'failures:' || (isOpen && (line === '' || LISTED.test(line)));
}

function* listedFailure(line: string): Generator<CargoResult> {
  const test = firstGroup(LISTED, line);
  if (test !== undefined) yield { test, word: 'FAILED' };
}

/** The test that a line names last, and what follows on the line. */
function startedTest(line: string): readonly [test: string | null, said: string] {
  let [test, said]: [string | null, string] = [null, line];
  for (let begin = START.exec(said); begin !== null; begin = START.exec(said)) [, test = '', said = ''] = begin;
  return [test, said];
}

function* nextestResult(line: string): Generator<CargoResult> {
  const [, word, binary = '', name = ''] = NEXTEST.exec(line) ?? [];
  if (word === undefined) return;
  const result = NEXTEST_WORD[word] ?? 'FAILED';
  yield { test: name, word: result };
  yield { test: `${binary} ${name}`, word: result };
}

const STATUS = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' } as const;
const SHOULD_PANIC = ' - should panic';

/** Parses `cargo test` and `cargo nextest`. @throws TooMuchError */
export function parseCargoLog(log: string): TestLog {
  const tests = new TestLog();
  for (const { test, word } of readCargoResults(log)) {
    const isPanic = test.endsWith(SHOULD_PANIC);
    tests.note(test, STATUS[word], isPanic ? [test.slice(0, -SHOULD_PANIC.length)] : []);
  }
  return tests;
}
