import { setTimeout as sleep } from 'node:timers/promises';
import { UnavailableError } from '../errors/errors.js';
import { StoreUnavailableError } from '../errors/unavailable.js';
import { unlimitedListeners } from './deadline.js';

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
