import { getEventListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { currentRun, inRun } from '../../../src/core/async/run-context.js';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { OpenStore } from '../../../src/store/store.js';
import { InterruptedError } from '../../../src/core/errors/errors.js';
import {
  EngineUnavailableError,
  ModelUnavailableError,
  StoreUnavailableError,
} from '../../../src/core/errors/unavailable.js';
import type { Emit } from '../../../src/runs/run-executor.js';
import { RunSettings } from '../../../src/runs/run-settings.js';
import { UnitDesk } from '../../../src/jobs/unit-desk.js';
import { NotHereError } from '../../../src/jobs/unit-error.js';
import type { UnitPerformer } from '../../../src/jobs/unit-performer.js';
import { UnitWorker } from '../../../src/jobs/unit-worker.js';
import { unitId, type Unit } from '../../../src/ports/unit-store.js';
import { BOUNDLESS } from '../../../src/ports/host-resources.js';
import { GivenResources } from '../../fakes/given-room.js';
import { until } from '../../fixtures/run-world.js';

type Work = (unit: Unit, emit: Emit, signal: AbortSignal) => Promise<unknown>;

const NOTHING = { usage: [], spent: { tokens: 0, usd: 0 } };
const TIMES = { leaseMs: 300, pollMs: 20, graceMs: 500, patienceMs: 200 };
let folder: string;
let store: OpenStore;
const workers: UnitWorker[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-units-'));
  store = await openSqliteStore(join(folder, 'store.sqlite'));
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.shutdown()));
  await store.close();
  await rm(folder, { recursive: true });
});

/** A process: what it does with units, and where it puts up its own. */
function processWith(
  work: Work,
  { most = 2, setup = 's', drainMs = 0, room = BOUNDLESS } = {},
): { desk: UnitDesk; worker: UnitWorker; settings: RunSettings } {
  const performer = {
    capacity: async () => [{ kind: 'cells', setup, most: (await room.shortage()) === null ? most : 0 }],
    perform: async (unit: Unit, emit: Emit, signal: AbortSignal) => ({
      ...NOTHING,
      result: await work(unit, emit, signal),
    }),
  } as unknown as UnitPerformer;
  const settings = new RunSettings({ warn: () => undefined, error: () => undefined }, { ...TIMES, drainMs, room });
  const { runs, units } = store;
  const worker = new UnitWorker({ units, runs, performer, settings, inRun });
  workers.push(worker);
  const desk = new UnitDesk({ units, dependencies: { setupOf: () => Promise.resolve('s') }, worker, settings });
  return { worker, desk, settings };
}

async function running(key: string): Promise<string> {
  const { id } = (await store.runs.create(key, key)).run;
  await store.runs.claim(id, 'owner', 60_000);
  return id;
}

const never: Work = (_unit, _emit, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => {
      reject(signal.reason as Error);
    });
  });

const cells = (runId: string, key: string) => ({ runId, kind: 'cells' as const, key, payload: { label: key } });
const quiet = new AbortController().signal;

