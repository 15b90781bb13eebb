import { z } from 'zod';
import { Claims } from '../../../src/core/async/concurrency.js';
import type { Job, JobHandler } from '../../../src/jobs/jobs.js';
import type { QueueServer } from '../../../src/jobs/queue-server.js';
import { QueueWorker } from '../../../src/jobs/queue-worker.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { until } from '../../fixtures/run-world.js';

type Deliver = (delivery: unknown, token: string) => Promise<void>;

/** As much of BullMQ as shows what is asked of it; jobs are delivered by the test. The rest: test/long/jobs. */
class FakeServer {
  deliver: Deliver = () => Promise.reject(new Error('no worker'));
  /** Locks whose renewal was asked for at each beat. */
  readonly renewed: (readonly string[])[] = [];
  readonly removed: string[] = [];
  reachable: Promise<void> = Promise.resolve();

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
      readonly add = () => fake.reachable;
      readonly remove = (key: string) => Promise.resolve(fake.removed.push(key));
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
});
