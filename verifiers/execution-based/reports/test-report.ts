import { z } from 'zod';
import { asSmallJson, listOf } from '../../../src/core/json.js';
import type { TestReportKind } from '../../../src/core/run/generated-test.js';
import { type CargoResult, readCargoResults } from './cargo-log.js';
import { linesOf } from './log-lines.js';
import { readSympyResults, type SympyResult } from './sympy-log.js';
import { TooMuchError } from './test-log.js';
import { readJunitReport } from './xml-reports.js';

/** Status of each test in a report, by name; if a test appears more than once, the worst. */
export type TestReport = ReadonlyMap<string, TestStatus>;
export type TestStatus = 'passed' | 'failed' | 'skipped';

/** In ascending order of badness. */
const WORSE: readonly TestStatus[] = ['passed', 'skipped', 'failed'];
/** A report beyond these limits is not a real one. */
export const MOST_TESTS = 500_000;
const MOST_CHARACTERS = 64 * 1024 * 1024;
/** Of a report that is one JSON document: far more than fits into one that tells of tests. */
const MOST_VALUES = 1_000_000;

/** Collects statuses; a test that both passed and failed counts as failed, whichever source reports the pass. */
export class StatusByTest {
  private readonly statuses = new Map<string, TestStatus>();
  private characters = 0;

  /** @throws TooMuchError */
  note(test: string, status: TestStatus): void {
    this.characters += test.length;
    if (this.statuses.size > MOST_TESTS || this.characters > MOST_CHARACTERS) throw new TooMuchError();
    const known = this.statuses.get(test);
    if (known === undefined || WORSE.indexOf(status) > WORSE.indexOf(known)) this.statuses.set(test, status);
  }

  get all(): TestReport {
    return this.statuses;
  }
}

/**
 * Reads what a test runner reported, for repositories that the probe does not support (it only supports Python's
 * runners): JUnit XML from a file, else stdout, whose format is detected: `go test -json`, TAP, JSON from jest and
 * RSpec, the output of cargo and SymPy. A report that is cut off, damaged, in another format or implausibly large gives
 * no passes. Written by the process that runs the code under test, so a patch may forge it, see docs/decisions/0002.
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

const READERS: Readonly<Record<Exclude<TestReportKind, 'exit-code'>, (text: string) => TestReport>> = {
  junit: junitReport,
  tap: tapReport,
  'go-test-json': goReport,
  cargo: printedReport,
  'rspec-json': documentReport,
};

/** Reads a report of a given kind; empty if damaged or too large. */
export function readReportAs(kind: keyof typeof READERS, text: string): TestReport {
  try {
    return READERS[kind](text);
  } catch (error) {
    if (error instanceof TooMuchError) return new Map();
    throw error;
  }
}

/* Runners that write no JUnit XML, TAP or `go test -json`; detected by content. */

const CARGO_STATUS: Readonly<Record<CargoResult['word'], TestStatus>> = {
  ...{ ok: 'passed', FAILED: 'failed', ignored: 'skipped' },
};
const SYMPY_STATUS: Readonly<Record<SympyResult['letter'], TestStatus>> = {
  ...{ ok: 'passed', F: 'failed', T: 'failed', E: 'failed', X: 'failed', failure: 'failed' },
  ...{ f: 'skipped', s: 'skipped', w: 'skipped' },
};

/** SymPy's `bin/test --verbose` and `cargo test`. @throws TooMuchError */
export function printedReport(stdout: string): TestReport {
  const tests = new StatusByTest();
  for (const { test, word } of readCargoResults(stdout)) tests.note(test, CARGO_STATUS[word]);
  for (const { file, test, letter } of readSympyResults(stdout)) {
    if (file !== '') tests.note(`${file}::${test}`, SYMPY_STATUS[letter]);
  }
  return tests.all;
}

/** Each test's name and the runner's word for its outcome. */
type Told = readonly (readonly [name: string, word: string])[];

const Jest = z
  .object({
    testResults: listOf(
      z.object({ name: z.string(), assertionResults: listOf(z.object({ fullName: z.string(), status: z.string() })) }),
    ),
  })
  .transform(({ testResults }): Told =>
    testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ fullName, status }) => [`${name} > ${fullName}`, status] as const),
    ),
  );
const RSpec = z
  .object({ examples: listOf(z.object({ full_description: z.string(), status: z.string() })) })
  .transform(({ examples }): Told => examples.map(({ full_description, status }) => [full_description, status]));
const NOTHING: Told = [];
const Document = z.union([Jest, RSpec]).catch(NOTHING);

/** `jest --json` and `rspec --format json`: the last line that is such a document. @throws TooMuchError */
export function documentReport(stdout: string): TestReport {
  const tests = new StatusByTest();
  const begin = Math.max(stdout.lastIndexOf('\n{"'), stdout.startsWith('{"') ? 0 : -1);
  if (begin === -1) return tests.all;
  const told = Document.parse(asSmallJson(stdout.slice(begin).trimStart().split('\n', 1)[0] ?? '', MOST_VALUES));
  for (const [name, word] of told) tests.note(name, statusOf(word));
  return tests.all;
}

function statusOf(word: string): TestStatus {
  if (word === 'passed') return 'passed';
  return word === 'failed' ? 'failed' : 'skipped';
}

const Event = z.object({ Action: z.string(), Package: z.string(), Test: z.string().optional() });
const STATUS: Readonly<Record<string, TestStatus>> = { pass: 'passed', fail: 'failed', skip: 'skipped' };
/** Only events that end a test or package are parsed. */
const ENDS = /^\{.*"Action": ?"(?:pass|fail|skip)"/;

/**
 * `go test -json`. If a package has no end event (it crashed or exited early), its passes count as failures, since
 * tests that did not run have not passed.
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

/** A test point up to its number; the name follows. */
const POINT = /^( *)(not )?ok(?!\w)(?: +\d+)?/;
const PLAN = /^1\.\.(\d+)/;
const DIRECTIVE = /(?<=\s)#\s*(?:skip|todo)\b/i;

interface Result {
  /** Number of leading blanks. */
  readonly depth: number;
  readonly name: string;
  readonly status: TestStatus;
}

/**
 * TAP 12 to 14, as `node --test` prints it. Subtests are indented and named by their path. Without a plan, or with
 * fewer results than planned, the run was cut off and the report is empty.
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

/** In reverse: a subtest's parent follows it, one level further out. */
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

/** JUnit XML as written by pytest, Maven, jest-junit and others; empty unless well-formed. @throws TooMuchError */
export function junitReport(xml: string): TestReport {
  const tests = new StatusByTest();
  for (const { classname, name, status } of readJunitReport(xml)) {
    tests.note(classname === '' ? name : `${classname}::${name}`, status === 'error' ? 'failed' : status);
  }
  return tests.all;
}
