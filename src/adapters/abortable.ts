import { patient } from './patient-signal.js';

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
    patient(signal).addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', abort);
    });
  });
}
