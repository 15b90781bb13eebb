import { setTimeout as sleep } from 'node:timers/promises';
import { BadInputError, InterruptedError } from '../../../src/core/errors/errors.js';
import { RunConflictError, RunNotFoundError } from '../../../src/core/errors/errors.js';
import { EngineUnavailableError, StoreUnavailableError } from '../../../src/core/errors/unavailable.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import type { RunEvent } from '../../../src/ports/run-store.js';
import { ScriptedExecutor, untilStopped } from '../../fakes/scripted-executor.js';
import { GivenResources } from '../../fakes/given-room.js';
import { journal, processOn, told, until } from '../../fixtures/run-world.js';

const threeSteps = new ScriptedExecutor(async (run, emit) => {
  for (const n of [1, 2, 3]) await emit('step', { n });
  return { answered: run.request };
});

describe('a run', () => {
  it('is worked on, journalled and answered', async () => {
    const { runs } = processOn(new MemoryRunStore(), threeSteps);
    const { id, status } = await runs.submit('k', 'question');
    expect(status).toBe('queued');
    expect(told(await journal(runs, id))).toEqual(['queued', 'running', 'step', 'step', 'step', 'done']);
    expect(await runs.get(id)).toMatchObject({ status: 'done', result: { answered: 'question' }, failure: null });
  });

  it('is done once, however often it is asked for', async () => {
    const executor = new ScriptedExecutor(async () => 'done');
    const { runs } = processOn(new MemoryRunStore(), executor);
    const asked = await Promise.all(Array.from({ length: 5 }, () => runs.submit('k', 1)));
    await journal(runs, asked[0]?.id ?? '');
    await runs.submit('k', 1);
    await sleep(20);
    expect(new Set(asked.map(({ id }) => id)).size).toBe(1);
    expect(executor.started).toHaveLength(1);
    await expect(runs.submit('k', 2)).rejects.toThrow(BadInputError);
  });

  it('tells a known failure in its own words', async () => {
    const known = new ScriptedExecutor(async () => Promise.reject(new EngineUnavailableError('no socket')));
    const { runs, logged } = processOn(new MemoryRunStore(), known);
    const { id } = await runs.submit('k', 1);
    expect(told(await journal(runs, id))).toEqual(['queued', 'running', 'failed']);
    const { failure } = await runs.get(id);
    expect(failure).toMatchObject({
      code: 'engine-unavailable',
      message: expect.stringContaining('no socket') as string,
    });
    expect(logged).toEqual([]);
  });

  it('is not ended by a store that is away, but goes on a little later', async () => {
    const executor: ScriptedExecutor = new ScriptedExecutor(async () =>
      executor.started.length === 1 ? Promise.reject(new StoreUnavailableError('the disk is full')) : 'done',
    );
    const { runs, logged } = processOn(new MemoryRunStore(), executor);
    const { id } = await runs.submit('k', 1);
    expect(told(await journal(runs, id))).toEqual(['queued', 'running', 'queued', 'running', 'done']);
    expect(logged).toEqual([]);
  });

  it('is refused while the disk of the store is low', async () => {
    const store = new MemoryRunStore();
    const { runs } = processOn(store, new ScriptedExecutor(), { room: new GivenResources({ store: 1 }) });
    await expect(runs.submit('k', 1)).rejects.toMatchObject({ code: 'disk-low' });
    expect((await store.list(1, null)).runs).toEqual([]);
  });

  it('is ended by a store that will not have it', async () => {
    const refused = new StoreUnavailableError('too large', { retryable: false });
    const { runs } = processOn(new MemoryRunStore(), new ScriptedExecutor(async () => Promise.reject(refused)));
    const { id } = await runs.submit('k', 1);
    expect(told(await journal(runs, id))).toEqual(['queued', 'running', 'failed']);
  });

  it.each([
    ['too long for any text', new RangeError('Invalid string length')],
    ['too large for the store', new StoreUnavailableError('string or blob too big', { retryable: false })],
    ['a value that JSON does not have', new TypeError('Do not know how to serialize a BigInt')],
  ])('whose result is %s has failed, with the reason', async (_what, error) => {
    class RefusingStore extends MemoryRunStore {
      override update(...[id, change, onlyIf]: Parameters<MemoryRunStore['update']>): Promise<boolean> {
        return change.result === undefined ? super.update(id, change, onlyIf) : Promise.reject(error);
      }
    }
    const { runs, logged } = processOn(new RefusingStore(), new ScriptedExecutor(async () => 'done'));
    const { id } = await runs.submit('k', 1);
    expect(told(await journal(runs, id))).toEqual(['queued', 'running', 'failed']);
    const { failure, result } = await runs.get(id);
    const message = expect.stringContaining(error.message) as string;
    expect([failure, result]).toMatchObject([{ code: 'unstorable-result', message }, null]);
    expect(logged).toEqual([]);
  });

  it('keeps the inside of an unknown failure for the log', async () => {
    const defect = new ScriptedExecutor(async () => Promise.reject(new TypeError('secret detail')));
    const { runs, logged } = processOn(new MemoryRunStore(), defect);
    const { id } = await runs.submit('k', 1);
    await journal(runs, id);
    const { failure } = await runs.get(id);
    expect(failure?.code).toBe('internal');
    expect(JSON.stringify(failure)).not.toContain('secret');
    expect(logged.join()).toContain('secret detail');
  });

  it('waits while as many as allowed are worked on', async () => {
    const executor = new ScriptedExecutor(async () => sleep(20, 'done'));
    const { runs } = processOn(new MemoryRunStore(), executor, { atOnce: 2 });
    const asked = await Promise.all(Array.from({ length: 6 }, (_, n) => runs.submit(`k${n}`, n)));
    await Promise.all(asked.map(({ id }) => journal(runs, id)));
    expect(executor.mostAtOnce).toBe(2);
    expect(executor.started).toEqual(asked.map(({ id }) => id));
  });

  it('of others waits in the queue while the machine is low, and is begun by itself when there is room', async () => {
    const room = new GivenResources({ memory: 1 });
    const executor = new ScriptedExecutor(async () => 'done');
    const { runs } = processOn(new MemoryRunStore(), executor, { room });
    const { id } = await runs.submit('k', 1);
    await sleep(100);
    expect((await runs.get(id)).status).toBe('queued');
    room.free.memory = Infinity;
    expect(told(await journal(runs, id))).toEqual(['queued', 'running', 'done']);
  });

  it('of a command is begun in any case, so that it hears why it cannot be done', async () => {
    const low = { room: new GivenResources({ engine: 1 }) };
    const { runs, worker } = processOn(new MemoryRunStore(), new ScriptedExecutor(async () => 'done'), low);
    const { id } = await runs.accept('k', 1, { alone: true });
    const heard: string[] = [];
    const told = { told: ({ type }: RunEvent) => void heard.push(type), waiting: () => undefined };
    await worker.workAlone(id, new AbortController().signal, told);
    expect((await runs.get(id)).status).toBe('done');
  });

  it('of a command waits for the process that has it', async () => {
    const store = new MemoryRunStore();
    const { runs, worker } = processOn(store, new ScriptedExecutor(async () => 'done'));
    const { id } = await runs.accept('k', 1, { alone: true });
    await store.claim(id, 'host/42/x');
    const waited: string[] = [];
    const hear = { told: () => undefined, waiting: (owner: string) => void waited.push(owner) };
    const worked = worker.workAlone(id, new AbortController().signal, hear);
    await until(() => waited.length === 1);
    await store.release(id, 'host/42/x');
    await worked;
    expect(waited).toEqual(['host/42/x']);
    expect((await runs.get(id)).status).toBe('done');
  });

  it('can be done again after it failed', async () => {
    const executor = new ScriptedExecutor(
      async () => Promise.reject(new EngineUnavailableError('down')),
      async () => 'better',
    );
    const { runs } = processOn(new MemoryRunStore(), executor);
    const { id } = await runs.submit('k', 1);
    await journal(runs, id);
    await runs.retry(id);
    await runs.submit('k', 1);
    expect(told(await journal(runs, id))).toEqual(['queued', 'running', 'failed', 'queued', 'running', 'done']);
    expect(await runs.get(id)).toMatchObject({ status: 'done', result: 'better', failure: null });
    await expect(runs.retry(id)).rejects.toThrow(RunConflictError);
  });
});

