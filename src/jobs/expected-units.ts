import type { Unit } from '../ports/unit-store.js';

/** Does work in the name of a run. */
export type InRun = <T>(runId: string, work: () => T) => T;

interface Expected {
  readonly runId: string;
  /** Has its work begin in the context of who waits for it; the first time alone. */
  grant?: (begin: () => void) => void;
}

/** The units that runs of this process wait for. */
export class ExpectedUnits {
  private readonly units = new Map<string, Expected>();

  constructor(private readonly inRun: InRun) {}

  /** Has a unit done in the context (trace, log) of who calls this. */
  expect(id: string, runId: string): void {
    void new Promise<() => void>((grant) => this.units.set(id, { runId, grant })).then((begin) => {
      begin();
    });
  }

  /** Nobody waits for it here any more. */
  forget(id: string): void {
    this.units.delete(id);
  }

  /** The runs that wait for any. */
  runs(): readonly string[] {
    return [...new Set([...this.units.values()].map(({ runId }) => runId))];
  }

  /** Does the work of a unit in its context; of a unit that nobody here waits for that is its run's name alone. */
  within({ id, runId }: Unit, work: () => Promise<void>): Promise<void> {
    const expected = this.units.get(id);
    const grant = expected?.grant;
    if (expected === undefined || grant === undefined) return this.inRun(runId, work);
    delete expected.grant;
    return new Promise((resolve) => {
      grant(() => {
        resolve(work());
      });
    });
  }
}
