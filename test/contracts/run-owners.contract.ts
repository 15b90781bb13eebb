import { InterruptedError } from '../../src/core/errors/errors.js';
import type { RunStore } from '../../src/ports/run-store.js';

/** What every RunStore promises of who works on its runs. */
export function owners(open: () => Promise<RunStore>): void {
  it('has a run belong to who took it last, of however many', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    const all = Array.from({ length: 20 }, (_, n) => `owner ${n}`);
    expect(await Promise.all(all.map((owner) => store.claim(id, owner)))).toEqual(all.map(() => true));
    const held = await Promise.all(all.map((owner) => store.isHeld(id, owner)));
    expect(held.filter(Boolean)).toHaveLength(1);
    expect(await store.statusOf(id)).toBe('running');
    const winner = all[held.indexOf(true)] ?? '';
    for (const owner of all.filter((each) => each !== winner)) {
      expect(await store.update(id, { status: 'done' }, { owner })).toBe(false);
    }
    expect(await store.update(id, { status: 'done' }, { owner: winner })).toBe(true);
  });

  it('leaves a run with an owner who is to keep it, and journals nothing then', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    expect(await store.claim(id, 'first', { unless: () => true })).toBe(true);
    expect(await store.claim(id, 'second', { unless: (owner) => owner === 'first' })).toBe('first');
    expect(await store.isHeld(id, 'first')).toBe(true);
    expect(await store.events(id, 0)).toHaveLength(2);
    expect(await store.claim(id, 'second', { unless: () => false })).toBe(true);
    expect(await store.isHeld(id, 'first')).toBe(false);
  });

  it('gives a run to those with its settings, until others adopt it', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1, { setup: 'ours', submitter: 'ci' })).run;
    expect(await store.claim(id, 'me', { setup: 'theirs' })).toBe(false);
    expect(await store.open()).toEqual([{ id, submitter: 'ci', setup: 'ours' }]);
    expect(await store.adopt(id, 'theirs', 'ours')).toBe(true);
    expect(await store.adopt(id, 'later', 'ours')).toBe(false);
    expect(await store.claim(id, 'me', { setup: 'ours' })).toBe(false);
    expect(await store.claim(id, 'me', { setup: 'theirs' })).toBe(true);
    expect(await store.open()).toEqual([{ id, submitter: 'ci', setup: 'theirs' }]);
  });

  it('closes the journal to those who lost the run, not to those who do a part of it', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    await store.claim(id, 'slow');
    expect((await store.append(id, 'step', 1, 'slow')).seq).toBe(3);
    await store.claim(id, 'next');
    await expect(store.append(id, 'step', 2, 'slow')).rejects.toThrow(InterruptedError);
    expect((await store.append(id, 'step', 2, 'next')).seq).toBe(5);
    expect((await store.append(id, 'part', 3)).seq).toBe(6);
    const told = (await store.events(id, 2)).map(({ data }) => data);
    expect(told).toEqual([1, { status: 'running', failure: null }, 2, 3]);
  });

  it('takes a run back from its owner alone', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    await store.claim(id, 'me');
    await store.release(id, 'other');
    expect(await store.statusOf(id)).toBe('running');
    await store.release(id, 'me');
    expect(await store.statusOf(id)).toBe('queued');
    expect(await store.isHeld(id, 'me')).toBe(false);
    expect(await store.claim(id, 'other', { unless: () => true })).toBe(true);
  });

  it('never gives or takes back a run that ended', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    await store.claim(id, 'me');
    await store.update(id, { status: 'cancelled' });
    expect(await store.isHeld(id, 'me')).toBe(false);
    expect(await store.claim(id, 'me')).toBe(false);
    await store.release(id, 'me');
    expect(await store.statusOf(id)).toBe('cancelled');
    expect(await store.open()).toEqual([]);
  });

  it('counts the runs of one key that are worked on', async () => {
    const store = await open();
    const create = async (key: string, submitter: string): Promise<string> =>
      (await store.create(key, key, { submitter })).run.id;
    const [a, b, c] = [await create('a', 'one'), await create('b', 'one'), await create('c', 'two')];
    for (const id of [a, c]) await store.claim(id, 'me');
    expect(await Promise.all([a, b, c, 'x'].map((id) => store.siblings(id)))).toEqual([1, 1, 1, 0]);
    await store.claim(b, 'me');
    expect(await store.siblings(a)).toBe(2);
  });
}