describe('following', () => {
  it('gives every follower every event once, whenever it came', async () => {
    const executor = new ScriptedExecutor(async (_run, emit) => {
      for (let n = 0; n < 100; n += 1) {
        await emit('step', n);
        if (n % 10 === 0) await sleep(1);
      }
      return null;
    });
    const { runs } = processOn(new MemoryRunStore(), executor);
    const { id } = await runs.submit('k', 1);
    const followers = Array.from({ length: 8 }, async (_, n) => {
      await sleep(2 * n);
      return (await journal(runs, id, n)).map(({ seq }) => seq);
    });
    const all = Array.from({ length: 103 }, (_, n) => n + 1);
    expect(await Promise.all(followers)).toEqual(Array.from({ length: 8 }, (_, n) => all.slice(n)));
  });

  it('reads a journal of any length to its end, a part at a time', async () => {
    const store = new MemoryRunStore();
    const { id } = (await store.create('k', 1)).run;
    for (let n = 2; n <= 1_200; n += 1) await store.append(id, 'step', n);
    await store.update(id, { status: 'cancelled' });
    const { runs } = processOn(store, new ScriptedExecutor(untilStopped));
    expect((await journal(runs, id)).map(({ seq }) => seq)).toEqual(Array.from({ length: 1_201 }, (_, n) => n + 1));
  });

  it('ends when asked to, and at once for a run that ended or is gone', async () => {
    const { runs } = processOn(new MemoryRunStore(), new ScriptedExecutor(untilStopped));
    const { id } = await runs.submit('k', 1);
    const leave = new AbortController();
    setTimeout(() => {
      leave.abort();
    }, 30);
    for await (const event of runs.follow(id, 0, leave.signal)) expect(event.seq).toBeLessThan(4);
    await runs.cancel(id);
    expect(await runs.isOver(id, 3)).toBe(false);
    expect(await runs.isOver(id, 4)).toBe(true);
    expect(await journal(runs, id, 4)).toEqual([]);
    expect(await journal(runs, 'gone')).toEqual([]);
  });
});

