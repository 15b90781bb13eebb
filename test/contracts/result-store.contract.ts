import type { ResultStore } from '../../src/ports/result-store.js';

/** What every ResultStore promises. `open` gives an empty one. */
export function resultStoreContract(name: string, open: () => Promise<ResultStore>): void {
  describe(`ResultStore: ${name}`, () => {
    it('gives back what was put', async () => {
      const store = await open();
      const value = { score: 0.25, text: 'zero \u0000, lone \ud800, 日本語', list: [1, null, { deep: [true] }] };
      await store.put('k', 'verdict', value);
      expect(await store.get('k')).toEqual(value);
    });

    it('tells what is missing from a stored null', async () => {
      const store = await open();
      await store.put('null', 'cell', null);
      expect(await store.get('null')).toBeNull();
      expect(await store.get('missing')).toBeUndefined();
    });

    it('keeps the first value of a key, also when many write at once', async () => {
      const store = await open();
      await store.put('k', 'cell', 'first');
      await Promise.all(Array.from({ length: 20 }, (_, n) => store.put('k', 'cell', n)));
      expect(await store.get('k')).toBe('first');
    });

    it('does not share objects with its callers', async () => {
      const store = await open();
      const value = { list: [1] };
      await store.put('k', 'cell', value);
      value.list.push(2);
      expect(await store.get('k')).toEqual({ list: [1] });
    });

    it('takes a value of 20 MB', async () => {
      const store = await open();
      const value = 'x'.repeat(20_000_000);
      await store.put('big', 'log', value);
      expect(await store.get('big')).toBe(value);
    });

    it('takes keys that look like queries', async () => {
      const store = await open();
      const key = "'; DROP TABLE results; --%_\u0000";
      await store.put(key, 'cell', 1);
      expect(await store.get(key)).toBe(1);
      expect(await store.get("'; DROP TABLE results; --%_")).toBeUndefined();
    });
  });
}
