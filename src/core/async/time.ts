import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds as seconds, to the millisecond. */
export function secondsOf(ms: number): number {
  return Math.round(ms) / 1000;
}

/** @param start as `performance.now()` */
export function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}

/** Work was stopped because its time was up, not because a caller aborted it. */
export class DeadlineError extends Error {}

/**
 * Runs `work` under a signal that aborts with `signal` or after `ms`, whichever comes first.
 * @throws DeadlineError when the time is up; otherwise whatever `work` throws
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
 * Settles like the promise, or rejects with the signal's reason as soon as it aborts. This only frees the caller: the
 * work itself must listen to the signal too.
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
 * A signal that aborts after `ms`. A signal of `AbortSignal.timeout` that only `AbortSignal.any` refers to may be
 * garbage-collected before it fires; a listener keeps it alive.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const signal = AbortSignal.timeout(ms);
  signal.addEventListener('abort', () => undefined, { once: true });
  return signal;
}

/** A signal without a listener limit: Node warns of a leak from the eleventh listener on. */
export function unlimitedListeners(signal: AbortSignal): AbortSignal {
  setMaxListeners(0, signal);
  return signal;
}

/** Wakes waiters in this process when something happens. */
export class Wakeup {
  /** How often it has rung so far. */
  rings = 0;
  private readonly waiting = new Set<() => void>();

  ring(): void {
    this.rings += 1;
    for (const wake of [...this.waiting]) wake();
  }

  /**
   * Waits until it has rung more than `since` times, or for `ms`.
   * @param since `rings` as read before checking the awaited condition, so that no ring is missed
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

/** Yields to the event loop between two pieces of work. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits for `ms`. @throws the signal's reason */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal: unlimitedListeners(signal) });
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  }
}

/** Share of a run's time that sampling may use; the rest is for verification. */
const SAMPLING_SHARE = 0.7;

/** Wall-clock limit of one execution of a run, in seconds; null = none. */
export class TimeBudget {
  /** Aborts when sampling has to end with what it has; null without a limit. */
  readonly samplingOver: AbortSignal | null;
  /** Aborts when the run has to end with what it has; null without a limit. */
  readonly over: AbortSignal | null;
  private readonly timers: readonly NodeJS.Timeout[];

  constructor(seconds: number | null) {
    const alarms = seconds === null ? [] : [alarm(seconds * SAMPLING_SHARE), alarm(seconds)];
    this.samplingOver = alarms[0]?.signal ?? null;
    this.over = alarms[1]?.signal ?? null;
    this.timers = alarms.map(({ timer }) => timer);
  }

  [Symbol.dispose](): void {
    for (const timer of this.timers) clearTimeout(timer);
  }
}

/** Longest delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

function alarm(seconds: number): { signal: AbortSignal; timer: NodeJS.Timeout } {
  const controller = new AbortController();
  const ring = (): void => {
    controller.abort(new Error('the time of the run is over'));
  };
  return { signal: controller.signal, timer: setTimeout(ring, Math.min(seconds * 1000, LONGEST_MS)).unref() };
}

/** Seconds until the rest is done: the most likely value, and a range that holds in about four of five cases. */
export interface Eta {
  readonly low: number;
  readonly likely: number;
  readonly high: number;
}

const FEWEST_GAPS = 3;
/** Standard deviations around the mean that hold four fifths of a normal distribution. */
const FOUR_FIFTHS = 1.28;

/**
 * Estimates from the pace of the latest completions. The variance of the gaps between them gives the width of the
 * range.
 * @param endings completion times in ms, in any order
 * @param rest how many are still to complete
 * @returns null before there are enough completions
 */
export function etaOf(endings: readonly number[], rest: number, now: number): Eta | null {
  const times = [...endings].sort((a, b) => a - b);
  const gaps = times.slice(1).map((time, index) => (time - (times[index] ?? time)) / 1000);
  if (gaps.length < FEWEST_GAPS || rest === 0) return null;
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / (gaps.length - 1);
  const since = Math.min(mean, (now - (times.at(-1) ?? now)) / 1000);
  const likely = Math.max(0, rest * mean - since);
  const spread = mean === 0 ? 0 : (Math.sqrt(variance) / mean) * Math.sqrt(1 / gaps.length + 1 / rest) * FOUR_FIFTHS;
  return { low: likely * Math.exp(-spread), likely, high: likely * Math.exp(spread) };
}

/** `about 12 min left (9 to 16)`; at least one unit, never 0. */
export function etaText({ low, likely, high }: Eta): string {
  const [size, unit] = likely < 120 ? [1, 's'] : likely < 7200 ? [60, 'min'] : [3600, 'h'];
  const of = (seconds: number): string => (Math.max(size, seconds) / size).toFixed(size === 3600 ? 1 : 0);
  const spread = high <= 1 ? '' : ` (${of(low)} to ${of(high)})`;
  return `about ${of(likely)} ${unit} left${spread}`;
}