describe('stopping', () => {
  it('cancels a running and a waiting run, and reports neither as failed', async () => {
    const executor = new ScriptedExecutor(untilStopped);
    const { runs, logged } = processOn(new MemoryRunStore(), executor, { atOnce: 1 });
    const [first, second] = [await runs.submit('a', 1), await runs.submit('b', 2)];
    await until(() => executor.atOnce === 1);
    await runs.cancel(second.id);
    await runs.cancel(first.id);
    await runs.cancel(first.id);
    await until(() => executor.atOnce === 0);
    expect(told(await journal(runs, first.id)).at(-1)).toBe('cancelled');
    expect(told(await journal(runs, second.id))).toEqual(['queued', 'cancelled']);
    expect(executor.started).toEqual([first.id]);
    expect(logged).toEqual([]);
    await expect(runs.cancel('gone')).rejects.toThrow(RunNotFoundError);
  });

  it('does not let late work change a cancelled run', async () => {
    let finish = (): void => undefined;
    let late: Promise<void> = Promise.resolve();
    const stubborn = new ScriptedExecutor(async (_run, emit) => {
      await new Promise<void>((resolve) => (finish = resolve));
      late = emit('late', 1);
      await late.catch(() => undefined);
      return 'too late';
    });
    const { runs } = processOn(new MemoryRunStore(), stubborn);
    const { id } = await runs.submit('k', 1);
    await until(() => stubborn.atOnce === 1);
    await runs.cancel(id);
    finish();
    await until(() => stubborn.atOnce === 0);
    await expect(late).rejects.toThrow(InterruptedError);
    await sleep(20);
    expect(await runs.get(id)).toMatchObject({ status: 'cancelled', result: null });
  });

  it('does a cancelled run again only when its first work has stopped', async () => {
    let stop = (): void => undefined;
    const executor = new ScriptedExecutor(
      () =>
        new Promise(
          (_resolve, reject) =>
            (stop = () => {
              reject(new Error('stopped at last'));
            }),
        ),
      async () => 'again',
    );
    const { runs } = processOn(new MemoryRunStore(), executor);
    const { id } = await runs.submit('k', 1);
    await until(() => executor.atOnce === 1);
    await runs.cancel(id);
    await runs.retry(id);
    await runs.submit('k', 1);
    await sleep(30);
    expect(executor.started).toHaveLength(1);
    stop();
    expect(told(await journal(runs, id)).slice(2)).toEqual(['cancelled', 'queued', 'running', 'done']);
    expect(executor.mostAtOnce).toBe(1);
  });

  it('deletes only what has ended', async () => {
    const { runs } = processOn(new MemoryRunStore(), new ScriptedExecutor(untilStopped));
    const { id } = await runs.submit('k', 1);
    await expect(runs.delete(id)).rejects.toThrow(RunConflictError);
    await runs.cancel(id);
    await runs.delete(id);
    await expect(runs.get(id)).rejects.toThrow(RunNotFoundError);
    await expect(runs.delete(id)).rejects.toThrow(RunNotFoundError);
  });

  it('hands runs back on shutdown for the next start', async () => {
    const store = new MemoryRunStore();
    const { runs, shutdown } = processOn(store, new ScriptedExecutor(untilStopped), { atOnce: 1 });
    const asked = [await runs.submit('a', 'A'), await runs.submit('b', 'B')];
    const following = journal(runs, asked[0]?.id ?? '');
    await until(async () => (await store.census()).counts.running === 1);
    await shutdown();
    expect(told(await following)).not.toContain('failed');
    expect((await store.open()).map(({ id }) => id)).toEqual(asked.map(({ id }) => id));
    await expect(runs.submit('c', 1)).rejects.toThrow(InterruptedError);

    const next = processOn(store, threeSteps);
    await next.recover();
    for (const { id } of asked) expect(told(await journal(next.runs, id)).at(-1)).toBe('done');
    await next.shutdown();
  });

  it('hands back what does not stop', async () => {
    const store = new MemoryRunStore();
    let end: (result: null) => void = () => undefined;
    const deaf = new ScriptedExecutor(() => new Promise((resolve) => (end = resolve)));
    const { runs, worker } = processOn(store, deaf);
    const { id } = await runs.submit('k', 1);
    await until(() => deaf.atOnce === 1);
    await worker.releaseAll();
    expect(await store.statusOf(id)).toBe('queued');
    end(null);
  });
});
