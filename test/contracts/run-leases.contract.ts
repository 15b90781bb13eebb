import { setTimeout as sleep } from 'node:timers/promises';
import { InterruptedError } from '../../src/core/errors/errors.js';
import type { RunStore } from '../../src/ports/run-store.js';

/** What every RunStore promises of the leases on its runs. */
export function leases(open: () => Promise<RunStore>): void {
  it('gives a run to one of many', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    const owners = Array.from({ length: 20 }, (_, n) => `owner ${n}`);
    const won = await Promise.all(owners.map((owner) => store.claim(id, owner, 60_000)));
    expect(won.filter(Boolean)).toHaveLength(1);
    expect(await store.statusOf(id)).toBe('running');
  });

  it('extends a lease for its owner, without another status event, and lends it again when it ran out', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    expect(await store.claim(id, 'me', 60_000)).toBe(true);
    expect(await store.claim(id, 'me', 20)).toBe(true);
    expect(await store.events(id, 0)).toHaveLength(2);
    await sleep(40);
    expect(await store.claim(id, 'other', 60_000)).toBe(true);
    expect(await store.claim(id, 'me', 60_000)).toBe(false);
    expect(await store.update(id, { status: 'done' }, { owner: 'me' })).toBe(false);
    expect(await store.update(id, { status: 'done' }, { owner: 'other' })).toBe(true);
  });

  it('closes the journal to those who lost the lease', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    await store.claim(id, 'slow', 10);
    expect((await store.append(id, 'step', 1, 'slow')).seq).toBe(3);
    await sleep(30);
    await store.claim(id, 'next', 60_000);
    await expect(store.append(id, 'step', 2, 'slow')).rejects.toThrow(InterruptedError);
    expect((await store.append(id, 'step', 2, 'next')).seq).toBe(5);
    expect((await store.events(id, 2)).map(({ data }) => data)).toEqual([1, { status: 'running', failure: null }, 2]);
  });

  it('takes a run back from its owner alone', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    await store.claim(id, 'me', 60_000);
    await store.release(id, 'other');
    expect(await store.statusOf(id)).toBe('running');
    await store.release(id, 'me');
    expect(await store.statusOf(id)).toBe('queued');
    expect(await store.claim(id, 'other', 60_000)).toBe(true);
  });

  it('never lends or takes back a run that ended', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    await store.claim(id, 'me', 60_000);
    await store.update(id, { status: 'cancelled' });
    expect(await store.claim(id, 'me', 60_000)).toBe(false);
    await store.release(id, 'me');
    expect(await store.statusOf(id)).toBe('cancelled');
  });
}
