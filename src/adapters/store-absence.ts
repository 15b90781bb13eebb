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
