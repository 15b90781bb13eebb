import type { PartSpendings } from '../core/budget/budget.js';

/** What the model calls of runs with a budget have come to, whichever process makes them. */
export abstract class SpendingStore {
  /** @param part of the run's work; one process's at a time */
  abstract of(runId: string, part: string): PartSpendings;
}
