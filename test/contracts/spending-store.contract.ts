import { InterruptedError } from '../../src/core/errors/errors.js';
import type { RunStore } from '../../src/ports/run-store.js';
import type { SpendingStore } from '../../src/ports/result-store.js';

interface Stores {
  readonly runs: RunStore;
  readonly spendings: SpendingStore;
}

const NO_LIMIT = { tokens: null, usd: null };
const NOTHING = { tokens: 0, usd: 0 };

/** What every SpendingStore promises. `open` gives an empty one. */
export function spendingStoreContract(name: string, open: () => Promise<Stores>): void {
  describe(`SpendingStore: ${name}`, () => {
    const runIn = async ({ runs }: Stores, key = 'run'): Promise<string> => (await runs.create(key, key)).run.id;

    it('keeps what parts spend, for who begins one again and for the run', async () => {
      const store = await open();
      const run = await runIn(store);
      const [a, b] = [store.spendings.of(run, 'a'), store.spendings.of(run, 'b')];
      expect([await a.begin(), await b.begin()]).toEqual([NOTHING, NOTHING]);
      await a.take({ tokens: 10, usd: 0.5 }, NO_LIMIT);
      await a.settle({ tokens: 10, usd: 0.5 }, { tokens: 7, usd: 0.25 });
      await b.settle(NOTHING, { tokens: 5, usd: 0.125 });
      expect(await a.take(NOTHING, { tokens: 0, usd: null })).toEqual({ tokens: 12, usd: 0.375 });
      expect(await store.spendings.of(run, 'a').begin()).toEqual({ tokens: 7, usd: 0.25 });
      expect(await store.spendings.of(await runIn(store, 'other'), 'a').begin()).toEqual(NOTHING);
    });

    it('never gives more room than there is, however many parts ask at once', async () => {
      const store = await open();
      const run = await runIn(store);
      const parts = Array.from({ length: 10 }, (_, n) => store.spendings.of(run, `part ${n}`));
      await Promise.all(parts.map((part) => part.begin()));
      const taken = await Promise.all(
        parts.map((part) => part.take({ tokens: 30, usd: 0 }, { tokens: 100, usd: null })),
      );
      expect(taken.filter((refused) => refused === null)).toHaveLength(3);
      expect(taken.filter((refused) => refused !== null)).toEqual(Array(7).fill(NOTHING));
    });

    it('says what is spent where there is no room, by tokens and by money', async () => {
      const store = await open();
      const part = store.spendings.of(await runIn(store), 'a');
      await part.begin();
      await part.settle(NOTHING, { tokens: 40, usd: 0.5 });
      expect(await part.take({ tokens: 61, usd: 0 }, { tokens: 100, usd: null })).toEqual({ tokens: 40, usd: 0.5 });
      expect(await part.take({ tokens: 0, usd: 0.75 }, { tokens: null, usd: 1 })).toEqual({ tokens: 40, usd: 0.5 });
      expect(await part.take({ tokens: 60, usd: 0.5 }, { tokens: 100, usd: 1 })).toBeNull();
    });

    it('frees the room that a dead process had taken when its part is begun again', async () => {
      const store = await open();
      const run = await runIn(store);
      const dead = store.spendings.of(run, 'a');
      await dead.begin();
      await dead.take({ tokens: 90, usd: 0 }, NO_LIMIT);
      const other = store.spendings.of(run, 'b');
      await other.begin();
      expect(await other.take({ tokens: 20, usd: 0 }, { tokens: 100, usd: null })).toEqual(NOTHING);
      await store.spendings.of(run, 'a').begin();
      expect(await other.take({ tokens: 20, usd: 0 }, { tokens: 100, usd: null })).toBeNull();
    });

    it('counts what a process that lost its part still spends, gives it no more room, and keeps that of the next one', async () => {
      const store = await open();
      const run = await runIn(store);
      const room = (tokens: number) => ({ tokens, usd: tokens / 100 });
      const [lost, next, other] = [
        store.spendings.of(run, 'a'),
        store.spendings.of(run, 'a'),
        store.spendings.of(run, 'b'),
      ];
      await lost.begin();
      await lost.take(room(60), NO_LIMIT);
      await next.begin();
      await other.begin();
      expect(await next.take(room(30), room(100))).toBeNull();
      await lost.settle(room(60), room(10));
      await expect(lost.take(room(20), room(100))).rejects.toThrow(InterruptedError);
      expect(await other.take(room(61), room(100))).toEqual(room(10));
      await next.settle(room(30), NOTHING);
      expect(await other.take(room(91), room(100))).toEqual(room(10));
      expect(await other.take(room(90), room(100))).toBeNull();
    });
  });
}
