import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as tick } from 'node:timers/promises';
import { InProcessRunQueue } from '../../../src/jobs/in-process-run-queue.js';

/** A queue whose runs end when they are told to. */
function world(runsAtOnce: number) {
  const queue = new InProcessRunQueue(runsAtOnce);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  queue.onRun(
    (id) =>
      new Promise((end) => {
        begun.push(id);
        ends.set(id, end);
      }),
  );
  const end = async (id: string): Promise<void> => {
    ends.get(id)?.();
    await tick();
  };
  return { queue, begun, end };
}

it('begins the run of somebody who has none before 500 that were there first, though all places are taken', async () => {
  const { queue, begun, end } = world(2);
  for (let n = 0; n < 500; n += 1) queue.submit(`many-${n}`, 'many');
  queue.submit('few-0', 'few');
  queue.submit('few-1', 'few');
  expect(begun).toEqual(['many-0', 'many-1', 'few-0']);
  await end('many-0');
  expect(begun).toEqual(['many-0', 'many-1', 'few-0']);
  await end('many-1');
  expect(begun.slice(3)).toEqual(['many-2']);
  await end('few-0');
  expect(begun.slice(4)).toEqual(['few-1']);
  for (let n = 2; n < 6; n += 1) await end(`many-${n}`);
  expect(begun.slice(5)).toEqual(['many-3', 'many-4', 'many-5', 'many-6']);
});

it('has no more than twice its places, whoever comes', () => {
  const { queue, begun } = world(2);
  for (let n = 0; n < 9; n += 1) queue.submit(`run-${n}`, `submitter-${n}`);
  expect(begun).toHaveLength(4);
});

it('does one run once at a time, again when asked for meanwhile, and nothing after the end', async () => {
  const { queue, begun, end } = world(1);
  for (let n = 0; n < 3; n += 1) queue.submit('a', '');
  expect(begun).toEqual(['a']);
  await end('a');
  expect(begun).toEqual(['a', 'a']);
  queue.submit('b', '');
  const closed = queue.close();
  await end('a');
  await closed;
  queue.submit('c', '');
  expect(begun).toEqual(['a', 'a']);
});

it('works in the context of who asked, not of whose end made room', async () => {
  const asker = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const queue = new InProcessRunQueue(1);
  queue.onRun(async () => {
    seen.push(asker.getStore());
    await tick();
  });
  for (const name of ['a', 'b']) {
    asker.run(name, () => {
      queue.submit(name, '');
    });
  }
  while (seen.length < 2) await tick();
  expect(seen).toEqual(['a', 'b']);
});
