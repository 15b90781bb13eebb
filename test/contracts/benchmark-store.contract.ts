import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { BenchmarkRun, BenchmarkStore, RunGrades } from '../../src/ports/benchmark-store.js';
import type { RunStore } from '../../src/ports/run-store.js';
import { givenRequest, runResult } from '../fixtures/runs.js';

interface Stores {
  readonly runs: RunStore;
  readonly benchmarks: BenchmarkStore;
}

const NEW = { title: 'Nightly "ü"', hash: 'h', submitter: 'me' };
const GRADES: RunGrades = {
  ...{ right: true, graded: 2, right_candidates: 1, ungraded: 0, best: [0.5, 0.75] },
  document: {
    grades: [{ candidate_id: 'a', resolved: true, reason: 'ü', tests: { t: 'passed' } }],
    ungraded: [{ candidate_id: 'b', reason: 'no engine' }],
  },
};

/** What every BenchmarkStore promises. `open` gives an empty store. */
export function benchmarkStoreContract(name: string, open: () => Promise<Stores>): void {
  describe(`BenchmarkStore: ${name}`, () => {
    let runs: RunStore;
    let store: BenchmarkStore;
    beforeEach(async () => {
      ({ runs, benchmarks: store } = await open());
    });

    /** A run of a benchmark that nobody was handed yet. */
    async function enlist(benchmark: string, arm: string, instance: string): Promise<string> {
      const how = { alone: true, benchmark: { id: benchmark, arm } };
      return (await runs.create(`${benchmark} ${arm} ${instance}`, z.json().parse(givenRequest(instance)), how)).run.id;
    }

    it('keeps one benchmark under a key, and refuses another one', async () => {
      const made = await store.create('key\0', NEW);
      expect(made).toMatchObject({ title: NEW.title, status: 'accepting', submitter: 'me', plan: null, note: null });
      expect(await store.create('key\0', NEW)).toEqual(made);
      await expect(store.create('key\0', { ...NEW, hash: 'other' })).rejects.toMatchObject({ code: 'bad-input' });
      expect(await store.get('nobody')).toBeNull();
    });

    it('begins once, and tells plan and answers apart', async () => {
      const { id } = await store.create('key', NEW);
      expect(await store.begin(id, { arms: [{ name: 'mine' }] }, { 'o__r-1': { gold: 'ü' } })).toBe(true);
      expect(await store.begin(id, { arms: [] }, {})).toBe(false);
      expect(await store.get(id)).toMatchObject({ status: 'running', plan: { arms: [{ name: 'mine' }] } });
      expect(JSON.stringify(await store.get(id))).not.toContain('gold');
      expect(await store.sealed(id)).toEqual({ 'o__r-1': { gold: 'ü' } });
      expect(await store.running()).toEqual([{ id, submitter: 'me', setup: '' }]);
    });

    it('belongs to those with its settings, until others adopt it', async () => {
      const { id } = await store.create('key', { ...NEW, setup: 'ours' });
      await store.begin(id, { arms: [] }, {});
      expect(await store.running()).toEqual([{ id, submitter: 'me', setup: 'ours' }]);
      const begun = await store.get(id);
      expect(await store.adopt(id, 'theirs', 'ours')).toBe(true);
      expect(await store.adopt(id, 'later', 'ours')).toBe(false);
      expect(await store.running()).toEqual([{ id, submitter: 'me', setup: 'theirs' }]);
      expect(await store.get(id)).toEqual({ ...begun, setup: 'theirs' });
    });

    it('changes only what stands as expected', async () => {
      const { id } = await store.create('key', NEW);
      expect(await store.change(id, { status: 'paused', note: null }, ['running'])).toBe(false);
      expect(await store.change(id, { status: 'failed', note: 'why' }, ['accepting', 'running'])).toBe(true);
      expect(await store.get(id)).toMatchObject({ status: 'failed', note: 'why' });
      expect(await store.running()).toEqual([]);
    });

    it('lists the newest first, in pages', async () => {
      const ids: string[] = [];
      for (const key of ['a', 'b', 'c']) ids.unshift((await store.create(key, NEW)).id);
      const first = await store.list(2, null);
      expect(first.benchmarks.map(({ id }) => id)).toEqual(ids.slice(0, 2));
      const second = await store.list(2, first.next);
      expect([second.benchmarks.map(({ id }) => id), second.next]).toEqual([ids.slice(2), null]);
    });

    it('asks anew for a run that waits, and keeps what an earlier attempt of it came to', async () => {
      const { id } = await store.create('key', NEW);
      const run = await enlist(id, 'mine', 'demo-1');
      const request = z.json().parse(givenRequest('demo-1'));
      await store.ask(run, request, { tokens: 5, usd: 0.5 });
      await runs.update(run, { status: 'failed', spent: { tokens: 9, usd: 0.75 } });
      await runs.update(run, { status: 'queued', failure: null });
      await store.ask(run, request, { tokens: 5, usd: 0.5 });
      expect(await store.counts(id)).toMatchObject([{ status: 'queued', tokens: 9, usd: 0.75 }]);
    });

    it('lists and counts its runs by arm, state and outcome', async () => {
      const { id } = await store.create('key', NEW);
      const other = (await store.create('other', NEW)).id;
      const mine = [await enlist(id, 'mine', 'demo-1'), await enlist(id, 'mine', 'demo-2')];
      const theirs = await enlist(id, 'theirs', 'demo-1');
      await enlist(other, 'mine', 'demo-1');
      const [first = '', second = ''] = mine;
      await store.hand(first, true);
      const result = runResult();
      const priced = { ...result, usage: { ...result.usage, cost_usd: 0.25 } };
      await runs.update(first, { status: 'done', result: priced });
      await runs.update(theirs, { status: 'failed', failure: { code: 'x', message: 'y', next: 'z' } });
      await store.grade(first, GRADES);
      await store.grade(first, { ...GRADES, ungraded: 1 });

      const of = (all: readonly BenchmarkRun[]): readonly string[] => all.map((run) => run.id);
      const all = await store.runs(id);
      expect(of(all)).toEqual([...mine, theirs]);
      expect(all).toMatchObject([
        { instance_id: 'demo-1', handed: true, status: 'done', candidate_id: 'b/2 ?#%', confidence: 0.7 },
        { instance_id: 'demo-2', handed: false, status: 'queued', right: null, graded: null },
        { arm: 'theirs', failure: { code: 'x', message: 'y' } },
      ]);
      expect(all[0]).toMatchObject({
        right: true,
        graded: 2,
        right_candidates: 1,
        ungraded: 1,
        cost_usd: 0.25,
        seconds: 1.5,
      });
      expect(of(await store.runs(id, { arm: 'mine', after: first }))).toEqual([second]);
      expect(of(await store.runs(id, { statuses: ['failed'], limit: 1 }))).toEqual([theirs]);
      expect(of(await store.runs(id, { handed: true }))).toEqual([first]);
      expect(of(await store.runs(id, { statuses: ['queued'], handed: false }))).toEqual([second]);

      const none = { selected: 0, graded: 0, right: 0, wrong: 0, tokens: 0, usd: null };
      const counts = [...(await store.counts(id))].sort((a, b) => (a.arm + a.status < b.arm + b.status ? -1 : 1));
      expect(counts).toEqual([
        {
          ...{ arm: 'mine', status: 'done', handed: true, runs: 1, selected: 1, graded: 1, right: 1, wrong: 0 },
          ...{ tokens: all[0]?.tokens, usd: 0.25 },
        },
        { ...none, arm: 'mine', status: 'queued', handed: false, runs: 1 },
        { ...none, arm: 'theirs', status: 'failed', handed: false, runs: 1 },
      ]);
      const known = { arm: 'mine', right: true, graded: 2, right_candidates: 1 };
      expect(await store.graded(id)).toEqual([{ ...known, best: [0.5, 0.75] }]);
      await store.grade(first, { ...GRADES, right: null, best: null });
      expect(await store.graded(id)).toEqual([{ ...known, right: null, best: null }]);
      const unknown = { candidate_id: 'b', resolved: null, reason: 'timed out', tests: {} };
      const document = { grades: [unknown], ungraded: [] };
      await store.grade(first, { ...GRADES, right: null, graded: 0, ungraded: 1, document });
      expect(await store.labels(first)).toEqual(document);
      expect((await store.counts(id)).find(({ graded }) => graded > 0)).toMatchObject({ right: 0, wrong: 0 });
      await store.grade(first, { ...GRADES, right: false });
      expect(await store.labels(second)).toBeNull();
      // Of demo-1 nothing is under way any more, of another benchmark's nothing is said.
      expect(await store.labels(first)).toEqual(GRADES.document);
      await runs.update(theirs, { status: 'queued' });
      expect(await store.labels(first)).toBeNull();
      await runs.update(theirs, { status: 'failed' });
      expect((await store.counts(id)).find(({ graded }) => graded > 0)).toMatchObject({ right: 0, wrong: 1 });
      await store.grade(first, null);
      expect((await store.runs(id))[0]).toMatchObject({ right: null, graded: null });
    });

    it('tells the issues of which nothing is open and something is not graded', async () => {
      const { id } = await store.create('key', NEW);
      const told = async (): Promise<string[]> =>
        (await store.gradable(id)).map(({ arm, instance_id }) => `${arm} ${instance_id}`);
      const first = [await enlist(id, 'mine', 'demo-1'), await enlist(id, 'mine', 'demo-2')];
      const second = [await enlist(id, 'theirs', 'demo-1'), await enlist(id, 'theirs', 'demo-2')];
      const failed = { status: 'failed', failure: { code: 'x', message: 'y', next: 'z' } } as const;
      for (const run of first) await runs.update(run, { status: 'done', result: runResult() });
      expect(await told()).toEqual([]);
      await runs.update(second[1] ?? '', failed);
      expect(await told()).toEqual(['mine demo-2', 'theirs demo-2']);
      await runs.update(second[0] ?? '', { status: 'done', result: runResult() });
      expect(await told()).toEqual(['mine demo-1', 'theirs demo-1', 'mine demo-2', 'theirs demo-2']);
      for (const run of first) await store.grade(run, GRADES);
      expect(await told()).toEqual(['mine demo-1', 'theirs demo-1']);
      await store.grade(second[0] ?? '', GRADES);
      expect(await told()).toEqual([]);
    });

    it('tells when runs ended and how much they executed', async () => {
      const { id } = await store.create('key', NEW);
      const [first, second] = [await enlist(id, 'mine', 'demo-1'), await enlist(id, 'mine', 'demo-2')];
      await runs.append(first, 'cell', {});
      await runs.append(first, 'cell', {});
      await runs.append(first, 'started', {});
      await runs.update(first, { status: 'done', result: runResult() });
      await sleep(5);
      await runs.update(second, { status: 'done', result: runResult() });
      const [last = 0, before = 0, ...others] = await store.endings(id, 5);
      expect([last - before > 0, others]).toEqual([true, []]);
      expect(await store.endings(id, 1)).toEqual([last]);
      const { distinct_patches } = runResult().statistics;
      expect(await store.efforts(id)).toEqual(
        new Map([
          [first, { distinct_patches, executions: 2 }],
          [second, { distinct_patches, executions: 0 }],
        ]),
      );
    });

    it('goes with its runs, and no others', async () => {
      const { id } = await store.create('key', NEW);
      const run = await enlist(id, 'mine', 'demo-1');
      await store.grade(run, GRADES);
      const own = (await runs.create('alone', z.json().parse(givenRequest()))).run.id;
      await store.delete(id);
      expect([await store.get(id), await runs.get(run)]).toEqual([null, null]);
      expect(await runs.get(own)).not.toBeNull();
    });
  });
}
