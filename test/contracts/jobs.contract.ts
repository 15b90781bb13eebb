import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { contentKey } from '../../src/core/identifier.js';
import { InterruptedError } from '../../src/core/errors/errors.js';
import { EngineUnavailableError, ImageMissingError } from '../../src/core/errors/unavailable.js';
import { TRIES } from '../../src/core/async/retries.js';
import { type Job, type JobHandler, type Jobs, NotNowError, type Work } from '../../src/jobs/jobs.js';
import { OpenAiLlmClient } from '../../src/models/openai/client.js';
import type { ResultStore } from '../../src/ports/result-store.js';
import { completionRequest } from '../fakes/completions.js';
import { ModelServer } from '../fakes/model-server.js';
import { until } from '../fixtures/run-world.js';

export interface JobsWorld {
  readonly results: ResultStore;
  /** A process that takes jobs. */
  start(handlers: readonly JobHandler[]): Promise<Jobs>;
  close(): Promise<void>;
}

const NEVER = new AbortController().signal;
type Perform = (n: number, work: Work) => Promise<unknown>;

/** Squares numbers, where nothing else is said. */
function squares(perform: Perform = async (n) => n * n, more: Partial<JobHandler> = {}): JobHandler {
  const wide = (payload: unknown, work: Work): Promise<unknown> => perform(Number(payload), work);
  return { kind: 'square', payload: z.number(), result: z.number(), atOnce: 4, perform: wide, ...more };
}

function square(n: number, line = ''): Job {
  return { kind: 'square', key: contentKey(['square', n]), payload: n, turn: { line, of: 1 } };
}

