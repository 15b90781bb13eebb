import { byWord, type Found, printedLines, type ReadLine } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';
import { readJunitReportsIn, type TestCase } from './xml-reports.js';

/**
 * Gradle's output per test and per task, that of Maven's Surefire per class and per module, Ant's, `mvn -Dtest=…` with
 * `BUILD SUCCESS`, and JUnit XML printed into the log.
 * @throws TooMuchError
 */
export function parseJavaLog(log: string): TestLog {
  const tests = new TestLog();
  const gradle = new GradleScan(tests);
  const maven = new MavenScan(tests);
  for (const printed of printedLines(log)) {
    const line = printed.trimStart();
    const found = ANT(line);
    if (found !== null) tests.note(...found);
    else if (!maven.line(line)) gradle.line(line, printed.length - line.length);
  }
  maven.end();
  for (const each of readJunitReportsIn(log)) noteJunitCase(tests, each);
  return tests;
}

/** JUnit XML printed into a log. @throws TooMuchError */
export function parseJunitLog(log: string): TestLog {
  const tests = new TestLog();
  for (const each of readJunitReportsIn(log)) noteJunitCase(tests, each);
  return tests;
}

/** Lists join the class and the name in one of three ways, some of them as they are escaped in the report. */
function noteJunitCase(tests: TestLog, { classname, name, status }: TestCase): void {
  const joined =
    classname === '' ? [name] : [`${classname}::${name}`, `${classname} ${name}`, `${name} (${classname})`];
  tests.note(joined[0] ?? name, status, [...joined, ...joined.flatMap(escapeXml)]);
}

const ESCAPES: readonly (readonly [letter: string, escape: string])[] = [
  ...([
    ['&', '&amp;'],
    ['<', '&lt;'],
    ['>', '&gt;'],
    ['"', '&quot;'],
  ] as const),
];

