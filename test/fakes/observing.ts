import type { Cell } from '../../src/core/run/generated-test.js';
import type { Admission, ExistingTests, Observe } from '../../src/core/run/verifier.js';

/** Keeps what a verifier tells while it works. */
export class Observing implements Observe {
  readonly cells: Cell[] = [];
  admissions: readonly Admission[] = [];
  chosen: ExistingTests | null = null;

  async cell(cell: Cell): Promise<void> {
    this.cells.push(cell);
  }

  async admission(admissions: readonly Admission[]): Promise<void> {
    this.admissions = admissions;
  }

  async existing(tests: ExistingTests): Promise<void> {
    this.chosen = tests;
  }

  outcome(candidateId: string | null, testId: string): string | undefined {
    return this.cells.find((cell) => cell.candidate_id === candidateId && cell.test_id === testId)?.outcome;
  }
}
