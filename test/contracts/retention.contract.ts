import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { AuditLog } from '../../src/ports/audit-log.js';
import type { BenchmarkStore, ReportStore } from '../../src/ports/benchmark-store.js';
import type { Retention, RunStore } from '../../src/ports/run-store.js';
import type { ResultStore, SpendingStore } from '../../src/ports/result-store.js';
import { givenRequest } from '../fixtures/runs.js';

interface Stores {
  readonly runs: RunStore;
  readonly benchmarks: BenchmarkStore;
  readonly results: ResultStore;
  readonly spendings: SpendingStore;
  readonly retention: Retention;
  readonly reports: ReportStore;
  readonly audit: AuditLog;
}

const NOTED = { action: 'run.submit', actor: null, address: '', run_id: null, outcome: 'done', times: 1 };

/** What every Retention promises. `open` gives an empty store. */
export function retentionContract(name: string, open: () => Promise<Stores>): void {
  describe(`Retention: ${name}`, () => {
    it('deletes what ended before the cut-off, whole, and nothing else', async () => {
      const store = await open();
      const old = await Promise.all(Array.from({ length: 45 }, (_, n) => store.runs.create(`old ${n}`, { n })));
      const waiting = (await store.runs.create('waiting', 1)).run.id;
      for (const { run } of old) {
        await store.spendings.of(run.id, 'run').begin();
        await store.runs.update(run.id, { status: 'done', result: 1 });
      }
      await store.results.put('old', 'cell', 1);
      for (let n = 0; n < 25; n += 1) await store.reports.put({ id: `old-${n}`, title: 't', document: '{}', page: '' });
      await store.audit.append(Array.from({ length: 1_100 }, () => NOTED));
      await sleep(5);
      const cutoff = Date.now();
      await sleep(5);
      const recent = (await store.runs.create('recent', 1)).run.id;
      await store.runs.update(recent, { status: 'failed' });
      await store.results.put('recent', 'cell', 2);
      await store.reports.put({ id: 'recent', title: 't', document: '{}', page: '' });
      await store.audit.append([{ ...NOTED, run_id: old[0]?.run.id ?? null }]);

      const NOTHING = { runs: 0, benchmarks: 0, benchmark_runs: 0, results: 0, reports: 0, audited: 0 };
      const swept = { ...NOTHING, runs: 45, results: 1, reports: 25, audited: 1_100 };
      expect(await store.retention.sweep(cutoff)).toEqual(swept);
      const [first] = old;
      expect(await store.runs.get(first?.run.id ?? '')).toBeNull();
      expect(await store.runs.events(first?.run.id ?? '', 0)).toEqual([]);
      expect((await store.runs.list(100, null)).runs.map(({ id }) => id)).toEqual([recent, waiting]);
      expect(await store.results.get('old')).toBeUndefined();
      expect(await store.results.get('recent')).toBe(2);
      expect((await store.reports.list(100, null)).reports.map(({ id }) => id)).toEqual(['recent']);
      expect((await store.audit.list(100, null)).entries).toHaveLength(1);
      expect(await store.retention.sweep(cutoff)).toEqual(NOTHING);
    });

    it('keeps the runs of a benchmark as long as the benchmark, which stays until it is over', async () => {
      const { runs, benchmarks, retention } = await open();
      const made: Record<string, { id: string; runs: string[] }> = {};
      for (const status of ['running', 'paused', 'done', 'cancelled', 'accepting'] as const) {
        const { id } = await benchmarks.create(status, { title: status, hash: '', submitter: '' });
        const request = z.json().parse(givenRequest());
        const how = { alone: true, benchmark: { id, arm: 'a' } };
        const own = [0, 1].map((n) => runs.create(`${status} ${n}`, request, how));
        const ids = (await Promise.all(own)).map(({ run }) => run.id);
        await runs.update(ids[0] ?? '', { status: 'done', result: 1 });
        await benchmarks.change(id, { status, note: null }, ['accepting']);
        made[status] = { id, runs: ids };
      }
      await sleep(5);
      const cutoff = Date.now();
      await sleep(5);
      const { id: late } = await benchmarks.create('late', { title: 'late', hash: '', submitter: '' });
      await benchmarks.change(late, { status: 'done', note: null }, ['accepting']);

      // The second run of each was never begun.
      expect(await retention.sweep(cutoff)).toMatchObject({ runs: 0, benchmarks: 3, benchmark_runs: 6 });
      const left = (await benchmarks.list(10, null)).benchmarks.map(({ title }) => title);
      expect(left).toEqual(['late', 'paused', 'running']);
      for (const { id, runs: own } of [made.running, made.paused].flatMap((each) => each ?? []))
        expect((await benchmarks.runs(id)).map((run) => run.id).sort()).toEqual([...own].sort());
    });
  });
}