/** As writers of XML escape text in attributes; some escape apostrophes too. */
function escapeXml(text: string): readonly string[] {
  if (!/[&<>"']/.test(text)) return [];
  const escaped = ESCAPES.reduce((all, [letter, escape]) => all.replaceAll(letter, escape), text);
  return [escaped, escaped.replaceAll("'", '&apos;'), escaped.replaceAll("'", '&#39;')];
}

const ANT: ReadLine = byWord(/^\[junit\] \s*\[(?<word>PASS|FAIL|ERR)\] \s*(?<name>\S.*)$/);

const STATUS: Readonly<Record<string, LoggedStatus>> = {
  ...{ PASSED: 'passed', FAILED: 'failed', SKIPPED: 'skipped' },
  ...{ '': 'passed', 'UP-TO-DATE': 'passed', 'FROM-CACHE': 'passed', 'NO-SOURCE': 'skipped' },
};
const TASK = /^> Task :(\S+)(?: (UP-TO-DATE|FROM-CACHE|NO-SOURCE|SKIPPED|FAILED))?$/;
const RESULT = /^([^>\s].*) (PASSED|FAILED|SKIPPED)(?: \([\d.]+ ?m?s\))?$/;
/** The line of another process follows on the result. */
const MERGED = / (PASSED|FAILED|SKIPPED)(?=[^\s])/;
const OUTPUT = / STANDARD_(?:OUT|ERROR)$/;
const TEST = /^[\w.$]+(?:\[[^\]]*\])? > \S/;
const BETWEEN = ' > ';

/** A test and its result may be on different lines, with the lines of other processes between them. */
class GradleScan {
  private waiting: string | null = null;
  /** Indentation of the line that announces the output of a test, which is indented more; -1 outside of any. */
  private output = -1;

  constructor(private readonly tests: TestLog) {}

  line(line: string, indent: number): void {
    if (line === '' || this.isOutput(indent)) return;
    this.output = OUTPUT.test(line) ? indent : -1;
    const task = TASK.exec(line);
    if (task !== null) this.task(task[1] ?? '', task[2] ?? '');
    else if (this.waiting !== null && Object.hasOwn(STATUS, line)) this.ended(this.waiting, line);
    else if (this.output === -1) this.test(line);
  }

  private isOutput(indent: number): boolean {
    return this.output !== -1 && indent > this.output;
  }

  /** Gradle stops at the first task that fails. */
  private task(task: string, outcome: string): void {
    this.tests.note(task, STATUS[outcome] ?? 'failed');
    if (outcome === 'FAILED') this.tests.statuses.isIncomplete = true;
  }

  private test(line: string): void {
    const [, name, word = ''] = RESULT.exec(line) ?? [];
    if (name !== undefined) {
      this.ended(name, word);
      return;
    }
    if (line.startsWith('>') || !line.includes(BETWEEN)) return;
    const merged = MERGED.exec(line);
    if (merged !== null && merged.index > line.indexOf(BETWEEN)) {
      this.ended(line.slice(0, merged.index), merged[1] ?? '');
    } else if (TEST.test(line)) this.waiting = line;
  }

  private ended(name: string, word: string): void {
    this.waiting = null;
    this.tests.note(name, STATUS[word] ?? 'failed');
  }
}

const COUNTS = /Tests run: *(\d+), *Failures: *(\d+), *Errors: *(\d+), *Skipped: *(\d+)/;
const RUNNING = /^(?:\[INFO\] +)?Running (\S.*)$/;
const IN_CLASS = ' in ';
const FAILED_METHOD = /^\[ERROR\] +([\w$]+(?:\.[\w$]+)*)\.([\w$]+)/;
const FAILED_CLASS = /^\[ERROR\] +([\w.$]+)/;
const MODULE: ReadLine = byWord(/^\[INFO\] +(?<name>\S.*?) \.{2,} (?<word>SUCCESS|FAILURE|SKIPPED)(?: |$|\[)/);
const BUILD = /(?:^| )BUILD (SUCCESS|FAILURE)$/;
const ONE_TEST = '-Dtest=';
/** As with `skipTests` in a pom, which a patch may change: the build succeeds without any test. */
const SKIPS_TESTS = /^(?:\[INFO\] +)?Tests are skipped\.$/;
/** The name that SWE-rebench's parser gives to a build without `-Dtest=`; its lists contain it. */
const UNNAMED_BUILD = '---NO TEST NAME FOUND YET---';
/** The name that it gives to the first counts of a log (`parse_java_mvn_v2`). */
const SUITE = '__suite__';

class MavenScan {
  private running: string | null = null;
  private hasCounts = false;
  /** Since the last build ended. */
  private ran = false;
  private skips = false;
  /** Tests of `-Dtest=` without a result yet, and results without a test: either may be printed first. */
  private readonly asked: string[] = [];
  private readonly builds: LoggedStatus[] = [];

  constructor(private readonly tests: TestLog) {}

  /** @returns whether the line is Maven's */
  line(line: string): boolean {
    const counts = COUNTS.exec(line);
    if (counts !== null) this.counts(line, counts);
    else if (BUILD.test(line)) this.built(line.endsWith('SUCCESS') ? this.success() : 'failed');
    else if (SKIPS_TESTS.test(line)) this.skips = true;
    else return this.named(line);
    return true;
  }

  private success(): LoggedStatus {
    return this.skips && !this.ran ? 'skipped' : 'passed';
  }

  private named(line: string): boolean {
    const running = RUNNING.exec(line)?.[1];
    if (running !== undefined) this.running = running;
    const asked = line.lastIndexOf(ONE_TEST);
    if (asked !== -1) this.asked.push(line.slice(asked + ONE_TEST.length).split(/\s/, 1)[0] ?? '');
    const found = failedTests(line) ?? [MODULE(line)];
    for (const each of found) if (each !== null) this.tests.note(...each);
    return running !== undefined || asked !== -1 || found[0] !== null;
  }

  private counts(line: string, counts: RegExpExecArray): void {
    const [run, failures, errors, skipped] = counts.slice(1).map(Number);
    const isBroken = failures !== 0 || errors !== 0;
    const status = isBroken ? 'failed' : run === skipped ? 'skipped' : 'passed';
    const name = classAfter(line, counts.index + counts[0].length) ?? this.running;
    if (name !== null) this.tests.note(name, status);
    if (!this.hasCounts) this.tests.note(SUITE, status);
    [this.running, this.hasCounts, this.ran] = [null, true, true];
  }

  /** Maven stops at the first module that fails. */
  private built(status: LoggedStatus): void {
    [this.ran, this.skips] = [false, false];
    const asked = this.asked.shift();
    if (asked === undefined) this.builds.push(status);
    this.tests.note(asked ?? UNNAMED_BUILD, status);
    if (status === 'failed') this.tests.statuses.isIncomplete = true;
  }

  /** Where results came first, they are those of the tests in their order. */
  end(): void {
    for (const [index, name] of this.asked.entries()) {
      const status = this.builds[index];
      if (status !== undefined) this.tests.note(name, status);
    }
  }
}

/** Searched separately: one expression would search for the class again from every count. */
function classAfter(line: string, end: number): string | null {
  const at = line.lastIndexOf(IN_CLASS);
  const name = at < end ? '' : line.slice(at + IN_CLASS.length).replace(/[.:;]$/, '');
  return /^\S+$/.test(name) ? name : null;
}

/** `[ERROR] Class.method:12 message` and `[ERROR] Class.method -- Time elapsed: … <<< FAILURE!`. */
function failedTests(line: string): readonly Found[] | null {
  if (!line.startsWith('[ERROR]')) return null;
  const [, owner, method = ''] = FAILED_METHOD.exec(line) ?? [];
  if (owner !== undefined) {
    return [
      [`${owner}.${method}`, 'failed'],
      [owner, 'failed'],
    ];
  }
  const failed = /<<< (?:FAILURE|ERROR)!$/.test(line) ? FAILED_CLASS.exec(line)?.[1] : undefined;
  return failed === undefined ? null : [[failed, 'failed']];
}
