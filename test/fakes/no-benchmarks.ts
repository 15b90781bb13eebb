import { type Benchmark, BenchmarkStore } from '../../src/ports/benchmark-store.js';

/** A store without the means for benchmarks, for servers that are asked for none. */
export class NoBenchmarks extends BenchmarkStore {
  create(): never {
    throw new Error('No benchmark is made here.');
  }
  begin(): never {
    throw new Error('No benchmark is made here.');
  }
  get(): Promise<Benchmark | null> {
    return Promise.resolve(null);
  }
  sealed(): Promise<null> {
    return Promise.resolve(null);
  }
  list(): ReturnType<BenchmarkStore['list']> {
    return Promise.resolve({ benchmarks: [], next: null });
  }
  change(): Promise<boolean> {
    return Promise.resolve(false);
  }
  running(): Promise<[]> {
    return Promise.resolve([]);
  }
  adopt(): Promise<boolean> {
    return Promise.resolve(false);
  }
  runs(): Promise<[]> {
    return Promise.resolve([]);
  }
  gradable(): Promise<[]> {
    return Promise.resolve([]);
  }
  counts(): Promise<[]> {
    return Promise.resolve([]);
  }
  endings(): Promise<[]> {
    return Promise.resolve([]);
  }
  efforts(): ReturnType<BenchmarkStore['efforts']> {
    return Promise.resolve(new Map());
  }
  graded(): Promise<[]> {
    return Promise.resolve([]);
  }
  labels(): Promise<null> {
    return Promise.resolve(null);
  }
  async hand(): Promise<void> {
    return;
  }
  async ask(): Promise<void> {
    return;
  }
  async grade(): Promise<void> {
    return;
  }
  async delete(): Promise<void> {
    return;
  }
}
