import { setMaxListeners } from 'node:events';

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
