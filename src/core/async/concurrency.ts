import { AsyncLocalStorage } from 'node:async_hooks';
import { abortable, pause, unlimitedListeners } from './time.js';

/**
 * A semaphore that is fair between lines (runs, unless stated otherwise): waiting lines take turns, one place each, and
 * a line serves its waiters first come, first served. A new line waits for at most one place of each other line,
 * however many waiters those have.
 */
export class FairSemaphore {
  /** Waiters by line; the first line is next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #held = new Map<string, number>();
  readonly #mostOfLine: number;
  #free: number;

  /** @param mostOfLine places that one line may have at once; absent = all */
  constructor(count: number, mostOfLine = count) {
    this.#free = count;
    this.#mostOfLine = mostOfLine;
  }

  /** Waits for a free place; the returned function frees it and may be called twice. @throws the signal's reason. */
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
    // Moved to the back, so that lines take turns.
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

/** Runs `work`, and everything it starts, in the context of a run. */
export function inRun<T>(runId: string, work: () => T): T {
  return runs.run(runId, work);
}

/** The run in whose context this is called; undefined outside of any run. */
export function currentRun(): string | undefined {
  return runs.getStore();
}

interface Flight<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  /** Whether only storing the result is left: too late to cancel. */
  readonly phase: { keeping: boolean };
  waiting: number;
}

/** Work shared by all its callers. @param keep to be called when only storing the result is left */
type Work<T> = (signal: AbortSignal, keep: () => void) => Promise<T>;

/** Runs equal concurrent work once, and aborts it when no caller waits for it any more. */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /** @throws what `work` throws, or the signal's reason if it aborts first */
  async join(key: string, signal: AbortSignal, work: Work<T>): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.waiting += 1;
    try {
      return await abortable(flight.result, signal);
    } catch (error) {
      if (flight.phase.keeping) return await flight.result;
      throw error;
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.stop.abort(signal.reason);
      }
    }
  }

  #start(key: string, work: Work<T>): Flight<T> {
    const stop = new AbortController();
    const phase = { keeping: false };
    const result = work(stop.signal, () => {
      phase.keeping = true;
    });
    const flight: Flight<T> = { result, stop, phase, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }
}

/**
 * Lets the first of several equal calls finish before the others start, so that the server has their common prefix in
 * its cache. If the first fails, the others start all the same.
 */
export class WarmStart {
  private first: Promise<unknown> | null = null;

  async turn<T>(call: () => Promise<T>): Promise<T> {
    if (this.first === null) {
      const answer = call();
      this.first = answer.catch(() => undefined);
      return answer;
    }
    await this.first;
    return call();
  }
}

/** One `WarmStart` per prompt. */
export class WarmStarts {
  private readonly byName = new Map<string, WarmStart>();

  of(name: string): WarmStart {
    const start = this.byName.get(name) ?? new WarmStart();
    this.byName.set(name, start);
    return start;
  }
}

/** Work that is shared by all who ask for the same within a moment. */
export class BriefCache<Made> {
  private readonly made = new Map<string, Promise<Made>>();

  constructor(private readonly ms: number) {}

  of(key: string, make: () => Promise<Made>): Promise<Made> {
    const known = this.made.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.made.set(key, made);
    setTimeout(() => this.made.delete(key), this.ms).unref();
    return made;
  }
}

const LOOK_EVERY_MS = 100;

/**
 * Whether this process certainly still holds the work it claimed. Processes that share work renew their claims; a claim
 * not renewed in time may have passed to another process, and both would pay for the same calls.
 */
export class Claims {
  /** On the clock of `performance.now()`. */
  private until = Number.POSITIVE_INFINITY;

  /**
   * No other process takes this one's claims before `until`, and work whose claim was lost has been aborted. @param
   * until by `performance.now()`
   */
  renewed(until: number): void {
    this.until = until;
  }

  /**
   * Resolves at once while the claims are certain, otherwise when they have been renewed. @throws the signal's reason,
   * also if the claim was lost
   */
  async certain(signal: AbortSignal): Promise<void> {
    while (performance.now() > this.until) await pause(LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}

/** Whether a process with this id exists on this machine, under any user. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Work that runs beside other work, and work that runs while no other does. */
export class ExclusiveTurns {
  readonly #running = new Set<Promise<unknown>>();
  /** Settles when no work waits for, or has, a turn alone. */
  #alone: Promise<unknown> = Promise.resolve();

  /** Waits while other work is alone, or waits to be. @throws the signal's reason */
  async shared<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (let last: Promise<unknown> | null = null; last !== this.#alone;) {
      last = this.#alone;
      await abortable(last, signal);
    }
    const running = work();
    const ended = running.catch(() => undefined);
    this.#running.add(ended);
    try {
      return await running;
    } finally {
      this.#running.delete(ended);
    }
  }

  /** Waits for all work under way. @throws the signal's reason */
  alone<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#alone;
    const turn = abortable(before, signal)
      .then(() => abortable(Promise.all(this.#running), signal))
      .then(work);
    this.#alone = Promise.allSettled([before, turn]);
    return turn;
  }
}
