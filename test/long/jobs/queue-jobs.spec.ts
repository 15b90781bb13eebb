import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { startCluster, type Cluster } from '../../../scripts/setup/postgres.mjs';
import { type Redis, startRedis } from '../../../scripts/setup/redis.mjs';
import { Claims } from '../../../src/core/async/concurrency.js';
import { EngineUnavailableError } from '../../../src/core/errors/unavailable.js';
import type { Job, JobHandler } from '../../../src/jobs/jobs.js';
import { QueueJobs } from '../../../src/jobs/queue-jobs.js';
import { openQueueServer, type QueueServer } from '../../../src/jobs/queue-server.js';
import { queueName } from '../../../src/jobs/queue-worker.js';
import { jobsContract, type JobsWorld } from '../../contracts/jobs.contract.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { until } from '../../fixtures/run-world.js';
import { rolloutWorld, runs } from '../../unit/agent/rollout-world.js';
import { TRIES } from '../../../src/core/async/retries.js';

let cluster: Cluster;
let redis: Redis;
beforeAll(async () => {
  [cluster, redis] = await Promise.all([startCluster(), startRedis()]);
}, 60_000);
afterAll(async () => {
  await Promise.all([cluster.destroy(), redis.destroy()]);
});

const NEVER = new AbortController().signal;
/** A third of what processes take: whoever is late by more than a second loses its lock. */
const PACE = { beatMs: 700, lockMs: 2_400, restMs: 500, backOffMs: 200, quietMs: 1_700 };
const QUIET = { warn: () => undefined, error: () => undefined };

type World = JobsWorld & { readonly setup: string };

