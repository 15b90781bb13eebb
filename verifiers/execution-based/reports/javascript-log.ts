import { withoutDuration } from './durations.js';
import { noteJavaScriptDocuments } from './javascript-documents.js';
import { byWord, firstGroup, markedTest, printedLines, statusOfWord } from './log-lines.js';
import { OpenSuites, spellTestInSuites } from './suites.js';
import { type LoggedStatus, TestLog } from './test-log.js';

/** Parses the output of Jest, Vitest, Mocha, Karma, Deno and Node's own runner, and TAP. @throws TooMuchError */
export function parseJavaScriptLog(log: string): TestLog {
  const scan = new JavaScriptScan();
  for (const line of printedLines(log)) scan.line(line);
  scan.end();
  noteJavaScriptDocuments(scan.tests, log);
  return scan.tests;
}

/** What a runner prints that ran tests; a runner that lost its browser prints zeros. As in SWE-bench (`SUITE_RAN`). */
const RAN = [
  /Executed [1-9]\d* of \d+/,
  /TOTAL: [1-9]\d* (?:SUCCESS|FAILED)/,
  /(?<!\d)[1-9]\d* passing/,
  /Tests:\s{1,20}[1-9]/,
  /Test Suites:\s{1,20}(?:\d+ \w+, ){0,5}[1-9]\d* total/,
  /^# tests [1-9]/,
  /(?<!\d)[1-9]\d* specs?, \d+ failures?/,
  /': ok$/,
];

/**
 * As {@link parseJavaScriptLog}, for runners that name only the tests that failed: if all tests ran, the others passed.
 * @throws TooMuchError
 */
export function parseJavaScriptFailures(log: string): TestLog {
  const tests = parseJavaScriptLog(log);
  /** Whether a browser has not executed all tests, by the line up to its count. */
  const lacking = new Map<string, boolean>();
  let [hasRun, isCut] = [false, tests.isIncomplete];
  for (const line of printedLines(log)) {
    hasRun ||= RAN.some((pattern) => pattern.test(line));
    isCut ||= HOOK_FAILED.test(line);
    const counted = EXECUTED.exec(line);
    if (counted !== null) lacking.set(counted[1] ?? '', lacksTests(counted));
  }
  if (hasRun && !isCut && ![...lacking.values()].includes(true)) tests.statuses.unnamed = 'passed';
  return tests;
}

/** Mocha skips the other tests of a suite whose hook fails. */
const HOOK_FAILED = /"(?:before|after) (?:all|each)" hook\b/;
/** Karma counts the tests of a browser again after each; what the last line lacks was not run. */
const EXECUTED = /^(.{0,100}?)\bExecuted (\d+) of (\d+)(?:.{0,60}\(skipped (\d+)\))?/;

function lacksTests([, , executed, all, skipped = '0']: readonly (string | undefined)[]): boolean {
  return Number(executed) + Number(skipped) < Number(all);
}

const MOCHA_SUMMARY = /^ *\d+ passing(?: \(|$)/;
const NUMBERED = /^(?: *\[\w+\])? *\d+\) (\S.*)$/;
const PENDING = /^ +- (\S.*)$/;
const SUITE = byWord(/^(?<word>PASS|FAIL)\s+(?<name>\S.*)$/);
const SUITE_NOT_RUN = /^\s*● Test suite failed to run$/;
const JSON_RESULT = byWord(/^\s*\[(?<word>PASSED|FAILED)\] (?<name>\S.*)$/);
const KARMA_FAILURE = /^.{0,40}(?:Chrome|PhantomJS|Firefox|Headless).{0,40}\([^)]{1,60}\)\s(\S.*?) ?FAILED$/;
const RENDERING_FAILURE = /^case (\S.*): mismatch/;
const SKIPPED = /\((?:skipped)\)|\[(?:skip|skipped|pending|todo)\]/gi;
/** `[chromium]: name`, as some runners begin titles. */
const TAG = /^\[[^\]]*\]:\s*/;

