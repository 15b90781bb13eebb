import { BadInputError, InterruptedError } from '../../src/core/errors/errors.js';
import {
  Run,
  RunEvent,
  type RunListing,
  type RunPage,
  type RunStore,
  STATUS_EVENT,
} from '../../src/ports/run-store.js';
import { runResult } from '../fixtures/runs.js';
import { owners } from './run-owners.contract.js';

const REQUEST = { issue: 'it\u0000 breaks', patches: ['a', 'ü'], nested: { b: 1, a: 2 } };

/** What every RunStore promises. `open` gives an empty one. */
export function runStoreContract(name: string, open: () => Promise<RunStore>): void {
  describe(`RunStore: ${name}`, () => {
    it('creates a queued run that reads back whole', async () => {
      const store = await open();
      const { run, created } = await store.create('key', REQUEST);
      expect(created).toBe(true);
      expect(Run.parse(run)).toMatchObject({ status: 'queued', request: REQUEST, result: null, failure: null });
      expect(await store.get(run.id)).toEqual(run);
      expect(await store.statusOf(run.id)).toBe('queued');
    });

    it('gives one run for one key, also when asked many times at once', async () => {
      const store = await open();
      const answers = await Promise.all(Array.from({ length: 10 }, () => store.create('key', REQUEST)));
      expect(new Set(answers.map(({ run }) => run.id)).size).toBe(1);
      expect(answers.filter(({ created }) => created)).toHaveLength(1);
      const reordered = { nested: { a: 2, b: 1 }, patches: ['a', 'ü'], issue: 'it\u0000 breaks' };
      expect((await store.create('key', reordered)).created).toBe(false);
    });

    it('refuses a key that another request holds', async () => {
      const store = await open();
      await store.create('key', REQUEST);
      await expect(store.create('key', { ...REQUEST, patches: [] })).rejects.toThrow(BadInputError);
    });

    it('knows nothing of runs that do not exist', async () => {
      const store = await open();
      expect(await store.get("x' OR '1'='1")).toBeNull();
      expect(await store.size('x')).toBeNull();
      expect(await store.statusOf('x')).toBeNull();
      expect(await store.update('x', { status: 'done' })).toBe(false);
      expect(await store.claim('x', 'me')).toBe(false);
      expect(await store.events('x', 0)).toEqual([]);
      await expect(store.append('x', 'note', 1)).rejects.toThrow(InterruptedError);
      await expect(store.delete('x')).resolves.toBeUndefined();
    });

    it('lists newest first, in pages that neither repeat nor skip', async () => {
      const store = await open();
      const ids: string[] = [];
      for (let n = 0; n < 7; n += 1) ids.push((await store.create(`key ${n}`, n)).run.id);
      const seen: string[] = [];
      let before: string | null = null;
      do {
        const page = await store.list(3, before);
        seen.push(...page.runs.map(({ id }) => id));
        if (seen.length === 3) {
          await store.create('newer', 'x');
          await store.delete(ids[4] ?? '');
        }
        before = page.next;
      } while (before !== null);
      expect(seen).toEqual(ids.toReversed());
      expect((await store.list(100, null)).next).toBeNull();
    });

    it('says of each listed run what its request and result come to', async () => {
      const store = await open();
      const { id } = (await store.create('key', requestOf('sympy__1', 8))).run;
      const asked = { instance_id: 'sympy__1', k: 8, preset: 'deepswe' };
      const unknown = {
        candidate_id: null,
        basis: null,
        deciding_stage: null,
        confidence: null,
        cost_usd: null,
        seconds: null,
      };
      expect((await store.list(1, null)).runs).toMatchObject([{ id, ...asked, ...unknown }]);
      await store.update(id, { status: 'done', result: resultOf('c-1', 0.25) });
      const answered = { candidate_id: 'c-1', basis: 'hybrid', deciding_stage: 's', confidence: 0.5, cost_usd: 0.25 };
      const spent = { seconds: 3.5 };
      expect((await store.list(1, null)).runs).toMatchObject([{ id, status: 'done', ...asked, ...answered, ...spent }]);
    });

    it.each([
      { search: 'a\0b' },
      { search: '\ud800' },
      { instance: '\0' },
      { instance: 'a\udc00' },
      { search: String.raw`%_\' or 1=1 --` },
    ])('finds nothing for %j, which no run is called', async (listing) => {
      const store = await open();
      await store.create('a', REQUEST);
      expect((await store.list(5, null, listing)).runs).toEqual([]);
    });

    it.each([
      ['k', [1e300, 'a']],
      ['k', [1.5, 'a']],
      ['k', [2 ** 40, 'a']],
      ['k', ['a', 'a']],
      ['instance', ['a\0', 'a']],
      ['instance', ['a', '\ud800']],
      ['cost', [null, 'a']],
    ] as const)(
      'takes a position in the order of %s that no page gave, %j, for wrong or for empty',
      async (order, at) => {
        const store = await open();
        const cursor = Buffer.from(JSON.stringify(at)).toString('base64url');
        const listed = await store.list(5, cursor, { order }).catch((error: unknown) => error);
        expect(listed instanceof BadInputError ? { runs: [] } : listed).toMatchObject({ runs: [] });
      },
    );

    it('lists what is asked for, in the order that is asked for, in pages', async () => {
      const store = await open();
      const made = [
        ['mend_%', 3],
        ['a', 1],
        ['MEND', null],
        ['a', 2],
      ] as const;
      const ids: string[] = [];
      for (const [index, [instance, cost]] of made.entries()) {
        const { id } = (await store.create(`${index}`, requestOf(instance, index))).run;
        ids.push(id);
        if (cost !== null) await store.update(id, { status: 'done', result: resultOf('Pick', cost) });
      }
      const numbers = async (listing: RunListing): Promise<number[]> => {
        const seen: number[] = [];
        let before: string | null = null;
        do {
          const page: RunPage = await store.list(1, before, listing);
          seen.push(...page.runs.map((run) => ids.indexOf(run.id)));
          before = page.next;
        } while (before !== null);
        return seen;
      };
      expect(await numbers({ order: 'created', descending: false })).toEqual([0, 1, 2, 3]);
      expect(await numbers({ order: 'cost' })).toEqual([0, 3, 1, 2]);
      expect(await numbers({ order: 'cost', descending: false })).toEqual([2, 1, 3, 0]);
      expect(await numbers({ order: 'instance', descending: false })).toEqual([2, 1, 3, 0]);
      expect(await numbers({ order: 'k', statuses: ['done'] })).toEqual([3, 1, 0]);
      expect(await numbers({ instance: 'a' })).toEqual([3, 1]);
      expect(await numbers({ search: 'mEnd' })).toEqual([2, 0]);
      expect(await numbers({ search: '_%' })).toEqual([0]);
      expect(await numbers({ search: 'pick', statuses: ['queued'] })).toEqual([]);
    });

    it('finds the runs that are open, oldest first and without those of commands, and knows whose they are', async () => {
      const store = await open();
      const create = async (key: string): Promise<string> =>
        (await store.create(key, key, { submitter: `of ${key}`, alone: key === 'd' })).run.id;
      const [a, b, c] = [await create('a'), await create('b'), await create('c'), await create('d')];
      await store.update(b, { status: 'done', result: { answer: 42 } });
      expect(await store.open()).toEqual([
        { id: a, submitter: 'of a', setup: '' },
        { id: c, submitter: 'of c', setup: '' },
      ]);
    });

    it('counts runs by status, and knows since when the one waits that waits longest', async () => {
      const store = await open();
      const nothing = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
      expect(await store.census()).toEqual({ counts: nothing, oldestQueued: null });
      const runs = [];
      for (const key of ['a', 'b', 'c', 'd']) runs.push((await store.create(key, 1)).run);
      await store.claim(runs[0]?.id ?? '', 'me');
      await store.update(runs[1]?.id ?? '', { status: 'done' });
      const { counts, oldestQueued } = await store.census();
      expect(counts).toEqual({ ...nothing, queued: 2, running: 1, done: 1 });
      expect(oldestQueued).toBe(runs[2]?.updated_at);
    });

    it('changes a run only while the guard holds', async () => {
      const store = await open();
      const { id } = (await store.create('key', 1)).run;
      expect(await store.update(id, { status: 'done' }, { statuses: ['running'] })).toBe(false);
      expect(await store.update(id, { status: 'cancelled' }, { statuses: ['queued', 'running'] })).toBe(true);
      expect(await store.update(id, { status: 'done' }, { owner: 'me' })).toBe(false);
      expect(await store.statusOf(id)).toBe('cancelled');
    });

    it('keeps result and failure', async () => {
      const store = await open();
      const { id } = (await store.create('key', 1)).run;
      const failure = { code: 'engine-unavailable', message: 'no Docker', next: 'start it' };
      const spent = { tokens: 7, usd: 0.5 };
      await store.update(id, { status: 'failed', failure, spent });
      expect(await store.get(id)).toMatchObject({ status: 'failed', failure, result: null, spent });
      expect((await store.list(1, null)).runs).toMatchObject([{ tokens: 7, cost_usd: 0.5 }]);
      await store.update(id, { status: 'queued', failure: null });
      await store.update(id, { status: 'done', result: { patch: null } });
      expect(await store.get(id)).toMatchObject({ status: 'done', failure: null, result: { patch: null } });
      expect(await store.size(id)).toBe(Buffer.byteLength('1{"patch":null}'));
    });

    it('knows the most that the attempts of a run came to, until its result says what it came to', async () => {
      const store = await open();
      const { id } = (await store.create('key', 1)).run;
      await store.update(id, { status: 'failed', spent: { tokens: 7, usd: 0.5 } });
      await store.update(id, { status: 'failed', spent: { tokens: 6, usd: null } });
      expect(await store.get(id)).toMatchObject({ spent: { tokens: 7, usd: 0.5 } });
      await store.update(id, { status: 'failed', spent: { tokens: 8, usd: null } });
      expect((await store.list(1, null)).runs).toMatchObject([{ tokens: 8, cost_usd: null }]);
      const result = { selection: {}, usage: { tokens: 3, cost_usd: 0.25 } };
      await store.update(id, { status: 'done', result });
      expect((await store.list(1, null)).runs).toMatchObject([{ tokens: 3, cost_usd: 0.25 }]);
      expect(await store.get(id)).toMatchObject({ spent: { tokens: 3, usd: 0.25 } });
    });

    it('numbers a journal from 1 without holes, however many write at once', async () => {
      const store = await open();
      const { id } = (await store.create('key', 1)).run;
      const events = await Promise.all(Array.from({ length: 50 }, (_, n) => store.append(id, 'step', { n })));
      const journal = await store.events(id, 0);
      expect(journal.map(({ seq }) => seq)).toEqual(Array.from({ length: 51 }, (_, n) => n + 1));
      expect(journal.map((event) => RunEvent.parse(event))).toEqual(expect.arrayContaining(events));
      expect(await store.events(id, 49)).toEqual(journal.slice(49));
    });

    it('journals every status with the change, and closes the journal at the end', async () => {
      const store = await open();
      const { id } = (await store.create('key', 1)).run;
      const failure = { code: 'c', message: 'm', next: 'n' };
      await store.claim(id, 'me');
      await store.append(id, 'step', 'one');
      await store.update(id, { status: 'failed', failure });
      await expect(store.append(id, 'step', 'late')).rejects.toThrow(InterruptedError);
      expect((await store.events(id, 0)).map(({ type, data }) => [type, data])).toEqual([
        ['status', { status: 'queued', failure: null }],
        ['status', { status: 'running', failure: null }],
        ['step', 'one'],
        ['status', { status: 'failed', failure }],
      ]);
    });

    it('deletes a run with its journal and frees its key', async () => {
      const store = await open();
      const { id } = (await store.create('key', 1)).run;
      await store.append(id, 'step', 1);
      await store.delete(id);
      expect(await store.get(id)).toBeNull();
      expect(await store.events(id, 0)).toEqual([]);
      expect((await store.create('key', 'other')).created).toBe(true);
    });

    looks(open);
    owners(open);
  });
}