/** What every engine promises. */
export function jobsContract(open: () => Promise<JobsWorld>): void {
  let world: JobsWorld;
  beforeEach(async () => {
    world = await open();
  });
  afterEach(async () => {
    await world.close();
  });
  const have = (jobs: Jobs, job: Job, signal = NEVER): Promise<number> => jobs.have(job, z.number(), signal);

  it('does a job once, however many ask, and keeps its result under its key', async () => {
    const done: number[] = [];
    const jobs = await world.start([squares(async (n) => (done.push(n), await sleep(50), n * n))]);
    await jobs.submit(square(3));
    expect(await Promise.all([1, 2, 3].map(() => have(jobs, square(3))))).toEqual([9, 9, 9]);
    expect(await have(jobs, square(3))).toBe(9);
    expect(await world.results.get(square(3).key)).toBe(9);
    expect(done).toEqual([3]);
  });

  it('takes from the store what another did', async () => {
    await world.results.put(square(4).key, 'square', 16);
    const jobs = await world.start([squares(() => Promise.reject(new Error('not again')))]);
    expect(await have(jobs, square(4))).toBe(16);
  });

  it('gives a handler the payload as it is, whatever stands in it', async () => {
    const hostile = { text: 'a\0b \ud800 \u{1f600} "\\', deep: [[{}]] };
    const seen: unknown[] = [];
    const echo = squares(undefined, {
      payload: z.json(),
      perform: async (payload) => (seen.push(payload), 1),
    });
    const jobs = await world.start([echo]);
    await have(jobs, { ...square(1), payload: hostile });
    expect(seen).toEqual([hostile]);
  });

  it('tells a failure in its words, and tries again when it is asked again', async () => {
    let image = false;
    const jobs = await world.start([
      squares(async (n) => (image ? n * n : Promise.reject(new ImageMissingError('my/image:1')))),
    ]);
    await expect(have(jobs, square(2))).rejects.toMatchObject({
      code: 'image-missing',
      message: expect.stringContaining('my/image:1') as string,
      next: expect.stringContaining('docker pull') as string,
    });
    image = true;
    expect(await have(jobs, square(2))).toBe(4);
  });

  it('tries an infrastructure failure three times in all, and no other', async () => {
    const attempts: number[] = [];
    const jobs = await world.start([
      squares(async (n, { attempt }) => {
        attempts.push(attempt);
        throw n === 1 ? new EngineUnavailableError('no socket') : new TypeError('secret detail');
      }),
    ]);
    await expect(have(jobs, square(1))).rejects.toMatchObject({ code: 'engine-unavailable' });
    expect(attempts).toEqual([1, 2, 3]);
    expect(TRIES).toBe(3);
    await expect(have(jobs, square(2))).rejects.toThrow();
    expect(attempts).toHaveLength(4);
  });

  it('leaves trying a model again to its client', async () => {
    const server = await ModelServer.start(() => ({ status: 500, json: { error: { message: 'boom' } } }));
    const { baseUrl } = server;
    const pause = (): Promise<void> => Promise.resolve();
    const client = new OpenAiLlmClient({ baseUrl, concurrency: 1, timeoutS: 5, maxRetries: 1, pause });
    const jobs = await world.start([
      squares((_n, { signal }) => client.complete(completionRequest(), signal), { result: z.object({}) }),
    ]);
    await expect(have(jobs, square(1))).rejects.toMatchObject({
      code: 'model-unavailable',
      message: expect.stringContaining('boom (2 attempts)') as string,
    });
    await server.close();
    expect(server.calls).toHaveLength(2);
  });

  it('does what is not now a little later, and does not count it', async () => {
    const attempts: number[] = [];
    const jobs = await world.start([
      squares(async (n, { attempt }) => {
        attempts.push(attempt);
        if (attempts.length <= TRIES + 1) throw new NotNowError(10);
        return n * n;
      }),
    ]);
    expect(await have(jobs, square(5))).toBe(25);
    expect(attempts).toEqual([1, 1, 1, 1, 1]);
  });

  it('tells of a payload that it cannot read, and goes on with the others', async () => {
    const jobs = await world.start([squares()]);
    const poisoned = have(jobs, { ...square(1), payload: 'one' });
    await expect(poisoned).rejects.toMatchObject({
      code: 'bad-input',
      message: expect.stringContaining('square') as string,
    });
    expect(await have(jobs, square(2))).toBe(4);
  });

  it('does as many at once as the kind has places', async () => {
    let now = 0;
    let most = 0;
    const jobs = await world.start([
      squares(async (n) => {
        most = Math.max(most, ++now);
        await sleep(50);
        now -= 1;
        return n * n;
      }),
    ]);
    await Promise.all(Array.from({ length: 12 }, (_, n) => have(jobs, square(n))));
    expect(most).toBe(4);
  });

  it('lets lines take turns, however many jobs one of them has', async () => {
    const order: number[] = [];
    const handler = squares(async (n) => (order.push(n), await sleep(300), n * n), { atOnce: 1 });
    const jobs = await world.start([handler]);
    const many = Array.from({ length: 10 }, (_, n) => have(jobs, square(n, 'many')));
    await until(() => order.length === 2);
    const few = [20, 21].map((n) => have(jobs, square(n, 'few')));
    await Promise.all([...many, ...few]);
    // At most two begin before the first of the newcomer, and one more before its second.
    expect(order.indexOf(20)).toBeLessThanOrEqual(4);
    expect(order.indexOf(21)).toBeLessThanOrEqual(6);
  });

  it('does not go on with what nobody waits for any more', async () => {
    const begun: number[] = [];
    const stopped: number[] = [];
    const jobs = await world.start([
      squares(
        async (n, { signal }) => {
          begun.push(n);
          await sleep(20_000, undefined, { signal }).catch(() => stopped.push(n));
          return (signal.throwIfAborted(), n);
        },
        { atOnce: 1 },
      ),
    ]);
    const gone = new AbortController();
    const waits = [1, 2].map((n) => have(jobs, square(n), gone.signal).catch((error: unknown) => error));
    await until(() => begun.length === 1);
    gone.abort(new Error('nobody waits'));
    for (const ended of await Promise.all(waits)) expect(ended).toMatchObject({ message: 'nobody waits' });
    // One that was taken in the same moment is stopped a little later.
    await sleep(300);
    await until(() => stopped.length === begun.length);
    expect(await world.results.getAll([square(1).key, square(2).key])).toEqual(new Map());
  });

  it('cancels what was submitted, and does it again when it is submitted again', async () => {
    const begun: number[] = [];
    const jobs = await world.start([
      squares(async (n, { signal }) => {
        begun.push(n);
        if (begun.length === 1) await sleep(20_000, undefined, { signal });
        return n * n;
      }),
    ]);
    await jobs.submit(square(7));
    await until(() => begun.length === 1);
    await jobs.cancel('square', square(7).key);
    await jobs.submit(square(7));
    await until(async () => (await world.results.get(square(7).key)) === 49);
    expect(begun).toEqual([7, 7]);
  });

  it('waits with what its kind is not ready for', async () => {
    let ready = false;
    const jobs = await world.start([squares(undefined, { mayBegin: async () => ready })]);
    const waiting = have(jobs, square(6));
    await sleep(200);
    expect(await world.results.get(square(6).key)).toBeUndefined();
    ready = true;
    expect(await waiting).toBe(36);
  });

  it('closes: what is under way may end, the rest stops, and who waits is told', async () => {
    let begun = 0;
    let drained = false;
    const jobs = await world.start([
      squares(
        async (n, { signal }) => {
          begun += 1;
          if (n === 1) await sleep(300).then(() => (drained = true));
          else await sleep(20_000, undefined, { signal });
          return n;
        },
        { atOnce: 2 },
      ),
    ]);
    const [short, long, waiting] = [1, 2, 3].map((n) => have(jobs, square(n)).catch((error: unknown) => error));
    await until(() => begun === 2);
    await jobs.close(1_000);
    expect(drained).toBe(true);
    expect(await short).toBe(1);
    expect(await long).toBeInstanceOf(InterruptedError);
    expect(await waiting).toBeInstanceOf(InterruptedError);
  });
}
