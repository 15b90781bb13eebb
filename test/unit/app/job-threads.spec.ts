import { JobThreads } from '../../../src/app/threads/job-threads.js';

const threads = (code: string, longestMs = 60_000): JobThreads<object, unknown> =>
  new JobThreads(new URL(`data:text/javascript,${encodeURIComponent(code)}`), longestMs);

const ANSWER = `
  import { parentPort, workerData } from 'node:worker_threads';
  parentPort.postMessage({ made: workerData });`;
/** Nothing holds it, and nothing was said. */
const SILENCE = 'await new Promise(() => undefined);';

describe('jobs in threads', () => {
  it('come back with what was made', async () => {
    expect(await threads(ANSWER).run({ n: 1 })).toEqual({ n: 1 });
  });

  it('fail when their thread does, and when it ends without a word, and the next one is done', async () => {
    const jobs = threads(`
      import { workerData } from 'node:worker_threads';
      if (workerData.throws) throw new Error('no such thing');
      ${SILENCE}`);
    const [thrown, silent] = await Promise.allSettled([jobs.run({ throws: true }), jobs.run({ throws: false })]);
    expect(thrown).toMatchObject({ status: 'rejected', reason: { message: 'no such thing' } });
    expect(silent).toMatchObject({
      status: 'rejected',
      reason: { message: expect.stringMatching(/without an answer/) as string },
    });
  });

  it('are killed whatever they do when nobody waits for them, and the next one is done', async () => {
    const jobs = threads(`
      import { parentPort, workerData } from 'node:worker_threads';
      while (workerData.forever) {}
      parentPort.postMessage({ made: 'next' });`);
    const stop = new AbortController();
    const busy = jobs.run({ forever: true }, stop.signal);
    const next = jobs.run({ forever: false });
    setTimeout(() => {
      stop.abort(new Error('nobody waits'));
    }, 50);
    await expect(busy).rejects.toThrow('nobody waits');
    expect(await next).toBe('next');
  });

  it('are killed when they take too long', async () => {
    await expect(threads('while (true) {}', 50).run({})).rejects.toMatchObject({ code: 'bad-input' });
  });
});
