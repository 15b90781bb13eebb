import type { PartSpendings } from '../core/budget/budget.js';

/**
 * Results by the hash of everything they depend on. What is stored here is never computed, and never paid for, again.
 * Values are JSON; callers parse what they read.
 */
export abstract class ResultStore {
  /** @throws StoreUnavailableError */
  abstract get(key: string): Promise<unknown>;
  /** Those of the keys under which something is stored. @throws StoreUnavailableError */
  abstract getAll(keys: readonly string[]): Promise<ReadonlyMap<string, unknown>>;
  /** First write wins; writing the same key again is harmless. @throws StoreUnavailableError */
  abstract put(key: string, kind: string, value: unknown): Promise<void>;
}

/** What the model calls of runs with a budget have come to, whichever process makes them. */
export abstract class SpendingStore {
  /** @param part of the run's work; one process's at a time */
  abstract of(runId: string, part: string): PartSpendings;
}
