import { UnavailableError } from '../errors/errors.js';
import { StoreUnavailableError } from '../errors/unavailable.js';
import { pause } from './time.js';

const BASE_MS = 500;
const CAP_MS = 30_000;
/** Bound on the delay a server may ask for, so that one header cannot stall a run. */
const MAX_ASKED_MS = 120_000;

/**
 * Delay before the next attempt: the server's delay, bounded, plus up to half a second so that the clients it rejected
 * do not return all at once; without one, exponential back-off with full jitter.
 * @param attempt failed attempts before this one, from 0
 * @param random uniform in [0, 1)
 */
export function backOffMs(attempt: number, askedMs: number | null, random: () => number): number {
  if (askedMs !== null) return Math.min(askedMs, MAX_ASKED_MS) + random() * BASE_MS;
  return random() * Math.min(CAP_MS, BASE_MS * 2 ** attempt);
}

/** Attempts in all before an infrastructure failure is reported. */
export const TRIES = 3;

/**
 * Delay before failed infrastructure is tried again; null = the error is final. Store errors are final: the store
 * retries internally, and work whose result cannot be stored is not repeated.
 * @param attempt from 1
 * @param tries 1 if the caller itself retries
 */
export function retryAfterMs(error: unknown, attempt: number, tries = TRIES): number | null {
  const mayPass = error instanceof UnavailableError && error.retryable && !(error instanceof StoreUnavailableError);
  return mayPass && attempt < tries ? BASE_MS * 4 ** (attempt - 1) : null;
}

export interface Retries {
  readonly signal: AbortSignal;
  /** See {@link retryAfterMs}. */
  readonly tries?: number | undefined;
  /** Replaced in tests, which do not wait. */
  readonly pause?: typeof pause | undefined;
}

/** Repeats `work` while infrastructure fails. @throws the last error of `work`, or the signal's reason */
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
