/** How each test of a report ended, by its name; of one that is told twice, the worse. */
export type TestReport = ReadonlyMap<string, TestStatus>;
export type TestStatus = 'passed' | 'failed' | 'skipped';

/** Later is worse. */
const WORSE: readonly TestStatus[] = ['passed', 'skipped', 'failed'];

/** Collects statuses; a test that passed once and failed once has failed, whoever said that it passed. */
export class StatusByTest {
  private readonly statuses = new Map<string, TestStatus>();

  note(test: string, status: TestStatus): void {
    const known = this.statuses.get(test);
    if (known === undefined || WORSE.indexOf(status) > WORSE.indexOf(known)) this.statuses.set(test, status);
  }

  get all(): TestReport {
    return this.statuses;
  }
}