class JavaScriptScan {
  readonly tests = new TestLog();
  private readonly suites = new OpenSuites();
  private readonly karma = new KarmaSuites();
  private readonly tap = new TapScan(this.tests);
  private readonly deno = new DenoScan(this.tests);
  private readonly failures = new FailureList();
  /** Path of the file whose tests Jest prints. */
  private file: string | null = null;
  /** Mocha's list of failures has begun: its numbers and dashes are no results. */
  private isOver = false;

  line(line: string): void {
    this.failures.line(line);
    if (MOCHA_SUMMARY.test(line)) this.isOver = true;
    if (SUITE_NOT_RUN.test(line)) this.tests.statuses.isIncomplete = true;
    if (!(this.suite(line) || this.test(line) || this.tap.line(line) || this.deno.line(line))) this.other(line);
  }

  end(): void {
    this.failures.note(this.tests);
  }

  private suite(line: string): boolean {
    const found = SUITE(line);
    if (found === null) return false;
    this.file = withoutDuration(found[0]);
    this.suites.clear();
    this.tests.note(...found);
    return true;
  }

  private test(line: string): boolean {
    const marked = markedTest(line);
    if (marked !== null) this.isOver = false;
    const [title, status] = marked ?? (this.isOver ? null : unmarkedTest(line)) ?? [];
    if (title === undefined || status === undefined) return false;
    this.note(line, title, status);
    return true;
  }

  /** The title alone is the test's id, as in most lists. */
  private note(line: string, printed: string, status: LoggedStatus): void {
    const bare = printed.replace(SKIPPED, '').trim() || printed;
    const isSkipped = status === 'passed' && bare !== printed;
    const title = withoutDuration(status === 'skipped' ? bare.replace(/^skipped (?=\S)/, '') : bare);
    const others = [
      printed,
      withoutDuration(printed),
      title.replace(TAG, ''),
      // npx's parser drops what follows in brackets from failures.
      ...(status === 'failed' ? [title.replace(/ \([^()]+\)$/, ''), title.replace(/:$/, '')] : []),
      // Vitest's parser takes a number at the end for a duration.
      title.replace(/ \d+$/, ''),
      ...this.suites.around(line).flatMap((suites) => spellTestInSuites(suites, title)),
      ...this.karma.spellings(title),
      ...(this.file === null ? [] : [`${this.file}:${title}`]),
    ];
    this.tests.note(title, isSkipped ? 'skipped' : status, others);
  }

  private other(line: string): void {
    const result = JSON_RESULT(line);
    const skipped = line.replace(SKIPPED, '').trim();
    const failed = KARMA_FAILURE.exec(line)?.[1] ?? RENDERING_FAILURE.exec(line)?.[1];
    if (result !== null) this.tests.note(...result);
    else if (failed !== undefined) this.tests.note(failed, 'failed');
    else if (skipped !== '' && skipped !== line.trim()) this.tests.note(skipped, 'skipped');
    this.karma.line(line);
    this.suites.line(line);
  }
}

function unmarkedTest(line: string): readonly [title: string, status: LoggedStatus] | null {
  const failed = firstGroup(NUMBERED, line);
  if (failed !== undefined) return [failed, 'failed'];
  const pending = firstGroup(PENDING, line);
  return pending === undefined ? null : [pending, 'skipped'];
}

/** Karma's suites as SWE-bench's parser joins them: a suite as deep as the one before does not replace it. */
class KarmaSuites {
  private path: string[] | null = null;
  private indent = -1;

  line(line: string): void {
    if (line.includes('Starting browser')) this.path ??= [];
    if (line.startsWith('SUMMARY:')) this.path = null;
    const indent = line.length - line.trimStart().length - 1;
    if (this.path === null || indent < 1 || this.path.length > MOST_SUITES) return;
    if (indent > this.indent) this.path.push(line.trim());
    else if (indent < this.indent) this.path.pop();
    this.indent = indent;
  }

  spellings(title: string): readonly string[] {
    return this.path === null || this.path.length === 0
      ? []
      : [`${this.path.join(' > ').slice(-LONGEST_PATH)} > ${title}`];
  }
}

const MOST_SUITES = 20;
const LONGEST_PATH = 1_000;

const TAP_POINT = /^ *(not ok|ok) \d+ (\S.*)$/;
const TAP_DIRECTIVE = / # ?(?:skip|todo)/i;

