import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { Claims } from '../../../src/core/async/concurrency.js';
import { InterruptedError } from '../../../src/core/errors/errors.js';
import type { Job, JobHandler } from '../../../src/jobs/jobs.js';
import { QueueJobs } from '../../../src/jobs/queue-jobs.js';
import type { QueueServer } from '../../../src/jobs/queue-server.js';
import { Envelope, noteKey, QueueWorker } from '../../../src/jobs/queue-worker.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { until } from '../../fixtures/run-world.js';

type Deliver = (delivery: unknown, token: string) => Promise<void>;

/** As much of BullMQ as shows what is asked of it; jobs are delivered by the test. The rest: test/long/jobs. */
class FakeServer {
  deliver: Deliver = () => Promise.reject(new Error('no worker'));
  /** Locks whose renewal was asked for at each beat. */
  readonly renewed: (readonly string[])[] = [];
  readonly added: z.infer<typeof Envelope>[] = [];
  readonly removed: string[] = [];
  reachable: Promise<void> = Promise.resolve();
  /** How long the next removals take; later ones take no time. */
  readonly removing: Promise<void>[] = [];

  tools(results = new MemoryResultStore()) {
    const { Queue, Worker } = this.classes();
    const server = { Queue, Worker, options: {}, ask: () => Promise.resolve(false), close: () => Promise.resolve() };
    const log = { warn: () => undefined, error: () => undefined };
    return { server: server as unknown as QueueServer, results, setup: 's', claims: new Claims(), log };
  }

  private classes() {
    // eslint-disable-next-line @typescript-eslint/no-this-alias
    const fake = this;
    const none = (): Promise<void> => Promise.resolve();
    class Queue {
      readonly on = none;
      readonly close = none;
      readonly getJob = none;
      readonly getPrioritized = () => Promise.resolve([]);
      readonly add = async (_kind: string, envelope: unknown) => {
        await fake.reachable;
        fake.added.push(Envelope.parse(envelope));
      };
      readonly remove = (key: string) => (fake.removed.push(key), fake.removing.shift());
    }
    class Worker {
      readonly on = none;
      readonly pause = none;
      readonly close = none;
      readonly isPaused = () => false;
      readonly isRunning = () => true;
      readonly getBackend = () => ({ moveStalledJobsToWait: none });
      readonly extendJobLocks = (_ids: unknown, tokens: readonly string[]) => (
        fake.renewed.push(tokens),
        Promise.resolve([])
      );

      constructor(_name: string, deliver: Deliver) {
        fake.deliver = deliver;
      }
    }
    return { Queue, Worker };
  }
}

const JOB: Job = { kind: 'double', key: 'a job', payload: 2, turn: { line: '', of: 1 } };
const DELIVERY = { id: JOB.key, attemptsMade: 0, stalledCounter: 0, data: { payload: '2', asked: 'x' } };

function doubling(perform: JobHandler['perform']): JobHandler {
  return { kind: 'double', payload: z.number(), result: z.number(), atOnce: 2, perform };
}

describe('QueueWorker', () => {
  it('keeps renewing the lock of a job that came back to it while its first execution was still stopping', async () => {
    const server = new FakeServer();
    const signals: AbortSignal[] = [];
    const ends: ((result: number) => void)[] = [];
    const handler = doubling((_n, { signal }) => (signals.push(signal), new Promise((resolve) => ends.push(resolve))));
    const worker = new QueueWorker(handler, server.tools());
    const first = server.deliver(DELIVERY, 'first');
    await until(() => signals.length === 1);
    const second = server.deliver(DELIVERY, 'second');
    await until(() => signals.length === 2);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
    ends[0]?.(4);
    await first;
    await worker.beat(false);
    expect(server.renewed).toEqual([['second']]);
    ends[1]?.(4);
    await second;
    await worker.beat(false);
    expect(server.renewed).toHaveLength(1);
  });

  it('reports no failure of a job that another process has by now', async () => {
    const server = new FakeServer();
    const tools = server.tools();
    new QueueWorker(
      doubling(() => Promise.reject(new InterruptedError())),
      tools,
    );
    await expect(server.deliver(DELIVERY, 'lost')).rejects.toThrow('stopped');
    expect(await tools.results.get(noteKey('failed', JOB.key, DELIVERY.data.asked))).toBeUndefined();
  });
});

describe('QueueJobs', () => {
  it('leaves a job to who asked for it after the first one to ask had left', async () => {
    const server = new FakeServer();
    const tools = server.tools();
    const jobs = new QueueJobs(tools);
    let back: () => void = () => undefined;
    server.reachable = new Promise((resolve) => (back = resolve));
    const leaving = new AbortController();
    const first = jobs.have(JOB, z.number(), leaving.signal).catch((error: unknown) => error);
    await turn();
    leaving.abort(new Error('its time is over'));
    expect(await first).toMatchObject({ message: 'its time is over' });
    const second = jobs.have(JOB, z.number(), AbortSignal.timeout(20_000));
    await turn();
    back();
    for (let n = 0; n < 10; n += 1) await turn();
    expect(server.removed).toEqual([]);
    // The queue keeps the first of two jobs with the same key.
    const asked = server.added[0]?.asked ?? '';
    const failure = { code: 'worker-lost', message: 'It was lost.', next: 'Look.' };
    await tools.results.put(noteKey('failed', JOB.key, asked), 'failure', failure);
    await expect(second).rejects.toMatchObject({ code: 'worker-lost' });
    await jobs.close(0);
  });

  it('adds no job while any of its removals is under way', async () => {
    const server = new FakeServer();
    const ends: (() => void)[] = [];
    server.removing.push(...[0, 1].map(() => new Promise<void>((resolve) => ends.push(resolve))));
    const jobs = new QueueJobs(server.tools());
    const first = jobs.cancel(JOB.kind, JOB.key);
    const second = jobs.cancel(JOB.kind, JOB.key);
    ends[0]?.();
    await first;
    const added = jobs.submit(JOB);
    for (let n = 0; n < 10; n += 1) await turn();
    expect(server.added).toEqual([]);
    ends[1]?.();
    await Promise.all([second, added]);
    expect(server.added).toHaveLength(1);
    await jobs.close(0);
  });

  it('looks for results once at a time, however many waits there were before', async () => {
    const tools = new FakeServer().tools();
    const jobs = new QueueJobs(tools);
    const have = (key: string): Promise<number> => jobs.have({ ...JOB, key }, z.number(), new AbortController().signal);
    for (let n = 0; n < 5; n += 1) {
      const asked = have(`job ${n}`);
      await turn();
      await tools.results.put(`job ${n}`, JOB.kind, n);
      expect(await asked).toBe(n);
    }
    let looks = 0;
    let answer: () => void = () => undefined;
    const answering = new Promise<void>((resolve) => (answer = resolve));
    const { results } = tools;
    const getAll = results.getAll.bind(results);
    results.getAll = (keys) => ((looks += 1), answering.then(() => getAll(keys)));
    const last = have('last');
    await results.put('last', JOB.kind, 5);
    await sleep(500);
    expect(looks).toBe(1);
    answer();
    expect(await last).toBe(5);
    await jobs.close(0);
  });
});
