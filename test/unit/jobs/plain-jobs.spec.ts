import { AsyncLocalStorage } from 'node:async_hooks';
import { z } from 'zod';
import { PlainJobs } from '../../../src/jobs/plain-jobs.js';
import type { Job, JobHandler } from '../../../src/jobs/jobs.js';
import { jobsContract, type JobsWorld } from '../../contracts/jobs.contract.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';

async function openWorld(): Promise<JobsWorld> {
  const results = new MemoryResultStore();
  const processes: PlainJobs[] = [];
  return {
    results,
    async start(handlers) {
      const jobs = new PlainJobs(results, () => undefined);
      processes.push(jobs);
      await jobs.start(handlers);
      return jobs;
    },
    async close() {
      for (const jobs of processes) await jobs.close(0);
    },
  };
}

describe('jobs as plain calls', () => {
  jobsContract(openWorld);

  interface World {
    readonly jobs: PlainJobs;
    readonly begun: string[];
    readonly end: (name: string) => Promise<void>;
    readonly submit: (name: string, line?: string) => void;
  }

  /** Jobs that end when they are told to. */
  function world(atOnce: number, onBegin: () => void = () => undefined): World {
    const jobs = new PlainJobs(new MemoryResultStore(), () => undefined);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const handler: JobHandler<string> = {
      kind: 'held',
      payload: z.string(),
      result: null,
      atOnce: 2 * atOnce,
      atOnceOfLine: atOnce,
      perform: (name) => {
        begun.push(name);
        onBegin();
        return new Promise<void>((resolve) => ends.set(name, resolve));
      },
    };
    void jobs.start([handler]);
    return {
      jobs,
      begun,
      async end(name) {
        ends.get(name)?.();
        await tick();
      },
      submit(name, line = '') {
        const job: Job = { kind: 'held', key: name, payload: name, turn: { line, of: 1 } };
        void jobs.submit(job);
      },
    };
  }

  const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

  it('begin one of somebody who has none before 500 that were there first, though their places are taken', async () => {
    const { begun, end, submit } = world(2);
    for (let n = 0; n < 500; n += 1) submit(`many-${n}`, 'many');
    submit('few-0', 'few');
    await tick();
    expect(begun).toEqual(['many-0', 'many-1', 'few-0']);
    await end('many-0');
    expect(begun.slice(3)).toEqual(['many-2']);
    for (let n = 0; n < 9; n += 1) submit(`run-${n}`, `line-${n}`);
    await tick();
    expect(begun).toHaveLength(5);
  });

  it('are done once more when they are asked for while they are under way, and not after the end', async () => {
    const { jobs, begun, end, submit } = world(1);
    for (let n = 0; n < 3; n += 1) submit('a');
    await tick();
    expect(begun).toEqual(['a']);
    await end('a');
    expect(begun).toEqual(['a', 'a']);
    const closed = jobs.close(1_000);
    await end('a');
    await closed;
    submit('b');
    await tick();
    expect(begun).toEqual(['a', 'a']);
  });

  it('work in the context of who asked, not of whose end made room', async () => {
    const asker = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const { end, submit } = world(1, () => seen.push(asker.getStore()));
    for (const name of ['a', 'b']) {
      asker.run(name, () => {
        submit(name);
      });
    }
    await tick();
    await end('a');
    expect(seen).toEqual(['a', 'b']);
  });
});
