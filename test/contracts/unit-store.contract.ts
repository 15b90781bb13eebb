import { setTimeout as sleep } from 'node:timers/promises';
import type { RunStore } from '../../src/ports/run-store.js';
import type { Unit, UnitSpec, UnitStore } from '../../src/ports/unit-store.js';

interface Stores {
  readonly runs: RunStore;
  readonly units: UnitStore;
}

const ANY = { setups: ['s'], not: [], only: null };
const LONG_MS = 60_000;

/** What every UnitStore promises. `open` gives an empty one. */
export function unitStoreContract(name: string, open: () => Promise<Stores>): void {
  const running = async (store: Stores, key: string, submitter = ''): Promise<string> => {
    const { id } = (await store.runs.create(key, key, submitter)).run;
    await store.runs.claim(id, `owner of ${key}`, LONG_MS);
    return id;
  };
  const spec = (runId: string, key: string, setup = 's'): UnitSpec => ({
    runId,
    kind: 'verdict',
    key,
    setup,
    payload: { key },
  });
  const take = (store: Stores, owner: string, leaseMs = LONG_MS): Promise<Unit | null> =>
    store.units.claim(owner, ANY, leaseMs);

  describe(`UnitStore: ${name}`, () => {
    it('gives each unit to one of many', async () => {
      const store = await open();
      const run = await running(store, 'a');
      for (let n = 0; n < 5; n += 1) await store.units.offer(spec(run, `u${n}`));
      const claims = await Promise.all(Array.from({ length: 20 }, (_, n) => take(store, `w${n}`)));
      const taken = claims.flatMap((unit) => unit ?? []);
      expect(new Set(taken.map(({ id }) => id)).size).toBe(taken.length);
      // One that looked while others were at it may have come away empty.
      while ((await take(store, 'last')) !== null) taken.push({} as Unit);
      expect(taken).toHaveLength(5);
      expect(claims.find((unit) => unit !== null)).toMatchObject({ runId: run, kind: 'verdict', attempts: 1 });
    });

    it('is one unit however often it is offered, and keeps what was done', async () => {
      const store = await open();
      const run = await running(store, 'a');
      const id = await store.units.offer(spec(run, 'u'));
      expect(await store.units.offer(spec(run, 'u'))).toBe(id);
      expect(await store.units.areUnderWay([id])).toBe(false);
      const unit = await take(store, 'w');
      expect(await store.units.areUnderWay([id, 'other'])).toBe(true);
      expect(unit).toMatchObject({ id, payload: { key: 'u' } });
      expect(await take(store, 'w')).toBeNull();
      expect(await store.units.outcome(id)).toBeNull();
      expect(await store.units.settle(id, 'w', { state: 'done', outcome: { n: 1 } })).toBe(true);
      await store.units.offer(spec(run, 'u'));
      const waits = await store.units.offer(spec(run, 'v'));
      expect(await store.units.ended([id, waits, 'gone'])).toEqual([id, 'gone']);
      expect(await store.units.outcome(id)).toEqual({ state: 'done', outcome: { n: 1 }, owner: 'w', attempts: 1 });
    });

    it('lets one that failed, or waits under other settings, be offered again', async () => {
      const store = await open();
      const run = await running(store, 'a');
      const id = await store.units.offer(spec(run, 'u', 'other'));
      expect(await take(store, 'w')).toBeNull();
      await store.units.offer(spec(run, 'u'));
      await take(store, 'w');
      await store.units.settle(id, 'w', { state: 'failed', outcome: 'broken' });
      expect(await take(store, 'w')).toBeNull();
      await store.units.offer(spec(run, 'u'));
      expect(await take(store, 'w')).toMatchObject({ id, attempts: 1 });
    });

    it('serves the run that waited longest', async () => {
      const store = await open();
      const [a, b] = [await running(store, 'a'), await running(store, 'b')];
      for (let n = 0; n < 4; n += 1) await store.units.offer(spec(a, `a${n}`));
      for (let n = 0; n < 2; n += 1) await store.units.offer(spec(b, `b${n}`));
      const order: (string | undefined)[] = [];
      for (let n = 0; n < 6; n += 1) {
        order.push((await take(store, 'w'))?.runId);
        await sleep(2);
      }
      expect(order.slice(0, 4).filter((id) => id === b)).toHaveLength(2);
      expect(order.filter((id) => id === a)).toHaveLength(4);
    });

    it('serves submitters in turn, however many runs each has under way', async () => {
      const store = await open();
      const many = await Promise.all(['a', 'b', 'c', 'd'].map((key) => running(store, key, 'many')));
      const few = await running(store, 'e', 'few');
      for (const run of many) for (let n = 0; n < 3; n += 1) await store.units.offer(spec(run, `${run} ${n}`));
      for (let n = 0; n < 4; n += 1) await store.units.offer(spec(few, `few ${n}`));
      const order: (string | undefined)[] = [];
      for (let n = 0; n < 8; n += 1) {
        order.push((await take(store, 'w'))?.runId);
        await sleep(2);
      }
      expect(order.filter((id) => id === few)).toHaveLength(4);
      expect(new Set(order)).toEqual(new Set([...many, few]));
    });

    it('takes over what a lost worker had, which can settle it no more', async () => {
      const store = await open();
      const run = await running(store, 'a');
      const id = await store.units.offer(spec(run, 'u'));
      await take(store, 'lost', 20);
      expect(await store.units.extend(id, 'lost', 20)).toBe(true);
      await sleep(60);
      expect(await take(store, 'next')).toMatchObject({ id, attempts: 2 });
      expect(await store.units.extend(id, 'lost', LONG_MS)).toBe(false);
      expect(await store.units.settle(id, 'lost', { state: 'done', outcome: 1 })).toBe(false);
      expect(await store.units.settle(id, 'next', { state: 'done', outcome: 2 })).toBe(true);
    });

    it('gives up on what loses every worker', async () => {
      const store = await open();
      const run = await running(store, 'a');
      const id = await store.units.offer(spec(run, 'u'));
      for (let n = 0; n < 5; n += 1) {
        expect(await take(store, `w${n}`, 1)).toMatchObject({ attempts: n + 1 });
        await sleep(10);
      }
      expect(await take(store, 'w6')).toBeNull();
      expect(await store.units.ended([id])).toEqual([id]);
      expect(await store.units.outcome(id)).toMatchObject({
        state: 'failed',
        outcome: { error: { code: 'worker-lost' } },
      });
    });

    it('keeps back what is to be tried later, and counts only what was a try', async () => {
      const store = await open();
      const run = await running(store, 'a');
      const id = await store.units.offer(spec(run, 'u'));
      await take(store, 'w');
      await store.units.settle(id, 'w', { state: 'waiting', afterMs: 0, counts: false });
      expect(await take(store, 'w')).toMatchObject({ attempts: 1 });
      await store.units.settle(id, 'w', { state: 'waiting', afterMs: 80, counts: true });
      expect(await take(store, 'w')).toBeNull();
      await sleep(120);
      expect(await take(store, 'w')).toMatchObject({ attempts: 2 });
    });

    it('gives out nothing of a run that is passed over, waits or is over, and stops its workers', async () => {
      const store = await open();
      const run = await running(store, 'a');
      const id = await store.units.offer(spec(run, 'u'));
      expect(await store.units.claim('w', { ...ANY, not: [run] }, LONG_MS)).toBeNull();
      expect(await store.units.claim('w', { ...ANY, only: ['other'] }, LONG_MS)).toBeNull();
      expect(await store.units.claim('w', { ...ANY, only: [] }, LONG_MS)).toBeNull();
      await take(store, 'w');
      await store.units.offer(spec(run, 'v'));
      await store.runs.release(run, 'owner of a');
      expect(await take(store, 'x')).toBeNull();
      expect(await store.units.extend(id, 'w', LONG_MS)).toBe(true);
      await store.runs.update(run, { status: 'cancelled' });
      expect(await store.units.extend(id, 'w', LONG_MS)).toBe(false);
      await store.runs.delete(run);
      expect(await store.units.outcome(id)).toBeNull();
    });

    it('takes back what nobody waits for', async () => {
      const store = await open();
      const run = await running(store, 'a');
      const id = await store.units.offer(spec(run, 'u'));
      await take(store, 'w');
      await store.units.withdraw(id);
      expect(await store.units.extend(id, 'w', LONG_MS)).toBe(false);
      expect(await take(store, 'w')).toBeNull();
    });

    it('lets the journal be written by who holds the run or a unit of it, and by nobody else', async () => {
      const store = await open();
      const run = await running(store, 'a');
      const id = await store.units.offer(spec(run, 'u'));
      await take(store, 'w');
      expect((await store.runs.append(run, 'step', 1, 'owner of a')).seq).toBe(3);
      expect((await store.runs.append(run, 'step', 2, 'w')).seq).toBe(4);
      await expect(store.runs.append(run, 'step', 3, 'stranger')).rejects.toThrow("another's");
      await store.units.settle(id, 'w', { state: 'done', outcome: null });
      await expect(store.runs.append(run, 'step', 4, 'w')).rejects.toThrow("another's");
      expect(await store.runs.events(run, 4)).toEqual([]);
    });
  });
}
