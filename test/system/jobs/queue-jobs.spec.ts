import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { startCluster, type Cluster } from '../../../scripts/setup/postgres.mjs';
import { type Redis, startRedis } from '../../../scripts/setup/redis.mjs';
import type { JobHandler } from '../../../src/jobs/jobs.js';
import { QueueJobs } from '../../../src/jobs/queue-jobs.js';
import { openQueueServer } from '../../../src/jobs/queue-server.js';
import { jobsContract, type JobsWorld } from '../../contracts/jobs.contract.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { until } from '../../fixtures/run-world.js';

let cluster: Cluster;
let redis: Redis;
beforeAll(async () => {
  [cluster, redis] = await Promise.all([startCluster(), startRedis()]);
}, 60_000);
afterAll(async () => {
  await Promise.all([cluster.destroy(), redis.destroy()]);
});

const NEVER = new AbortController().signal;
const QUIET = { warn: () => undefined, error: () => undefined };

async function openWorld(url: string): Promise<JobsWorld & { readonly setup: string }> {
  const results = new MemoryResultStore();
  const setup = randomUUID().slice(0, 8);
  const processes: QueueJobs[] = [];
  return {
    setup,
    results,
    async start(handlers) {
      const jobs = new QueueJobs({ server: await openQueueServer(url), results, setup, log: QUIET });
      processes.push(jobs);
      await jobs.start(handlers);
      return jobs;
    },
    async close() {
      for (const jobs of processes) await jobs.close(0);
    },
  };
}

describe('jobs through BullMQ on PostgreSQL', () => {
  jobsContract(() => openWorld(cluster.url));
});

describe('jobs through BullMQ on Redis', () => {
  jobsContract(() => openWorld(redis.url));
});

describe('a server that does not take us', () => {
  it.each([
    ['PostgreSQL', () => cluster.url.replace(/:[^:@/]*@/, ':wrong@')],
    ['Redis', () => redis.url.replace('tested', 'wrong')],
  ])('is told of at the start: %s', async (_which, url) => {
    await expect(openQueueServer(url())).rejects.toThrow(/password|WRONGPASS/i);
  });
});

describe('a server that is away', () => {
  it.each([
    ['PostgreSQL', () => cluster],
    ['Redis', () => redis],
  ])('is waited for, and nothing is lost: %s', async (_which, server) => {
    const world = await openWorld(server().url);
    const jobs = await world.start([
      {
        kind: 'double',
        payload: z.number(),
        result: z.number(),
        atOnce: 2,
        perform: (n) => sleep(500, 2 * Number(n)),
      },
    ]);
    const double = (n: number): Promise<number> =>
      jobs.have({ kind: 'double', key: `double ${n}`, payload: n, turn: { line: '', of: 1 } }, z.number(), NEVER);
    const before = [1, 2, 3, 4].map(double);
    await sleep(300);
    await server().stop('SIGKILL');
    const meanwhile = [5, 6].map(double);
    await sleep(1_000);
    await server().start();
    expect(await Promise.all([...before, ...meanwhile])).toEqual([2, 4, 6, 8, 10, 12]);
    await world.close();
  });
});

describe('a process that is lost', () => {
  it.each([
    ['PostgreSQL', () => cluster.url],
    ['Redis', () => redis.url],
  ])('leaves its jobs to others: %s', async (_which, url) => {
    const world = await openWorld(url());
    const begun: string[] = [];
    const handler = (who: string, perform: JobHandler['perform']): JobHandler => ({
      ...{ kind: 'once', payload: z.number(), result: z.number(), atOnce: 1 },
      perform: (payload, work) => (begun.push(`${who} ${work.attempt}`), perform(payload, work)),
    });
    const lost = await openQueueServer(url());
    const cut = new QueueJobs({ server: lost, results: world.results, setup: world.setup, log: QUIET });
    await cut.start([handler('lost', () => new Promise(() => undefined))]);
    await cut.submit({ kind: 'once', key: 'a job', payload: 1, turn: { line: '', of: 1 } });
    await until(() => begun.length === 1);
    // It keeps what it has, and can tell nobody so.
    void lost.close();
    const living = await world.start([handler('living', () => Promise.resolve(7))]);
    const asked = { kind: 'once', key: 'a job', payload: 1, turn: { line: '', of: 1 } };
    expect(await living.have(asked, z.number(), NEVER)).toBe(7);
    expect(begun).toEqual(['lost 1', 'living 2']);
    void cut.close(0);
    await world.close();
  });
});