async function openWorld(url: string): Promise<World> {
  const results = new MemoryResultStore();
  const setup = randomUUID().slice(0, 8);
  const processes: QueueJobs[] = [];
  return {
    setup,
    results,
    async start(handlers) {
      const jobs = new QueueJobs({
        server: await openQueueServer(url),
        results,
        setup,
        claims: new Claims(),
        log: QUIET,
        pace: PACE,
      });
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

  it('is told of at the start: a schema that a later BullMQ made', async () => {
    await (await openQueueServer(cluster.url)).close();
    const later = '(select max(version) from bullmq.migration)';
    await cluster.sql(`update bullmq.migration set min_client_version = 99 where version = ${later}`);
    await expect(openQueueServer(cluster.url)).rejects.toThrow(/version 99/);
    await cluster.sql(`update bullmq.migration set min_client_version = 6 where version = ${later}`);
    await (await openQueueServer(cluster.url)).close();
  });
});

it.each([
  ['PostgreSQL', () => cluster.url],
  ['Redis', () => redis.url],
])('a rollout whose engine is away is tried three times in all, and not three times three: %s', async (_which, url) => {
  const world = await openWorld(url());
  const sandbox = new FakeSandbox(() => exited(0));
  for (let nth = 1; nth <= 20; nth += 1) sandbox.failOpen(nth, new EngineUnavailableError('down'));
  // As PartHandlers has it done.
  const part = rolloutWorld({}, { sandbox, tries: 1 });
  const jobs = await world.start([
    { kind: 'rollout', payload: z.number(), result: z.object({}), atOnce: 1, perform: () => part.run([runs('a')]) },
  ]);
  const asked = { kind: 'rollout', key: 'rollout 1', payload: 1, turn: { line: '', of: 1 } };
  await expect(jobs.have(asked, z.unknown(), NEVER)).rejects.toMatchObject({ code: 'engine-unavailable' });
  expect(sandbox.opens).toBe(TRIES);
  await world.close();
});

describe.each([
  ['PostgreSQL', () => cluster.url],
  ['Redis', () => redis.url],
])('what nobody here can do: %s', (_which, url) => {
  const handler = (kind: string, by = (n: number): number => n): JobHandler => ({
    ...{ kind, payload: z.number(), result: z.number(), atOnce: 1 },
    perform: async (n) => by(Number(n)),
  });
  const asked = (kind: string, key: string): Job => ({ kind, key, payload: 2, turn: { line: '', of: 1 } });

  it('a job of an unknown kind waits for a process that knows it', async () => {
    const world = await openWorld(url());
    const old = await world.start([handler('known')]);
    const waiting = old.have(asked('new', 'n'), z.number(), NEVER);
    expect(await old.have(asked('known', 'k'), z.number(), NEVER)).toBe(2);
    await world.start([handler('new', (n) => -n)]);
    expect(await waiting).toBe(-2);
    await world.close();
  });

  it('what is no job of ours harms nobody', async () => {
    const world = await openWorld(url());
    const server = await openQueueServer(url());
    const queue = new server.Queue(queueName('known', world.setup), { ...server.options });
    for (const [n, data] of [null, 7, { payload: '{', asked: 1 }, { payload: '{', asked: 'x' }].entries()) {
      await queue.add('known', data, { jobId: `strange ${n}` });
    }
    const jobs = await world.start([handler('known')]);
    expect(await jobs.have(asked('known', 'k'), z.number(), NEVER)).toBe(2);
    await until(async () => (await queue.getJobCountByTypes('waiting', 'active', 'prioritized')) === 0);
    await queue.close();
    await server.close();
    await world.close();
  });

  it('jobs under other settings are left to those who have them', async () => {
    const [ours, theirs] = [await openWorld(url()), await openWorld(url())];
    const mine = await ours.start([handler('known', () => 1)]);
    const waiting = mine.have(asked('known', 'k'), z.number(), NEVER);
    const other = await theirs.start([handler('known', () => -1)]);
    expect(await waiting).toBe(1);
    expect(await other.have(asked('known', 'k'), z.number(), NEVER)).toBe(-1);
    await ours.close();
    await theirs.close();
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

  it('is waited for at the start, too: Redis', async () => {
    await redis.stop('SIGKILL');
    const opening = openWorld(redis.url).then(async (world) => ({ world, jobs: await world.start([]) }));
    await sleep(500);
    await redis.start();
    const { world, jobs } = await opening;
    await jobs.submit({ kind: 'later', key: 'a job', payload: 1, turn: { line: '', of: 1 } });
    await world.close();
  });
});

it('a process that ends keeps what it lets come to its end, for longer than locks last', async () => {
  const world = await openWorld(cluster.url);
  const begun: string[] = [];
  const handler = (who: string): JobHandler => ({
    ...{ kind: 'long', payload: z.number(), result: z.number(), atOnce: 1 },
    perform: (n) => (begun.push(who), sleep(PACE.lockMs + 2 * PACE.beatMs, Number(n))),
  });
  const ending = await world.start([handler('ending')]);
  const asked = { kind: 'long', key: 'a job', payload: 7, turn: { line: '', of: 1 } };
  await ending.submit(asked);
  await until(() => begun.length === 1);
  const living = await world.start([handler('living')]);
  await ending.close(60_000);
  expect(await living.have(asked, z.number(), NEVER)).toBe(7);
  expect(begun).toEqual(['ending']);
  await world.close();
});

describe('a process that is lost', () => {
  const openCut = ({ results, setup }: World, server: QueueServer, claims = new Claims()): QueueJobs =>
    new QueueJobs({ server, results, setup, claims, log: QUIET, pace: PACE });

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
    const claims = new Claims();
    const cut = openCut(world, lost, claims);
    await cut.start([handler('lost', () => new Promise(() => undefined))]);
    await cut.submit({ kind: 'once', key: 'a job', payload: 1, turn: { line: '', of: 1 } });
    await until(() => begun.length === 1);
    // It keeps what it has, and can tell nobody so.
    void lost.close();
    const living = await world.start([handler('living', () => Promise.resolve(7))]);
    const asked = { kind: 'once', key: 'a job', payload: 1, turn: { line: '', of: 1 } };
    expect(await living.have(asked, z.number(), NEVER)).toBe(7);
    expect(begun).toEqual(['lost 1', 'living 2']);
    const paying = claims.certain(AbortSignal.timeout(300));
    await expect(paying).rejects.toMatchObject({ name: 'TimeoutError' });
    void cut.close(0);
    await world.close();
  });

  it('is not the fifth over one job: that is told to have failed', async () => {
    const world = await openWorld(cluster.url);
    const lost = await openQueueServer(cluster.url);
    const cut = openCut(world, lost);
    let begun = 0;
    const deadly: JobHandler = {
      ...{ kind: 'deadly', payload: z.number(), result: z.number(), atOnce: 1 },
      perform: () => ((begun += 1), new Promise(() => undefined)),
    };
    const asker = await world.start([]);
    const asked = { kind: 'deadly', key: 'kills', payload: 1, turn: { line: '', of: 1 } };
    const failed = expect(asker.have(asked, z.number(), NEVER)).rejects.toMatchObject({ code: 'worker-lost' });
    await cut.start([deadly]);
    await until(() => begun === 1);
    await cluster.sql(`update bullmq.job set stalled_count = 4 where id = 'kills'`);
    void lost.close();
    await world.start([deadly]);
    await failed;
    expect(begun).toBe(1);
    void cut.close(0);
    await world.close();
  });
});
