import { contentKey } from '../core/identifier.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { backOffMs } from '../core/async/time.js';
import { StoreUnavailableError } from '../core/errors/unavailable.js';

/* What every statement of the store goes through: keys that any database can hold, one line for calls that come at once, and patience. */

/** A key as every database can hold it: PostgreSQL's text takes neither NUL nor half a character. */
export function keyText(key: string): string {
  return /[\0\p{Surrogate}]/u.test(key) ? contentKey(key) : key;
}

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

interface Call<Item, Done> {
  readonly item: Item;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
}

/** What one statement takes: as many as these, and no further one behind as many letters. */
const MOST = 100;

const MOST_LETTERS = 1_000_000;

/**
 * Has calls of one line that come while another is under way done together behind it: they would wait for each other, and for
 * the disk, one by one.
 */
export class Batches<Item, Done> {
  /** Who waits, by line; a line is there while something of it is under way. */
  private readonly lines = new Map<string, Call<Item, Done>[]>();

  /**
   * @param work all of them or none; what it resolves to has the order of `items`
   * @param lettersOf how large an item is
   */
  constructor(
    private readonly work: (items: readonly [Item, ...Item[]]) => Promise<readonly Done[]>,
    private readonly lettersOf: (item: Item) => number,
  ) {}

  /** @throws what `work` threw for all that were done together */
  do(line: string, item: Item): Promise<Done> {
    return new Promise((resolve, reject) => {
      const waiting = this.lines.get(line);
      const call = { item, resolve, reject };
      if (waiting !== undefined) waiting.push(call);
      else void this.go(line, [call]);
    });
  }

  private async go(line: string, waiting: Call<Item, Done>[]): Promise<void> {
    this.lines.set(line, waiting);
    for (let first = waiting.shift(); first !== undefined; first = waiting.shift()) {
      const batch = [first, ...waiting.splice(0, this.fitting(first, waiting))] as const;
      const [head, ...others] = batch;
      try {
        const done = await this.work([head.item, ...others.map(({ item }) => item)]);
        for (const [nth, { resolve }] of batch.entries()) resolve(done[nth] as Done);
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.lines.delete(line);
  }

  /** How many of those that wait go with the first. */
  private fitting(first: Call<Item, Done>, waiting: readonly Call<Item, Done>[]): number {
    let letters = this.lettersOf(first.item);
    const end = waiting.slice(0, MOST - 1).findIndex(({ item }) => (letters += this.lettersOf(item)) > MOST_LETTERS);
    return end === -1 ? MOST - 1 : end;
  }
}
