import { z } from 'zod';
import { linesOf, StatusByTest, type TestReport, type TestStatus } from './test-status.js';

/* What runners print that write no JUnit XML, TAP or `go test -json`; told by its content. */

const SYMPY_FILE = /^(\S+\.py)\[\??\d*\]/;
const SYMPY_TEST = /^(test_\w+)(?: |$)/;
const SYMPY_LETTER = /(?:^|\s)(ok|f|F|T|E|s|w|X)(?: *\[(?:OK|FAIL)\])?$/;
const CARGO = /^test (\S.*) \.\.\. (ok|FAILED|ignored)\b/;
const CARGO_STATUS: Readonly<Record<string, TestStatus>> = { ok: 'passed', FAILED: 'failed', ignored: 'skipped' };

/** SymPy's `bin/test --verbose` and `cargo test`. @throws TooMuchError */
export function printedReport(stdout: string): TestReport {
  const tests = new StatusByTest();
  let [file, running] = ['', ''];
  for (const printed of linesOf(stdout)) {
    const line = printed.trimEnd();
    const [, name = '', word = ''] = CARGO.exec(line) ?? [];
    const status = CARGO_STATUS[word];
    if (status !== undefined) tests.note(name, status);
    file = SYMPY_FILE.exec(line)?.[1] ?? file;
    running = SYMPY_TEST.exec(line)?.[1] ?? running;
    const letter = SYMPY_LETTER.exec(line)?.[1];
    if (file === '' || running === '' || letter === undefined) continue;
    tests.note(`${file}::${running}`, letter === 'ok' ? 'passed' : /[FTEX]/.test(letter) ? 'failed' : 'skipped');
    running = '';
  }
  return tests.all;
}

const Jest = z.object({
  testResults: z.array(
    z.object({ name: z.string(), assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })) }),
  ),
});
const RSpec = z.object({ examples: z.array(z.object({ full_description: z.string(), status: z.string() })) });

/** `jest --json` and `rspec --format json`: the last line that is such a document. @throws TooMuchError */
export function documentReport(stdout: string): TestReport {
  const tests = new StatusByTest();
  const begin = Math.max(stdout.lastIndexOf('\n{"'), stdout.startsWith('{"') ? 0 : -1);
  if (begin === -1) return tests.all;
  const value = asJson(stdout.slice(begin).trimStart().split('\n', 1)[0] ?? '');
  for (const { name, assertionResults } of Jest.safeParse(value).data?.testResults ?? []) {
    for (const { fullName, status } of assertionResults) tests.note(`${name} > ${fullName}`, statusOf(status));
  }
  for (const { full_description, status } of RSpec.safeParse(value).data?.examples ?? []) {
    tests.note(full_description, statusOf(status));
  }
  return tests.all;
}

function statusOf(word: string): TestStatus {
  if (word === 'passed') return 'passed';
  return word === 'failed' ? 'failed' : 'skipped';
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