describe('units of a run', () => {
  it('are done here when nobody else is there, each once, and never more at once than there is room', async () => {
    let [now, most] = [0, 0];
    const seen: unknown[] = [];
    const { desk } = processWith(async ({ payload }) => {
      now += 1;
      most = Math.max(most, now);
      seen.push(payload);
      await new Promise((resolve) => setTimeout(resolve, 5));
      now -= 1;
      return payload;
    });
    const run = await running('a');
    const done = await Promise.all(Array.from({ length: 9 }, (_, n) => desk.have(cells(run, `u${n}`), quiet)));
    expect(done.map(({ result }) => result)).toEqual(Array.from({ length: 9 }, (_, n) => ({ label: `u${n}` })));
    expect(seen).toHaveLength(9);
    expect(most).toBe(2);
    expect((await desk.have(cells(run, 'u0'), quiet)).result).toEqual({ label: 'u0' });
    expect(seen).toHaveLength(9);
  });

  it('may be more at once than Node expects listeners of a signal, which it would call a leak', async () => {
    const { signal } = new AbortController();
    const { desk } = processWith(() => sleep(20, 'done'));
    const run = await running('a');
    const done = Promise.all(Array.from({ length: 12 }, (_, n) => desk.have(cells(run, `u${n}`), signal)));
    await until(() => getEventListeners(signal, 'abort').length > 10);
    // Node 20 itself cannot tell a limit of 0, which is none.
    const limit = Object.getOwnPropertySymbols(signal).find(({ description }) => /MaxEvent/i.test(description ?? ''));
    expect(Reflect.get(signal, limit ?? '')).toBe(0);
    await done;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('are tried again where the infrastructure failed, a bounded number of times', async () => {
    let tries = 0;
    const { desk } = processWith(() => {
      tries += 1;
      return Promise.reject(tries === 2 ? new ModelUnavailableError('refused') : new EngineUnavailableError('gone'));
    });
    const run = await running('a');
    await expect(desk.have(cells(run, 'u'), quiet)).rejects.toMatchObject({ code: 'model-unavailable', exitCode: 3 });
    expect(tries).toBe(2);
  });

  it('are tried until their results can be kept', async () => {
    let tries = 0;
    const { desk } = processWith(() => {
      tries += 1;
      return tries < 5 ? Promise.reject(new StoreUnavailableError('the disk is full')) : Promise.resolve('kept');
    });
    expect(await desk.have(cells(await running('a'), 'u'), quiet)).toMatchObject({ result: 'kept', attempts: 1 });
  });

  it('tell a defect as one', async () => {
    const { desk } = processWith(() => Promise.reject(new TypeError('a mistake of ours')));
    await expect(desk.have(cells(await running('a'), 'u'), quiet)).rejects.toThrow(/internal error/);
  });

  it('go to another process when this one cannot do them, and are no try of it', async () => {
    const here = processWith(() => Promise.reject(new NotHereError('image')));
    const there = processWith(() => Promise.resolve('there'));
    const run = await running('a');
    const waiting = here.desk.have(cells(run, 'u'), quiet);
    await new Promise((resolve) => setTimeout(resolve, 100));
    there.worker.start();
    expect(await waiting).toMatchObject({ result: 'there', attempts: 1 });
  });

  it('stay with processes of the same settings', async () => {
    const stranger = processWith(() => Promise.resolve('stranger'), { setup: 'other' });
    stranger.worker.start();
    const { desk } = processWith(() => Promise.resolve('own'));
    expect((await desk.have(cells(await running('a'), 'u'), quiet)).result).toBe('own');
  });

  it('are stopped when their run is cancelled, wherever they are done', async () => {
    let [begun, stopped] = [false, false];
    const there = processWith(async (unit, emit, signal) => {
      begun = true;
      await never(unit, emit, signal).catch(() => {
        stopped = true;
      });
      signal.throwIfAborted();
    });
    there.worker.start();
    const here = processWith(never, { most: 0 });
    const run = await running('a');
    const cancelled = new AbortController();
    const waiting = here.desk.have(cells(run, 'u'), cancelled.signal);
    waiting.catch(() => undefined);
    await until(() => begun);
    await store.runs.update(run, { status: 'cancelled' });
    cancelled.abort(new InterruptedError());
    await expect(waiting).rejects.toThrow(InterruptedError);
    await until(() => stopped);
  });

  it('are handed back by a process that stops', async () => {
    let begun = false;
    const first = processWith((unit, emit, signal) => {
      begun = true;
      return never(unit, emit, signal);
    });
    const waiting = first.desk.have(cells(await running('a'), 'u'), quiet);
    await until(() => begun);
    await first.worker.shutdown();
    processWith(() => Promise.resolve('second')).worker.start();
    expect(await waiting).toMatchObject({ result: 'second', attempts: 1 });
  });

  it('of other processes are left alone by one that is leaving, which still does those of its own runs', async () => {
    const took: string[] = [];
    const leaving = processWith(({ runId }) => Promise.resolve(took.push(runId)));
    leaving.worker.start();
    leaving.settings.departure.begin();
    const [own, foreign] = [await running('own'), await running('foreign')];
    const stop = new AbortController();
    const waiting = processWith(never, { most: 0 }).desk.have(cells(foreign, 'u'), stop.signal);
    await Promise.all(['u', 'v', 'w'].map((key) => leaving.desk.have(cells(own, key), quiet)));
    await sleep(5 * TIMES.pollMs);
    expect(took).toEqual([own, own, own]);
    stop.abort(new InterruptedError());
    await expect(waiting).rejects.toThrow(InterruptedError);
  });

  it('are finished by a process that leaves, where it was given time for that', async () => {
    let begun = false;
    const slow: Work = async (_unit, _emit, signal) => {
      begun = true;
      return sleep(100, 'finished', { signal });
    };
    const leaving = processWith(slow, { drainMs: 5_000 });
    leaving.worker.start();
    const { desk } = processWith(never, { most: 0 });
    const waiting = desk.have(cells(await running('a'), 'u'), quiet);
    await until(() => begun);
    await leaving.worker.shutdown();
    expect(await waiting).toMatchObject({ result: 'finished', attempts: 1 });
  });

  it('are done in the name of their run, whoever waits for them', async () => {
    const here = processWith(() => Promise.resolve(currentRun()));
    const there = processWith(never, { most: 0 });
    const [a, b] = [await running('a'), await running('b')];
    const own = await inRun(a, () => here.desk.have(cells(a, 'u'), quiet));
    const foreign = await inRun(b, () => there.desk.have(cells(b, 'u'), quiet));
    expect([own.result, foreign.result]).toEqual([a, b]);
  });

  it('wait while the machine is low, and fail with the reason when nobody else does them for long', async () => {
    const room = new GivenResources();
    const here = processWith(() => Promise.resolve('here'), { room });
    const run = await running('a');
    room.free.memory = 1;
    const waiting = here.desk.have(cells(run, 'u'), quiet);
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(await store.units.areUnderWay([unitId(cells(run, 'u'))])).toBe(false);
    room.free.memory = Infinity;
    expect(await waiting).toMatchObject({ result: 'here', attempts: 1 });
    room.free.memory = 1;
    await expect(here.desk.have(cells(run, 'v'), quiet)).rejects.toMatchObject({ code: 'memory-low', exitCode: 3 });
  });

  it('are left to another machine for as long as that works on them', async () => {
    const room = new GivenResources({ engine: 1 });
    const here = processWith(() => Promise.resolve('here'), { room });
    processWith(
      () =>
        new Promise((done) =>
          setTimeout(() => {
            done('there');
          }, 500),
        ),
    ).worker.start();
    const run = await running('a');
    expect((await here.desk.have(cells(run, 'u'), quiet)).result).toBe('there');
  });

  it('let their worker write the journal while it holds them', async () => {
    const { desk } = processWith(async (_unit, emit) => {
      await emit('step', 1);
      return 1;
    });
    const run = await running('a');
    await desk.have(cells(run, 'u'), quiet);
    expect((await store.runs.events(run, 2)).map(({ type, data }) => [type, data])).toEqual([['step', 1]]);
  });
});
