import { setImmediate as tick } from 'node:timers/promises';
import { inRun, FairSemaphore } from '../../../../src/core/async/concurrency.js';

const quiet = new AbortController().signal;

/** Takes a place for a run, notes that it has it, and gives it back. */
function call(slots: FairSemaphore, run: string, order: string[]): Promise<void> {
  return inRun(run, async () => {
    const release = await slots.take(quiet);
    order.push(run);
    await tick();
    release();
    release();
  });
}

it('serves a run that comes later after one call of each other, and keeps the order within a run', async () => {
  const slots = new FairSemaphore(2);
  const order: string[] = [];
  const large = Array.from({ length: 96 }, () => call(slots, 'large', order));
  const later = Array.from({ length: 3 }, () => call(slots, 'later', order));
  await Promise.all([...large, ...later]);
  expect(order).toHaveLength(99);
  expect(order.slice(0, 8)).toEqual(['large', 'large', 'large', 'later', 'large', 'later', 'large', 'later']);
});

it('passes over who gave up, and never has more than its places', async () => {
  const slots = new FairSemaphore(1);
  const order: string[] = [];
  const release = await slots.take(quiet);
  const gone = new AbortController();
  const given = inRun('a', () => slots.take(gone.signal));
  const waiting = [call(slots, 'a', order), call(slots, 'b', order)];
  gone.abort(new Error('gave up'));
  await expect(given).rejects.toThrow('gave up');
  await tick();
  expect(order).toEqual([]);
  release();
  await Promise.all(waiting);
  expect(order).toEqual(['a', 'b']);
});
