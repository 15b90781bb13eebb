import { abortable } from './abortable.js';

interface Flight<T> {
  readonly result: Promise<T>;
  readonly stop: AbortController;
  waiting: number;
}

/** Equal work that is asked for at the same time is done once. It is stopped when nobody waits for it any more. */
export class SharedFlights<T> {
  readonly #flights = new Map<string, Flight<T>>();

  has(key: string): boolean {
    return this.#flights.has(key);
  }

  /** @throws what `work` throws, or the signal's reason */
  async join(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    const flight = this.#flights.get(key) ?? this.#start(key, work);
    flight.waiting += 1;
    try {
      return await abortable(flight.result, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        if (this.#flights.get(key) === flight) this.#flights.delete(key);
        flight.stop.abort(signal.reason);
      }
    }
  }

  #start(key: string, work: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const stop = new AbortController();
    const flight: Flight<T> = { result: work(stop.signal), stop, waiting: 0 };
    this.#flights.set(key, flight);
    return flight;
  }
}
