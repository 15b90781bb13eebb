import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor, untilStopped } from '../../fakes/scripted-executor.js';
import { journal, processOn, TIMES, told, until } from '../../fixtures/run-world.js';

const threeSteps = new ScriptedExecutor(async (run, emit) => {
  for (const n of [1, 2, 3]) await emit('step', { n });
  return { answered: run.request };
});

const AT_ONCE = 2;

class WatchedStore extends MemoryRunStore {
  looks = 0;
  readonly questions: (readonly string[])[] = [];

  override events(...asked: Parameters<MemoryRunStore['events']>): ReturnType<MemoryRunStore['events']> {
    this.looks += 1;
    return super.events(...asked);
  }

  override heads(ids: readonly string[]): ReturnType<MemoryRunStore['heads']> {
    this.questions.push(ids);
    return super.heads(ids);
  }
}

describe('several processes on one store', () => {
  it('leave a run with the one that works on it, and follow it all the same', async () => {
    const store = new MemoryRunStore();
    const working = new ScriptedExecutor(async (_run, emit) => {
      await emit('half', 1);
      await sleep(3 * TIMES.leaseMs);
      return 'whole';
    });
    const idle = new ScriptedExecutor(untilStopped);
    const [{ runs: a }, { runs: b }] = [processOn(store, working), processOn(store, idle)];
    const { id } = await a.submit('k', 1);
    await until(() => working.atOnce === 1);
    await b.recover();
    expect((await b.submit('k', 1)).id).toBe(id);
    expect(told(await journal(b, id))).toEqual(['queued', 'running', 'half', 'done']);
    expect(idle.started).toEqual([]);
    await b.shutdown();
  });

  it('ask the store once for all runs that are followed, however many follow them', async () => {
    const store = new WatchedStore();
    const [{ runs: a }, { runs: b }] = [
      processOn(store, new ScriptedExecutor(untilStopped), { atOnce: AT_ONCE }),
      processOn(store, threeSteps),
    ];
    const ids = await Promise.all(['k', 'l', 'm'].map(async (key) => (await a.submit(key, key)).id));
    const isQuiet = async (id: string): Promise<boolean> => 'working' in (await a.overview(id)).progress.by_type;
    await until(async () => (await Promise.all(ids.map(isQuiet))).filter(Boolean).length === AT_ONCE);
    store.looks = 0;
    const followers = ids.flatMap((id) => [journal(b, id), journal(b, id)]);
    await sleep(6 * TIMES.pollMs);
    // What is quiet is looked at when it is begun to be followed, and when it is first compared.
    expect(store.looks).toBeLessThanOrEqual(3 * followers.length);
    expect(store.questions.length).toBeGreaterThan(1);
    expect(store.questions.at(-1)).toHaveLength(ids.length);
    for (const id of ids) await a.cancel(id);
    for (const events of await Promise.all(followers)) expect(told(events).at(-1)).toBe('cancelled');
    await Promise.all([a.shutdown(), b.shutdown()]);
  });

  it('take up a run whose process died, once its lease ran out', async () => {
    const store = new MemoryRunStore();
    const { run } = await store.create('k', 'left');
    await store.claim(run.id, 'a dead process', TIMES.leaseMs);
    const { runs } = processOn(store, threeSteps);
    await runs.recover();
    expect(await store.statusOf(run.id)).toBe('running');
    expect(threeSteps.started).not.toContain(run.id);
    expect(told(await journal(runs, run.id)).at(-1)).toBe('done');
    await runs.shutdown();
  });

  it('stop a run that another cancelled', async () => {
    const store = new MemoryRunStore();
    const working = new ScriptedExecutor(untilStopped);
    const [{ runs: a }, { runs: b }] = [processOn(store, working), processOn(store, threeSteps)];
    const { id } = await a.submit('k', 1);
    await until(() => working.atOnce === 1);
    await b.cancel(id);
    await until(() => working.atOnce === 0);
    expect(await store.statusOf(id)).toBe('cancelled');
  });
});
