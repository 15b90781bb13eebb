import { setTimeout as sleep } from 'node:timers/promises';
import { backOffMs } from '../core/async/retry.js';
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

/**
 * Stands between the store and its driver: tries passing failures again with back-off, and turns what stays into
 * StoreUnavailableError.
 */
export class StoreGuard {
  readonly absence = new StoreAbsence();
  private closed = false;

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
      // Before it gets through, too: what it then does to leases depends on it.
      this.absence.noteTries(tries, performance.now() - start);
      try {
        const done = await work();
        this.absence.noteTries(tries, performance.now() - start);
        return done;
      } catch (error) {
        const failure = read(error);
        if (failure === null) throw error;
        const spent = performance.now() - start;
        if (failure.passing) this.absence.noteTries(tries + 1, spent);
        const pause = Math.min(backOffMs(tries - 1, null, Math.random), LONGEST_PAUSE_MS);
        if (!failure.passing || spent + pause > patienceMs) throw given(name, failure, { tries, spent, error });
        await sleep(pause);
      }
    }
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

/** A server finds a deadlock after a second; what takes no longer is no absence. */
const HICCUP_MS = 2_000;
/** Longer than the longest pause and the time between two heartbeats together. */
const BACK_FOR_MS = 5_000;
/** A store that is away now and then for as long as this is busy, and its leases count all the same. */
const BUSY_MS = 300_000;
/** The server's clock runs with ours but for that. */
const DRIFT_MS = 1_000;

/**
 * When nobody could extend a lease, by the clock of timers: the store was away, or its clock jumped ahead, which ends all
 * leases at once. Who holds them works on, and may have an answer in hand that was paid and not stored.
 */
export class StoreAbsence {
  private since = Number.NEGATIVE_INFINITY;
  private until = Number.NEGATIVE_INFINITY;
  /** The most that the store's clock can have been ahead of the clock of timers. */
  private ahead = Number.POSITIVE_INFINITY;

  /** Whether others may not have extended their leases since. */
  get isRecent(): boolean {
    const now = performance.now();
    return now - this.until < BACK_FOR_MS && now - this.since < BUSY_MS;
  }

  /** A call was made `tries` times in `spentMs`. */
  noteTries(tries: number, spentMs: number): void {
    if (tries > 1 && spentMs > HICCUP_MS) this.note();
  }

  /** The store's clock, as told to a question that was asked at `askedAt`. */
  noteClock(storeMs: number, askedAt: number): void {
    if (storeMs - performance.now() - this.ahead > DRIFT_MS) this.note();
    this.ahead = storeMs - askedAt;
  }

  private note(): void {
    const now = performance.now();
    if (now - this.until >= BACK_FOR_MS) this.since = now;
    this.until = now;
  }
}