/** TAP; subtests in braces (node-tap) are named by their path too. */
class TapScan {
  private readonly path: string[] = [];

  constructor(private readonly tests: TestLog) {}

  line(line: string): boolean {
    const [, word, printed = ''] = TAP_POINT.exec(line) ?? [];
    if (word !== undefined) this.point(word, printed);
    else if (line.trim() === '}') this.path.pop();
    return word !== undefined;
  }

  private point(word: string, printed: string): void {
    const opens = printed.endsWith(' {');
    const text = opens ? printed.slice(0, -2).trimEnd() : printed;
    const title = withoutDuration((text.split(' #', 1)[0] ?? '').replace(/^- /, '').trim());
    const status = TAP_DIRECTIVE.test(text) ? 'skipped' : word === 'ok' ? 'passed' : 'failed';
    const path = [...this.path, title].join(' :: ');
    this.tests.note(title, status, [printed, text, text.replace(/^- /, ''), path]);
    if (opens && this.path.length < MOST_SUITES && title.length < LONGEST_PATH) this.path.push(title);
  }
}

const DENO = /^(\S.*?) ?\.\.\.(?: (.*))?$/;
const DENO_RESULT = /^(ok|FAILED|ignored)(?: \([^)]*\))?$/;
const TEMPORARY = /\/tmp\/\w+(?:\.qmd|\/)/g;

/** `name ... ok (3ms)`; Quarto's lists number temporary files. */
class DenoScan {
  private readonly temporary = new Map<string, number>();

  constructor(private readonly tests: TestLog) {}

  line(line: string): boolean {
    if (!line.includes('...')) return false;
    const numbered = line.startsWith('[') ? line.replace(TEMPORARY, (path) => `/tmp/${this.numberOf(path)}`) : line;
    const [, name = '', said = ''] = DENO.exec(numbered) ?? [];
    const status = statusOfWord(firstGroup(DENO_RESULT, said) ?? '');
    if (status !== undefined) this.tests.note(name, status);
    return status !== undefined;
  }

  private numberOf(path: string): number {
    const number = this.temporary.get(path) ?? this.temporary.size;
    this.temporary.set(path, number);
    return number;
  }
}

const FAILURE_BEGINS = /^\s*\d+\) (\S.*)$/;
const LONGEST_FAILURE = 10;
const MOST_FAILURES = 10_000;

/** Mocha's list of failures has the suites and the title of each on lines of their own, up to a colon. */
class FailureList {
  private titles: string[] | null = null;
  private readonly found: (readonly [name: string, others: readonly string[]])[] = [];

  line(line: string): void {
    const begins = FAILURE_BEGINS.exec(line)?.[1];
    if (begins !== undefined) this.titles = [begins];
    else if (this.titles !== null) this.next(this.titles, line.trim());
  }

  /** Most reporters have named these tests when they ran. @throws TooMuchError */
  note(tests: TestLog): void {
    const isNew = !tests.hasFailures;
    for (const [name, others] of this.found) {
      if (isNew) tests.note(name, 'failed', others);
      else for (const each of [name, ...others]) tests.noteOther(each, 'failed');
    }
  }

  private next(titles: string[], line: string): void {
    const error = line.indexOf('Error');
    if (error !== -1) this.add(titles, line.slice(0, error).trim());
    if (error !== -1 || titles.length === LONGEST_FAILURE) this.titles = null;
    else if (line !== '') titles.push(line);
  }

  /** @param kind what precedes `Error`; OpenLayers' lists contain it */
  private add(titles: readonly string[], kind: string): void {
    const joined = titles.join(' ').slice(0, LONGEST_PATH);
    const end = titles.findIndex((title) => title.endsWith(':'));
    const named = titles.slice(0, end === -1 ? titles.length : end + 1);
    const name = named.join(' ').replace(/:$/, '').slice(0, LONGEST_PATH);
    const path = named.join(':').replace(/:$/, '').slice(0, LONGEST_PATH);
    if (this.found.length < MOST_FAILURES) this.found.push([name, [joined, `${joined} ${kind}`.trim(), path]]);
  }
}
