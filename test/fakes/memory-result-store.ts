import { ResultStore } from '../../src/ports/result-store.js';

/** Results as JSON texts in memory, so that nobody shares objects with the store. */
export class MemoryResultStore extends ResultStore {
  private readonly values = new Map<string, string>();

  override async get(key: string): Promise<unknown> {
    const text = this.values.get(key);
    return text === undefined ? undefined : JSON.parse(text);
  }

  override async getAll(keys: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    return new Map(
      keys.filter((key) => this.values.has(key)).map((key) => [key, JSON.parse(this.values.get(key) ?? '')]),
    );
  }

  override async put(key: string, _kind: string, value: unknown): Promise<void> {
    if (!this.values.has(key)) this.values.set(key, JSON.stringify(value));
  }
}
