import { setTimeout as sleep } from 'node:timers/promises';
import { MOST_LOST } from '../../../src/jobs/jobs.js';
import { RunRecovery } from '../../../src/runs/job-handlers.js';
import { RunSettings } from '../../../src/runs/run-worker.js';
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
  /** Reads of whole journals, which may exceed memory. */
  whole = 0;
  readonly questions: (readonly string[])[] = [];

  override events(...asked: Parameters<MemoryRunStore['events']>): ReturnType<MemoryRunStore['events']> {
    const [, , limit, type] = asked;
    this.looks += 1;
    if (limit === undefined && type === undefined) this.whole += 1;
    return super.events(...asked);
  }

  override heads(ids: readonly string[]): ReturnType<MemoryRunStore['heads']> {
    this.questions.push(ids);
    return super.heads(ids);
  }
}

describe('several processes on one store', () => {
  it('follow a run that another works on', async () => {
    const store = new MemoryRunStore();
    const working = new ScriptedExecutor(async (_run, emit) => {
      await emit('half', 1);
      await sleep(3 * TIMES.recoverMs);
      return 'whole';
    });
    const { runs: a, jobs } = processOn(store, working);
    const idle = processOn(store, new ScriptedExecutor(untilStopped), { jobs });
    const { id } = await a.submit('k', 1);
    await until(() => working.atOnce === 1);
    await idle.recover();
    expect((await idle.runs.submit('k', 1)).id).toBe(id);
    expect(told(await journal(idle.runs, id))).toEqual(['queued', 'running', 'half', 'done']);
    expect(working.started).toEqual([id]);
    await idle.shutdown();
  });

  it('ask the store once for all runs that are followed, however many follow them', async () => {
    const store = new WatchedStore();
    const [working, following] = [
      processOn(store, new ScriptedExecutor(untilStopped), { atOnce: AT_ONCE }),
      processOn(store, threeSteps),
    ];
    const [a, b] = [working.runs, following.runs];
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
    await Promise.all([working.shutdown(), following.shutdown()]);
  });

  it('take up a run whose process died, and those that nobody was told of', async () => {
    const store = new MemoryRunStore();
    const left = (await store.create('k', 'left')).run.id;
    await store.claim(left, 'a dead process');
    const { runs, recover, shutdown } = processOn(store, threeSteps);
    await recover();
    expect(told(await journal(runs, left)).slice(1)).toEqual(['running', 'running', 'step', 'step', 'step', 'done']);
    const untold = (await store.create('l', 'untold')).run.id;
    expect(told(await journal(runs, untold)).at(-1)).toBe('done');
    await shutdown();
  });

  it('give a run up that its process did not outlive too many times in a row', async () => {
    const store = new WatchedStore();
    const { runs, recover, shutdown } = processOn(store, threeSteps);
    const lost = async (key: string, times: number): Promise<string> => {
      const { id } = (await store.create(key, key)).run;
      for (let time = 1; time <= times; time += 1) {
        await store.claim(id, `dead process ${time}`);
        await store.append(id, 'step', time);
      }
      return id;
    };
    const [tolerated, deadly] = [await lost('k', MOST_LOST), await lost('l', MOST_LOST + 1)];
    const restarted = await lost('m', MOST_LOST);
    await store.release(restarted, `dead process ${MOST_LOST}`);
    await store.claim(restarted, 'dead process');
    await recover();
    for (const id of [tolerated, restarted]) expect(told(await journal(runs, id)).at(-1)).toBe('done');
    await journal(runs, deadly);
    expect(await runs.get(deadly)).toMatchObject({ status: 'failed', failure: { code: 'worker-lost' } });
    await runs.retry(deadly);
    runs.handOn(await runs.get(deadly), '');
    expect(told(await journal(runs, deadly)).at(-1)).toBe('done');
    expect(store.whole).toBe(0);
    await shutdown();
  });

  it('leave a run of a command to that, and a run that was taken from them to who took it', async () => {
    const store = new MemoryRunStore();
    const alone = (await store.create('k', 1, { alone: true })).run.id;
    const working = new ScriptedExecutor(untilStopped);
    const { runs, recover, shutdown } = processOn(store, working);
    await recover();
    const { id } = await runs.submit('l', 1);
    await until(() => working.atOnce === 1);
    await store.claim(id, 'another');
    await until(() => working.atOnce === 0);
    expect(await store.isHeld(id, 'another')).toBe(true);
    expect(await store.statusOf(alone)).toBe('queued');
    await shutdown();
  });

  it('do a run of settings that no process has any more under their own, and say so', async () => {
    const store = new MemoryRunStore();
    const { id } = (await store.create('k', 1, { setup: 'gone' })).run;
    const { runs, recover, shutdown, logged } = processOn(store, threeSteps);
    await recover();
    expect(told(await journal(runs, id))).toEqual(['queued', 'settings', 'running', 'step', 'step', 'step', 'done']);
    expect(logged.join()).toContain('accepted under other settings (gone)');
    await shutdown();
  });

  it('take up benchmarks of their own settings, and of settings that no process has any more', async () => {
    const open = ['ours', 'theirs', 'gone', 'taken'].map((setup) => ({ id: `of ${setup}`, submitter: '', setup }));
    const adopted: string[] = [];
    const submitted: string[] = [];
    const benchmarks = {
      running: async () => open,
      adopt: async (id: string, setup: string, from: string) =>
        // Another process was faster.
        from !== 'taken' && adopted.push(`${id} by ${setup}`) > 0,
    };
    const { jobs, shutdown } = processOn(new MemoryRunStore(), threeSteps);
    jobs.others = async (setup) => (setup === 'theirs' ? 1 : 0);
    jobs.submit = async ({ key }) => void submitted.push(key);
    const executor = new ScriptedExecutor(untilStopped);
    executor.setup = async () => 'ours';
    const logged: string[] = [];
    const log = (message: unknown): void => void logged.push(String(message));
    const settings = new RunSettings({ warn: log, error: log });
    const recovery = new RunRecovery({ store: new MemoryRunStore(), executor, jobs, settings, benchmarks });
    await recovery.start();
    recovery.stop();
    expect(submitted).toEqual(['of ours', 'of gone']);
    expect(adopted).toEqual(['of gone by ours']);
    expect(logged).toEqual([expect.stringContaining('Benchmark of gone was accepted under other settings (gone)')]);
    await shutdown();
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
