import { z } from 'zod';
import { junitReport } from './junit.js';
import { type TestReport, TooMuchError, linesOf, StatusByTest, type TestStatus, MOST_TESTS } from './test-status.js';
import { asJson } from '../../../src/core/json.js';

/**
 * What a test runner reported, for repositories that the probe cannot see into (it listens to Python's runners alone):
 * JUnit XML from a file, else what stdout is by its content: `go test -json`, TAP, the documents of jest and RSpec, what cargo and SymPy print. A report that is cut off, damaged, none of these or
 * of no test runner's size gives no passes. Written by the same process as the code under test: a patch may forge it, see docs/decisions/0002.
 */
export function readReport({ junit, stdout }: { readonly junit: string | null; readonly stdout: string }): TestReport {
  try {
    if (junit !== null) return junitReport(junit);
    for (const read of [goReport, tapReport, documentReport, printedReport]) {
      const report = read(stdout);
      if (report.size > 0) return report;
    }
    return new Map();
  } catch (error) {
    if (error instanceof TooMuchError) return new Map();
    throw error;
  }
}

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

const Event = z.object({ Action: z.string(), Package: z.string(), Test: z.string().optional() });
const STATUS: Readonly<Record<string, TestStatus>> = { pass: 'passed', fail: 'failed', skip: 'skipped' };
/** Of all that is told, these lines alone are parsed. */
const ENDS = /^\{.*"Action": ?"(?:pass|fail|skip)"/;

/**
 * `go test -json`. A package that failed without ending (it crashed, or left early) takes its passes back: what did not run
 * has not passed, and the package's own last word is missing.
 * @throws TooMuchError
 */
export function goReport(stdout: string): TestReport {
  const found: { readonly test: string; readonly of: string; readonly status: TestStatus }[] = [];
  const ended = new Set<string>();
  for (const line of linesOf(stdout)) {
    const event = ENDS.test(line) ? readEvent(line) : null;
    const status = event === null ? undefined : STATUS[event.Action];
    if (event === null || status === undefined) continue;
    if (event.Test === undefined) ended.add(event.Package);
    else if (found.length === MOST_TESTS) throw new TooMuchError();
    else found.push({ test: `${event.Package}.${event.Test}`, of: event.Package, status });
  }
  const tests = new StatusByTest();
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

/** A test point up to its number; what follows is its name. */
const POINT = /^( *)(not )?ok(?!\w)(?: +\d+)?/;
const PLAN = /^1\.\.(\d+)/;
const DIRECTIVE = /(?<=\s)#\s*(?:skip|todo)\b/i;

interface Result {
  /** Blanks before it. */
  readonly depth: number;
  readonly name: string;
  readonly status: TestStatus;
}

/**
 * TAP 12 to 14, as `node --test` prints it. Subtests are indented and go by the names of those around them. Without its plan,
 * or with fewer results than it names, the run was cut off and nothing of it counts.
 * @throws TooMuchError
 */
export function tapReport(stdout: string): TestReport {
  const results: Result[] = [];
  let [planned, outermost] = [-1, 0];
  for (const line of linesOf(stdout)) {
    const result = resultOf(line);
    if (result !== null) {
      if (results.length === MOST_TESTS) throw new TooMuchError();
      results.push(result);
      outermost += Number(result.depth === 0);
    }
    const plan = PLAN.exec(line)?.[1];
    if (plan !== undefined) planned = Math.max(planned, 0) + Number(plan);
  }
  const isWhole = planned !== -1 && outermost >= planned;
  return isWhole ? statusesOf(results) : new Map();
}

function resultOf(line: string): Result | null {
  const [point = null, indent = '', not] = POINT.exec(line) ?? [];
  if (point === null) return null;
  const said = line.slice(point.length);
  const directive = DIRECTIVE.exec(said);
  const name = (directive === null ? said : said.slice(0, directive.index)).trim();
  const status = directive !== null ? 'skipped' : not === undefined ? 'passed' : 'failed';
  return { depth: indent.length, name: said.startsWith(' ') ? name.replace(/^- +/, '') : name, status };
}

/** From the last to the first: a subtest's parent ends behind it, one level further out. */
function statusesOf(results: readonly Result[]): TestReport {
  const tests = new StatusByTest();
  const around: { readonly depth: number; readonly path: string }[] = [];
  for (const { depth, name, status } of results.toReversed()) {
    while ((around.at(-1)?.depth ?? -1) >= depth) around.pop();
    const parent = around.at(-1);
    const path = parent === undefined ? name : `${parent.path} > ${name}`;
    around.push({ depth, path });
    tests.note(path, status);
  }
  return tests.all;
}
