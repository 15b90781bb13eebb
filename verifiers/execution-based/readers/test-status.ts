/** How each test of a report ended, by its name; of one that is told twice, the worse. */
export type TestReport = ReadonlyMap<string, TestStatus>;
export type TestStatus = 'passed' | 'failed' | 'skipped';

/** Later is worse. */
const WORSE: readonly TestStatus[] = ['passed', 'skipped', 'failed'];
/** A report that says more is nobody's. */
export const MOST_TESTS = 500_000;
const MOST_CHARACTERS = 64 * 1024 * 1024;
const MOST_LINES = 5_000_000;
const LONGEST_LINE = 16_384;

/** There is more in a report than any test runner has to say. */
export class TooMuchError extends Error {}

/** Collects statuses; a test that passed once and failed once has failed, whoever said that it passed. */
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

/** The lines of a text, but for those that are longer than any test's. @throws TooMuchError */
export function* linesOf(text: string): Generator<string> {
  let lines = 0;
  for (let start = 0; start < text.length;) {
    const next = text.indexOf('\n', start);
    const end = next === -1 ? text.length : next;
    lines += 1;
    if (lines > MOST_LINES) throw new TooMuchError();
    if (end - start <= LONGEST_LINE) yield text.slice(start, end);
    start = end + 1;
  }
}
