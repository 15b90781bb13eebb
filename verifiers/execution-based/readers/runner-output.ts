import { z } from 'zod';
import { asJson } from '../../../src/core/json.js';
import { linesOf, StatusByTest, type TestReport, type TestStatus } from './test-status.js';

/* What runners print that write no JUnit XML, TAP or `go test -json`; told by its content. */

const SYMPY_FILE = /^(\S+\.py)\[\??\d*\]/;
const SYMPY_TEST = /^(test_\w+)(?: |$)/;
const SYMPY_LETTER = /(?:^|\s)(ok|f|F|T|E|s|w|X)(?: *\[(?:OK|FAIL)\])?$/;
const SYMPY_STATUS: Readonly<Record<string, TestStatus>> = {
  ...{ ok: 'passed', F: 'failed', T: 'failed', E: 'failed', X: 'failed' },
  ...{ f: 'skipped', s: 'skipped', w: 'skipped' },
};
const CARGO = /^test (\S.*) \.\.\. (ok|FAILED|ignored)\b/;
const CARGO_STATUS: Readonly<Record<string, TestStatus>> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' };

/** SymPy's `bin/test --verbose` and `cargo test`. @throws TooMuchError */
export function printedReport(stdout: string): TestReport {
  const tests = new StatusByTest();
  noteCargo(stdout, tests);
  noteSymPy(stdout, tests);
  return tests.all;
}

function noteCargo(stdout: string, tests: StatusByTest): void {
  for (const line of linesOf(stdout)) {
    const [, name = '', word = ''] = CARGO.exec(line) ?? [];
    const status = CARGO_STATUS[word];
    if (status !== undefined) tests.note(name, status);
  }
}

function noteSymPy(stdout: string, tests: StatusByTest): void {
  let [file, running] = ['', ''];
  for (const printed of linesOf(stdout)) {
    const line = printed.trimEnd();
    file = named(SYMPY_FILE, line) ?? file;
    running = named(SYMPY_TEST, line) ?? running;
    const status = SYMPY_STATUS[named(SYMPY_LETTER, line) ?? ''];
    if (file === '' || running === '' || status === undefined) continue;
    tests.note(`${file}::${running}`, status);
    running = '';
  }
}

function named(expression: RegExp, line: string): string | undefined {
  return expression.exec(line)?.[1];
}

/** Each test's name, and the runner's word for what became of it. */
type Told = readonly (readonly [name: string, word: string])[];

const Jest = z
  .object({
    testResults: z.array(
      z.object({ name: z.string(), assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })) }),
    ),
  })
  .transform(({ testResults }): Told =>
    testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ fullName, status }) => [`${name} > ${fullName}`, status] as const),
    ),
  );
const RSpec = z
  .object({ examples: z.array(z.object({ full_description: z.string(), status: z.string() })) })
  .transform(({ examples }): Told => examples.map(({ full_description, status }) => [full_description, status]));
const NOTHING: Told = [];
const Document = z.union([Jest, RSpec]).catch(NOTHING);

/** `jest --json` and `rspec --format json`: the last line that is such a document. @throws TooMuchError */
export function documentReport(stdout: string): TestReport {
  const tests = new StatusByTest();
  const begin = Math.max(stdout.lastIndexOf('\n{"'), stdout.startsWith('{"') ? 0 : -1);
  if (begin === -1) return tests.all;
  const told = Document.parse(asJson(stdout.slice(begin).trimStart().split('\n', 1)[0] ?? ''));
  for (const [name, word] of told) tests.note(name, statusOf(word));
  return tests.all;
}

function statusOf(word: string): TestStatus {
  if (word === 'passed') return 'passed';
  return word === 'failed' ? 'failed' : 'skipped';
}
