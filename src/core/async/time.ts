import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { UnavailableError } from '../errors/errors.js';
import { StoreUnavailableError } from '../errors/unavailable.js';

/** Work was stopped because its time was up, not because anybody asked for it. */
export class DeadlineError extends Error {}

/**
 * Runs `work` under a signal that aborts with `signal` or after `ms`, whichever comes first.
 * @throws DeadlineError when the time was up; whatever `work` throws otherwise
 */
export async function withDeadline<T>(
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const expired = new DeadlineError(`no complete answer within ${ms / 1000} s`);
  const stop = new AbortController();
  const abort = (): void => {
    stop.abort(signal.reason);
  };
  if (signal.aborted) abort();
  unlimitedListeners(signal).addEventListener('abort', abort, { once: true });
  const timer = setTimeout(() => {
    stop.abort(expired);
  }, ms);
  try {
    return await work(stop.signal);
  } catch (error) {
    throw stop.signal.reason === expired ? expired : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/**
 * The promise, or the signal's reason as soon as it aborts. The work itself must listen to the signal too: this only
 * keeps a caller from waiting for it.
 */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => {
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    unlimitedListeners(signal).addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', abort);
    });
  });
}

/**
 * A signal that aborts after `ms`. One of `AbortSignal.timeout` that `AbortSignal.any` alone refers to may be collected
 * before its time, and then never aborts; one that somebody listens to is kept.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener('abort', () => undefined, { once: true });
  return signal;
}

/** A signal that any number of calls may listen to at once: Node would take the eleventh for a leak and say so. */
export function unlimitedListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

/** Wakes those of this process who wait for something to happen. */
export class Wakeup {
  /** How often it rang so far. */
  rings = 0;
  private readonly waiting = new Set<() => void>();

  ring(): void {
    this.rings += 1;
    for (const wake of [...this.waiting]) wake();
  }

  /**
   * Waits until it has rung more than `since` times, or for `ms`.
   * @param since `rings` before what is waited for was looked at, so that nothing is slept through
   * @throws the signal's reason
   */
  async wait(since: number, ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.rings > since) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        this.waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake);
      this.waiting.add(wake);
    });
    signal.throwIfAborted();
  }
}

const BASE_MS = 500;
const CAP_MS = 30_000;
/** A server may ask for more; a run is not stopped for longer than this by one header. */
const MAX_ASKED_MS = 120_000;

/**
 * How long to wait before trying again: what the server asked for, bounded, plus up to half a second so that those it
 * turned away do not come back at once; else exponential back-off with full jitter.
 * @param attempt failed attempts before this one, from 0
 * @param random uniform in [0, 1)
 */
export function backOffMs(attempt: number, askedMs: number | null, random: () => number): number {
  if (askedMs !== null) return Math.min(askedMs, MAX_ASKED_MS) + random() * BASE_MS;
  return random() * Math.min(CAP_MS, BASE_MS * 2 ** attempt);
}

/** Lets others have their turn between two pieces of work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits, or throws the signal's reason. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: unlimitedListeners(signal) });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** How often infrastructure is tried in all before its failure is told. */
export const TRIES = 3;

/**
 * How long to wait before infrastructure that failed is tried again; null = the error is final. The store has waited by itself:
 * work that cannot be kept is not done again and again.
 * @param attempt from 1
 * @param tries 1 where whoever asked tries again
 */
export function retryAfterMs(error: unknown, attempt: number, tries = TRIES): number | null {
  const mayPass = error instanceof UnavailableError && error.retryable && !(error instanceof StoreUnavailableError);
  return mayPass && attempt < tries ? BASE_MS * 4 ** (attempt - 1) : null;
}

export interface Retries {
  readonly signal: AbortSignal;
  /** As of {@link retryAfterMs}. */
  readonly tries?: number | undefined;
  /** Tests do not wait. */
  readonly pause?: typeof pause | undefined;
}

/** Does some work again while it fails of infrastructure. @throws what `work` threw last, and the signal's reason */
export async function retried<T>(work: () => Promise<T>, { signal, tries, pause: wait = pause }: Retries): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      const afterMs = retryAfterMs(error, attempt, tries);
      if (afterMs === null) throw error;
      await wait(afterMs, signal);
    }
  }
}

const LOOK_EVERY_MS = 100;

/**
 * Whether what this process works on is certainly still its own. Processes that share work renew their claims to it; what was
 * not renewed in time may by now be another's, who would pay for the same calls.
 */
export class Claims {
  /** By the clock of timers. */
  private until = Number.POSITIVE_INFINITY;

  /** Nobody else takes what this process holds before then, and what it has lost it has stopped. @param until by `performance.now()` */
  renewed(until: number): void {
    this.until = until;
  }

  /** Resolves while they are certain, and else when they have been renewed. @throws the signal's reason, for what was lost too */
  async certain(signal: AbortSignal): Promise<void> {
    while (performance.now() > this.until) await pause(LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}
