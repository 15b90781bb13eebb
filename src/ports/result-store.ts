import type { PartSpendings } from '../core/budget/budget.js';

/**
 * Results by the hash of everything they depend on. A stored result is never computed, or paid for, again. Values are
 * JSON; callers parse what they read.
 */
export abstract class ResultStore {
  /** @throws StoreUnavailableError */
  abstract get(key: string): Promise<unknown>;
  /** The stored values, for those of the keys that have one. @throws StoreUnavailableError */
  abstract getAll(keys: readonly string[]): Promise<ReadonlyMap<string, unknown>>;
  /** The first write wins; writing the same key again is harmless. @throws StoreUnavailableError */
  abstract put(key: string, kind: string, value: unknown): Promise<void>;

  /** Like `put`. @returns what is stored: the value of whichever process wrote first @throws StoreUnavailableError */
  async putFirst(key: string, kind: string, value: unknown): Promise<unknown> {
    await this.put(key, kind, value);
    return this.get(key);
  }
}

/** Spending on model calls by runs with a budget, across processes. */
export abstract class SpendingStore {
  /** @param part a part of the run's work; done by one process at a time */
  abstract of(runId: string, part: string): PartSpendings;
}
