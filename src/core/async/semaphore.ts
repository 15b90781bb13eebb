import { unlimitedListeners } from './deadline.js';
import { currentRun } from './run-context.js';

/**
 * Room for a number of things at once, shared fairly: of the runs that wait each gets one place in turn, and within a run
 * who came first. A run that comes later is served after at most one place of each other run, however many
 * those wait for.
 */
export class FairSemaphore {
  /** Who waits, by run; the run at the front is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  /** Waits for a free place; the returned function gives it back and may be called twice. @throws the signal's reason. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(currentRun() ?? '', signal);
    let isHeld = true;
    return () => {
      if (isHeld) this.#giveBack();
      isHeld = false;
    };
  }

  #turn(run: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const others = this.#waiting.get(run) ?? [];
      const called = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        others.splice(others.indexOf(called), 1);
        if (others.length === 0) this.#waiting.delete(run);
        reject(signal.reason as Error);
      };
      others.push(called);
      this.#waiting.set(run, others);
      unlimitedListeners(signal).addEventListener('abort', onAbort, { once: true });
    });
  }

  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    const [run, waiting] = next;
    const called = waiting.shift();
    // To the back, so that each run has its turn.
    this.#waiting.delete(run);
    if (waiting.length > 0) this.#waiting.set(run, waiting);
    called?.();
  }
}
