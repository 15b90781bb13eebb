import { setTimeout as sleep } from 'node:timers/promises';
import { backOffMs } from '../core/async/time.js';
import { StoreUnavailableError } from '../core/errors/unavailable.js';

/** What a driver's error means. */
export interface StoreFailure {
  readonly detail: string;
  /** A server that restarts, a lost connection, a deadlock: the same call may do a moment later. */
  readonly passing: boolean;
}

export interface StoreGuardOptions {
  /** Names the store in errors; never with a password. */
  readonly name: string;
  /** Null: not the database's failure, but a mistake of ours. */
  readonly read: (error: unknown) => StoreFailure | null;
  /** How long passing failures are tried again; 0 = not at all. */
  readonly patienceMs: number;
}

/** Failures that are no further apart belong together, unless a call succeeded after failing. */
const LULL_MS = 30_000;

/**
 * Stands between the store and its driver: tries passing failures again with back-off, and turns what stays into
 * StoreUnavailableError. All calls share one patience: those that come when it is used up fail at once, or the calls of one
 * run would wait one after another.
 */
export class StoreGuard {
  private closed = false;
  private failing: { since: number; last: number } | null = null;

  constructor(private readonly options: StoreGuardOptions) {}

  /**
   * @param work may be done more than once: a lost connection does not tell whether a commit was carried out
   * @throws StoreUnavailableError, and what of `work` is not the database's
   */
  async run<T>(work: () => Promise<T>, patienceMs = this.options.patienceMs): Promise<T> {
    const { name, read } = this.options;
    const start = performance.now();
    for (let tries = 1; ; tries += 1) {
      if (this.closed) throw new StoreUnavailableError(`${name} is closed`);
      try {
        const done = await work();
        // Reads work on a full disk: only a call that failed shows that the trouble is over.
        if (tries > 1) this.failing = null;
        return done;
      } catch (error) {
        const failure = read(error);
        if (failure === null) throw error;
        const leftMs = failure.passing && patienceMs > 0 ? patienceMs - this.lastingMs() : 0;
        if (leftMs <= 0) throw given(name, failure, { tries, spent: performance.now() - start, error });
        await sleep(Math.min(backOffMs(tries - 1, null, Math.random), LONGEST_PAUSE_MS, leftMs));
      }
    }
  }

  /** For how long the store has been failing. */
  private lastingMs(): number {
    const now = performance.now();
    if (this.failing === null || now - this.failing.last > LULL_MS) this.failing = { since: now, last: now };
    this.failing.last = now;
    return now - this.failing.since;
  }

  /** Every later call is refused. */
  close(): void {
    this.closed = true;
  }
}

const LONGEST_PAUSE_MS = 2_000;

function given(
  name: string,
  { detail, passing }: StoreFailure,
  { tries, spent, error }: { tries: number; spent: number; error: unknown },
): StoreUnavailableError {
  const tried = tries === 1 ? '' : ` (tried ${tries} times in ${(spent / 1000).toFixed(1)} s)`;
  return new StoreUnavailableError(`${name}: ${detail}${tried}`, { cause: error, retryable: passing });
}
