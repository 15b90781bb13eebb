import { contentKey } from '../core/identifier.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { backOffMs } from '../core/async/retries.js';
import { StoreUnavailableError } from '../core/errors/unavailable.js';

/* Shared by all statements of the store: keys that any database can hold, batching of concurrent calls, and retries. */

/** A key as every database can hold it: PostgreSQL's text accepts neither NUL nor unpaired surrogates. */
export function keyText(key: string): string {
  return /[\0\p{Surrogate}]/u.test(key) ? contentKey(key) : key;
}

/** The meaning of a driver's error. */
export interface StoreFailure {
  readonly detail: string;
  /** Transient: a restarting server, a lost connection, a deadlock; the same call may succeed later. */
  readonly passing: boolean;
}

export interface StoreGuardOptions {
  /** Name of the store in errors; never includes a password. */
  readonly name: string;
  /** Null: not a failure of the database but a defect in bestk. */
  readonly read: (error: unknown) => StoreFailure | null;
  /** How long transient failures are retried, in ms; 0 = not at all. */
  readonly patienceMs: number;
}

/** Failures at most this far apart count as one outage, unless a failed call succeeds in between. */
const LULL_MS = 30_000;

/**
 * Wraps all calls to the driver: retries transient failures with back-off and turns lasting ones into StoreUnavailableError.
 * All calls share one time limit per outage; once it is used up, further calls fail at once, so that the calls of a run do
 * not each wait in turn.
 */
export class StoreGuard {
  private closed = false;
  private failing: { since: number; last: number } | null = null;

  constructor(private readonly options: StoreGuardOptions) {}

  /**
   * @param work may run more than once: after a lost connection it is unknown whether a commit took place
   * @throws StoreUnavailableError, and any error of `work` that is not the database's
   */
  async run<T>(work: () => Promise<T>, patienceMs = this.options.patienceMs): Promise<T> {
    const { name, read } = this.options;
    const start = performance.now();
    for (let tries = 1; ; tries += 1) {
      if (this.closed) throw new StoreUnavailableError(`${name} is closed`);
      try {
        const done = await work();
        // Reads work on a full disk, so only the success of a call that had failed ends the outage.
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

  /** Duration of the current outage, in ms. */
  private lastingMs(): number {
    const now = performance.now();
    if (this.failing === null || now - this.failing.last > LULL_MS) this.failing = { since: now, last: now };
    this.failing.last = now;
    return now - this.failing.since;
  }

  /** Makes every later call fail. */
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

/** Most items in one statement, and most characters (a larger single item is sent alone). */
const MOST = 100;

const MOST_LETTERS = 1_000_000;

/**
 * Combines calls of the same line that arrive while another is in progress into one batch, instead of letting each wait for
 * the others and for the disk.
 */
export class Batches<Item, Done> {
  /** Waiting calls by line; a line exists while one of its calls is in progress. */
  private readonly lines = new Map<string, Call<Item, Done>[]>();

  /**
   * @param work does all items or none; its results are in the order of `items`
   * @param lettersOf size of an item in characters
   */
  constructor(
    private readonly work: (items: readonly [Item, ...Item[]]) => Promise<readonly Done[]>,
    private readonly lettersOf: (item: Item) => number,
  ) {}

  /** @throws what `work` threw for the whole batch */
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

  /** How many of the waiting calls fit into a batch with the first. */
  private fitting(first: Call<Item, Done>, waiting: readonly Call<Item, Done>[]): number {
    let letters = this.lettersOf(first.item);
    const end = waiting.slice(0, MOST - 1).findIndex(({ item }) => (letters += this.lettersOf(item)) > MOST_LETTERS);
    return end === -1 ? MOST - 1 : end;
  }
}