function looks(open: () => Promise<RunStore>): void {
  it('reads a journal from any number on, as far as it is asked to', async () => {
    const store = await open();
    const { id } = (await store.create('key', 1)).run;
    for (const n of [2, 3, 4]) await store.append(id, 'step', n);
    expect((await store.events(id, 1, 2)).map(({ seq }) => seq)).toEqual([2, 3]);
    expect((await store.events(id, 3, 2)).map(({ seq }) => seq)).toEqual([4]);
    expect((await store.events(id, 0, undefined, STATUS_EVENT)).map(({ seq }) => seq)).toEqual([1]);
    for (const seq of [4, 1e15, Number.MAX_SAFE_INTEGER]) expect(await store.events(id, seq)).toEqual([]);
  });

  it('tells how far many runs are at once', async () => {
    const store = await open();
    const [a, b] = [(await store.create('a', 1)).run.id, (await store.create('b', 1)).run.id];
    await store.claim(b, 'me');
    expect(await store.heads([a, 'x', b])).toEqual(
      new Map([
        [a, { status: 'queued', seq: 1 }],
        [b, { status: 'running', seq: 2 }],
      ]),
    );
    expect(await store.heads([])).toEqual(new Map());
  });

  it('tells how far a run is and what it came to', async () => {
    const store = await open();
    const { run } = await store.create('key', REQUEST);
    const { id } = run;
    await store.claim(id, 'me');
    for (const n of [1, 2]) await store.append(id, 'step', n, 'me');
    expect(await store.overview(id)).toMatchObject({
      ...{ id, status: 'running', created_at: run.created_at, failure: null, answer: null },
      progress: { events: 4, by_type: { status: 2, step: 2 }, last: { seq: 4, type: 'step', data: 2 } },
    });
    const result = runResult('\u0000');
    await store.update(id, { status: 'done', result }, { owner: 'me' });
    const { selection, statistics, usage } = result;
    const overview = await store.overview(id);
    expect(overview?.answer).toEqual({ selection, statistics, usage });
    expect(overview?.progress.last?.data).toEqual({ status: 'done', failure: null });
    expect(await store.overview('x')).toBeNull();
  });
}

function requestOf(instance_id: string, k: number): Run['request'] {
  return { issue: { instance_id, problem_statement: 'it breaks' }, k, preset: 'deepswe' };
}

function resultOf(candidate_id: string, cost_usd: number): Run['result'] {
  const selection = { candidate_id, basis: 'hybrid', deciding_stage: 's', confidence: 0.5 };
  return { selection, usage: { cost_usd, stages: { sample: 3, score: 0.5 } } };
}
