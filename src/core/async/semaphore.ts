import { AsyncLocalStorage } from 'node:async_hooks';
import { unlimitedListeners } from './deadline.js';

/**
 * Room for a number of things at once, shared fairly: of the lines that wait (runs, where nothing else is said) each gets
 * one place in turn, and within a line who came first. A line that comes later is served after at most one place of each
 * other line, however many those wait for.
 */
export class FairSemaphore {
  /** Who waits, by line; the line at the front is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #held = new Map<string, number>();
  readonly #mostOfLine: number;
  #free: number;

  /** @param mostOfLine places that one line may have at once; absent = all */
  constructor(count: number, mostOfLine = count) {
    this.#free = count;
    this.#mostOfLine = mostOfLine;
  }

  /** Waits for a free place; the returned function gives it back and may be called twice. @throws the signal's reason. */
  async take(signal: AbortSignal, line = currentRun() ?? ''): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0 && this.#mayHold(line)) this.#hold(line, 1);
    else await this.#turn(line, signal);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#hold(line, -1);
      this.#callNext();
    };
  }

  #turn(line: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const others = this.#waiting.get(line) ?? [];
      const called = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        others.splice(others.indexOf(called), 1);
        if (others.length === 0) this.#waiting.delete(line);
        reject(signal.reason as Error);
      };
      others.push(called);
      this.#waiting.set(line, others);
      unlimitedListeners(signal).addEventListener('abort', onAbort, { once: true });
    });
  }

  #callNext(): void {
    const next = [...this.#waiting].find(([line]) => this.#mayHold(line));
    if (next === undefined || this.#free === 0) return;
    const [line, waiting] = next;
    const called = waiting.shift();
    // To the back, so that each line has its turn.
    this.#waiting.delete(line);
    if (waiting.length > 0) this.#waiting.set(line, waiting);
    this.#hold(line, 1);
    called?.();
  }

  #mayHold(line: string): boolean {
    return (this.#held.get(line) ?? 0) < this.#mostOfLine;
  }

  #hold(line: string, change: 1 | -1): void {
    this.#free -= change;
    const held = (this.#held.get(line) ?? 0) + change;
    if (held === 0) this.#held.delete(line);
    else this.#held.set(line, held);
  }
}

const runs = new AsyncLocalStorage<string>();

/** Does `work`, and whatever it starts, in the name of a run. */
export function inRun<T>(runId: string, work: () => T): T {
  return runs.run(runId, work);
}

/** The run that this is called for; undefined outside of any. */
export function currentRun(): string | undefined {
  return runs.getStore();
}
