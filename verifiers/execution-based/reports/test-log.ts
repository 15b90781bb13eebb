import { withoutDuration } from './durations.js';

/** Results that a log can report. */
export type LoggedStatus = 'passed' | 'failed' | 'skipped' | 'error';

/** Result of one test; `missing`: the log does not name it. */
export type TestStatus = LoggedStatus | 'missing';

/** From best to worst: of two results for one test the worse holds, whatever printed the better one. */
const WORSE: readonly LoggedStatus[] = ['passed', 'skipped', 'failed', 'error'];

/** Results by the test's own id, and by alternative spellings of it. */
export interface TestStatuses {
  readonly exact: Map<string, LoggedStatus>;
  readonly loose: Map<string, LoggedStatus>;
  /** Result of tests that the log does not name: `passed` if its runner reports only failures, and ran. */
  unnamed?: TestStatus;
  /** Something other than a test failed, such as a build, so that tests may not have been run. */
  isIncomplete?: boolean;
}

/** A log beyond these limits is not a real one. */
const MOST_TESTS = 500_000;
const MOST_CHARACTERS = 256 * 1024 * 1024;

/** The log names more than any test suite has. */
export class TooMuchError extends Error {}

/** Results of tests according to the log of one run. */
export class TestLog {
  /** By normalised spelling; filled at the first name that is not spelled as in the log. */
  private normalised: Map<string, LoggedStatus> | null = null;
  private characters = 0;

  constructor(readonly statuses: TestStatuses = { exact: new Map(), loose: new Map() }) {}

  /**
   * @param name the test's own id; its duration is removed
   * @param others shorter or older spellings, which several tests may share; a listed name that matches one covers all
   * of them
   * @throws TooMuchError
   */
  note(name: string, status: LoggedStatus, others: readonly string[] = []): void {
    const id = withoutDuration(name);
    this.add(this.statuses.exact, id, status);
    if (id !== name) this.add(this.statuses.loose, name, status);
    for (const other of others) if (other !== id) this.noteOther(other, status);
  }

  /** Notes another spelling of a test that the log also names by its own id. @throws TooMuchError */
  noteOther(name: string, status: LoggedStatus): void {
    this.add(this.statuses.loose, name, status);
  }

  /** Looks for the name as it is, then normalised on both sides, then for what begins with a truncated name. */
  statusOf(name: string): TestStatus {
    const { exact, loose, unnamed = 'missing' } = this.statuses;
    return exact.get(name) ?? loose.get(name) ?? this.looselyNamed(name) ?? unnamed;
  }

  /** The tests' own ids, in the order in which the log names them. */
  get names(): Iterable<string> {
    return this.statuses.exact.keys();
  }

  /** Number of tests that failed or errored. */
  get failures(): number {
    return [...this.statuses.exact.values()].filter((status) => status === 'failed' || status === 'error').length;
  }

  get hasFailures(): boolean {
    return this.failures > 0;
  }

  /** Whether a test counts as passed because the log does not name it. */
  get passesUnnamed(): boolean {
    return this.statuses.unnamed === 'passed';
  }

  /** Whether tests may not have been run because something other than a test failed. */
  get isIncomplete(): boolean {
    return this.statuses.isIncomplete === true;
  }

  private add(to: Map<string, LoggedStatus>, name: string, status: LoggedStatus): void {
    this.characters += name.length;
    if (to.size > MOST_TESTS * 8 || this.statuses.exact.size > MOST_TESTS || this.characters > MOST_CHARACTERS) {
      throw new TooMuchError();
    }
    worsen(to, name, status);
  }

  private looselyNamed(name: string): LoggedStatus | undefined {
    return this.byNormalisedName().get(normaliseName(name)) ?? this.beginningWith(name);
  }

  private byNormalisedName(): Map<string, LoggedStatus> {
    if (this.normalised !== null) return this.normalised;
    this.normalised = new Map();
    for (const all of [this.statuses.exact, this.statuses.loose]) {
      for (const [name, status] of all) worsen(this.normalised, normaliseName(name), status);
    }
    return this.normalised;
  }

  /**
   * Lists contain ids that were cut within their parameter. As in SWE-bench (`_resolve_case`), such an id means the tests
   * that begin with it, if these agree.
   */
  private beginningWith(name: string): LoggedStatus | undefined {
    if (count(name, '[') <= count(name, ']')) return undefined;
    const found = new Set<LoggedStatus>();
    for (const [id, status] of this.statuses.exact) if (id.startsWith(name)) found.add(status);
    if (found.has('passed') && found.size > 1) return 'failed';
    return WORSE.findLast((status) => found.has(status));
  }
}

/** Whether the first of two results for one test holds, whatever printed the second. */
export function isWorse(status: LoggedStatus, than: LoggedStatus): boolean {
  return WORSE.indexOf(status) > WORSE.indexOf(than);
}

function worsen(statuses: Map<string, LoggedStatus>, name: string, status: LoggedStatus): void {
  const known = statuses.get(name);
  if (known === undefined || isWorse(status, known)) statuses.set(name, status);
}

function count(text: string, letter: string): number {
  return text.split(letter).length - 1;
}

/** Names beyond this are compared as they are. */
const LONGEST_NAME = 4_096;

const CLOSING = /(?<![ "'`’”»])[ "'`’”»]+$/;

/** What may differ between a log and a list: composition of letters, blanks, durations, closing quotation marks. */
function normaliseName(name: string): string {
  if (name.length > LONGEST_NAME) return name;
  const plain = withoutDuration(
    name
      .normalize('NFC')
      .replace(/[\s\u200b]+/g, ' ')
      .trim(),
  );
  return plain.replace(/ in \d[\d.]* m?sec\b/i, '').replace(CLOSING, '') || plain;
}
