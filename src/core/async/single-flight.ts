import { abortable } from './deadline.js';

interface Flight<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  /** Whether all is done but for keeping it: too late to leave. */
  readonly phase: { keeping: boolean };
  waiting: number;
}

/** What is done once for all who ask. @param keep says that what is left is to keep it */
type Work<T> = (signal: AbortSignal, keep: () => void) => Promise<T>;

/** Equal work that is asked for at the same time is done once. It is stopped when nobody waits for it any more. */
export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>();

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /** @throws what `work` throws, or the signal's reason where that comes before the work is done */
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
 * Lets one of several equal calls go first, so that the server has their common prefix in its cache when the others
 * come; when the first fails the others go all the same.
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

/** One for each of several prompts. */
export class WarmStarts {
  private readonly byName = new Map<string, WarmStart>();

  of(name: string): WarmStart {
    const start = this.byName.get(name) ?? new WarmStart();
    this.byName.set(name, start);
    return start;
  }
}
