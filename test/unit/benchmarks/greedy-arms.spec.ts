import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { OpenStore } from '../../../src/store/store.js';
import { closedGate } from '../http/benchmark-lines.js';
import { until } from '../../fixtures/run-world.js';
import { runResult } from '../../fixtures/runs.js';
import { Bench, type Ran } from './driven-bench.js';

let folder: string;
let store: OpenStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-greedy-'));
  store = await openSqliteStore(join(folder, 'store.sqlite'));
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

/** @param costs of a rollout, and of verifying an issue */
function open(sent: object, issues: number, ...costs: readonly number[]): Promise<Bench> {
  return Bench.open(store, sent, issues, costs);
}

function greedy(seed: number, more: object = {}): object {
  return { name: `arm-${seed}`, seed, k: 6, allocate: 'greedy', ...more };
}

describe('greedy arms of a service', () => {
  it('share four fifths of the budget, so that what they sampled is verified', async () => {
    const bench = await open({ arms: [greedy(1), greedy(2)], budget: { usd: 10 } }, 2);
    await bench.drive();
    const sampled = Object.values(bench.runs.sampled).reduce((sum, k) => sum + k, 0);
    // Each arm may have begun a round when the last but one rollout ended.
    expect(sampled).toBeGreaterThanOrEqual(8);
    expect(sampled).toBeLessThanOrEqual(9);
    const rows = await store.benchmarks.runs(bench.id);
    expect(rows.map(({ status }) => status)).toEqual(['done', 'done', 'done', 'done']);
    expect(rows.reduce((sum, { k }) => sum + (k ?? 0), 0)).toBe(sampled);
  });

  it('count in the budget as they sample, and begin nothing more than an equal arm beside them may', async () => {
    const arms = [{ name: 'arm-1', seed: 1, k: 1 }, greedy(2)];
    const bench = await open({ arms, budget: { usd: 10 } }, 2, 12);
    // The equal arm's first run ends after the sampling did.
    bench.runs.play = async ({ samples }) => {
      if (!samples) await until(() => bench.asked.length === 2);
      return true;
    };
    await bench.drive();
    expect(await bench.end()).toEqual({
      ...{ status: 'done', note: 'the budget of 10 US dollars is spent' },
      runs: ['arm-1 issue-1 done 1', 'arm-2 issue-1 queued 1', 'arm-1 issue-2 queued 1', 'arm-2 issue-2 queued 1'],
    });
  });

  it('count what they sampled of issues that are not verified yet beside the runs that ended', async () => {
    const bench = await open({ arms: [greedy(1, { budget: { rollouts: 3 } })], budget: { usd: 9 } }, 3, 1, 3);
    await bench.drive();
    expect(await bench.end()).toMatchObject({
      note: 'the budget of 9 US dollars is spent',
      runs: ['arm-1 issue-1 done 1', 'arm-1 issue-2 done 1', 'arm-1 issue-3 queued 1'],
    });
  });

  it.each([true, false])('count runs that failed (sampling: %p), like arms that share rollouts equally', async (is) => {
    const arms = is ? [greedy(1)] : [{ name: 'arm-1', seed: 1, k: 1 }];
    const bench = await open({ arms, budget: { usd: 2 } }, 3);
    bench.runs.play = ({ samples }) => Promise.resolve(samples && !is);
    await bench.drive();
    expect(await bench.end()).toMatchObject({ note: 'the budget of 2 US dollars is spent' });
    expect(bench.runs.ran).toHaveLength(2);
  });

  it.each([
    ['greedy', greedy(1, { budget: { rollouts: 3 } }), 9],
    ['equal', { name: 'arm-1', seed: 1, k: 1 }, 8],
  ])('repeat what failed after a resume although it had spent the budget (%s)', async (_allocate, arm, usd) => {
    const bench = await open({ arms: [arm], budget: { usd } }, 3, 1, 3);
    bench.runs.play = ({ samples }) => Promise.resolve(samples);
    await bench.drive();
    const note = `the budget of ${usd} US dollars is spent`;
    const runs = (status: string): string[] => [`arm-1 issue-1 ${status} 1`, `arm-1 issue-2 ${status} 1`];
    expect(await bench.end()).toEqual({ status: 'done', note, runs: [...runs('failed'), 'arm-1 issue-3 queued 1'] });
    await bench.resume();
    bench.runs.play = () => Promise.resolve(true);
    await bench.drive();
    expect(await bench.end()).toEqual({ status: 'done', note, runs: [...runs('done'), 'arm-1 issue-3 queued 1'] });
  });

  it('repeat their decisions after a kill, whatever was spent and failed meanwhile', async () => {
    const arms = [{ name: 'arm-1', seed: 1, k: 1 }, greedy(2)];
    const bench = await open({ arms, budget: { usd: 1_000 } }, 2);
    const failing = ({ request }: Ran): boolean => request.seed === 2 && request.issue.instance_id === 'issue-1';
    let fails = true;
    bench.runs.play = (ran) => Promise.resolve(!fails || !ran.samples || !failing(ran));
    await bench.killedAt(({ samples, request }) => samples && request.k === 4);
    fails = false;
    // What the other arm has spent leaves nothing.
    for (const { id } of await store.benchmarks.runs(bench.id, { arm: 'arm-1' })) {
      const usage = { ...runResult().usage, tokens: 1, cost_usd: 450 };
      await store.runs.update(id, { status: 'done', result: { ...runResult(), usage } });
    }
    const before = bench.runs.ran.length;
    await bench.drive();
    expect(await bench.end()).toMatchObject({
      runs: ['arm-1 issue-1 done 1', 'arm-2 issue-1 done 1', 'arm-1 issue-2 done 1', 'arm-2 issue-2 done 4'],
    });
    expect(bench.runs.ran.slice(before).map(({ samples }) => samples)).toEqual([false, false]);
  });

  it('share the budget after a kill while a round goes on that was decided before', async () => {
    const bench = await open({ arms: [greedy(1), greedy(2)], budget: { usd: 10 } }, 2);
    const begun = (seed: number): number => bench.runs.ran.filter(({ request }) => request.seed === seed).length;
    // Killed in the third round of the first arm and the sixth of the second.
    bench.runs.play = async ({ request: { seed } }) => {
      const number = begun(seed);
      if (seed === 2 && number === 3) await until(() => begun(1) === 3);
      return number < (seed === 1 ? 3 : 6) ? true : null;
    };
    await bench.killedAt(async ({ request: { seed } }) => seed === 2 && begun(2) === 6);
    // The second arm's round lasts until the first has decided.
    const { asked } = bench;
    bench.runs.play = async ({ samples, request: { seed } }) => {
      if (samples && seed === 2) await until(() => asked.length > 0);
      return true;
    };
    await bench.drive();
    expect(Object.values(bench.runs.sampled).reduce((sum, k) => sum + k, 0)).toBe(9);
  });

  it('count what they sampled after a kill, even if one of their runs has ended', async () => {
    const arms = [{ name: 'arm-1', seed: 1, k: 1 }, greedy(2)];
    const bench = await open({ arms, budget: { usd: 10 } }, 2, 12);
    await bench.killedAt(async ({ samples }) => {
      if (!samples) await until(() => bench.asked.length === 2);
      return !samples;
    });
    const [ended] = await store.benchmarks.runs(bench.id, { arm: 'arm-2' });
    await store.benchmarks.hand(ended?.id ?? '', true);
    await store.runs.update(ended?.id ?? '', { status: 'done', result: runResult() });
    await bench.drive();
    expect(await bench.end()).toMatchObject({
      note: 'the budget of 10 US dollars is spent',
      runs: ['arm-1 issue-1 done 1', 'arm-2 issue-1 done 1', 'arm-1 issue-2 queued 1', 'arm-2 issue-2 queued 1'],
    });
  });

  it('are allocated after a kill even if one of their runs was cancelled, which is asked for its share, too', async () => {
    const bench = await open({ arms: [greedy(1, { budget: { rollouts: 4 } })] }, 2);
    await bench.killedAt(({ samples, request }) => samples && request.k === 2);
    const [cancelled] = await store.benchmarks.runs(bench.id);
    await store.runs.update(cancelled?.id ?? '', { status: 'cancelled' });
    const before = bench.runs.ran.length;
    await bench.drive();
    const sampled = bench.runs.ran.slice(before).filter(({ samples }) => samples);
    expect(sampled.map(({ request }) => [request.issue.instance_id, request.k])).toEqual([['issue-2', 2]]);
    const runs = await store.benchmarks.runs(bench.id);
    expect(runs.map(({ status }) => status)).toEqual(['cancelled', 'done']);
    expect(runs.reduce((sum, { k }) => sum + (k ?? 0), 0)).toBe(4);
  });

  it('sample nothing of issues whose runs are cancelled', async () => {
    const bench = await open({ arms: [greedy(1, { budget: { rollouts: 3 } }), greedy(2)] }, 2);
    const rows = await store.benchmarks.runs(bench.id);
    const left = rows.filter(({ arm, instance_id }) => arm === 'arm-2' || instance_id === 'issue-1');
    for (const { id } of left) await store.runs.update(id, { status: 'cancelled' });
    await bench.drive();
    expect(bench.runs.sampled).toEqual({ '1 issue-2': 3 });
  });

  it('follow the decision that was stored first, if two drivers decide', async () => {
    const bench = await open({ arms: [greedy(1, { budget: { rollouts: 2 } })] }, 2);
    const { results } = bench;
    const put = results.put.bind(results);
    results.put = async (key, kind, value) => {
      if (key.endsWith(' arm-1 round 1')) await put(key, kind, [{ index: 1, rollouts: 1 }]);
      await put(key, kind, value);
    };
    await bench.drive();
    const first = bench.runs.ran.find(({ samples }) => samples);
    expect(first?.request.issue.instance_id).toBe('issue-2');
  });

  it('sample nothing more once they are paused, even while an issue is being graded', async () => {
    const bench = await open({ arms: [{ name: 'arm-1', seed: 1, k: 1 }, greedy(2)], grade: {} }, 2);
    // Only the first issue is graded, and no image is fetched ahead.
    for (const { id, arm, instance_id } of await store.benchmarks.runs(bench.id)) {
      const isLeft = (arm === 'arm-1') === (instance_id === 'issue-1');
      if (!isLeft) await store.runs.update(id, { status: 'cancelled' });
    }
    const graded = closedGate();
    let isGrading = false;
    bench.sandbox.describeImage = async () => {
      isGrading = true;
      await graded.promise;
      throw new Error('Nothing is graded here.');
    };
    bench.runs.play = async ({ samples }) => {
      if (!samples) return true;
      await until(() => isGrading);
      await store.benchmarks.change(bench.id, { status: 'paused', note: null }, ['running']);
      return until(() => bench.seen === 'paused');
    };
    const driven = bench.drive();
    await until(() => bench.seen === 'paused');
    await bench.runs.idle();
    await sleep(100);
    graded.resolve();
    await driven;
    expect(bench.runs.ran.filter(({ samples }) => samples)).toHaveLength(1);
  });

  it('are asked for nothing more once they are paused, and are left when nothing asks any more', async () => {
    const bench = await open({ arms: [greedy(1, { budget: { rollouts: 2 } })] }, 2);
    const ask = store.benchmarks.ask.bind(store.benchmarks);
    store.benchmarks.ask = async (...asked) => {
      await store.benchmarks.change(bench.id, { status: 'paused', note: null }, ['running']);
      await until(() => bench.seen === 'paused');
      await ask(...asked);
    };
    await bench.drive();
    store.benchmarks.ask = ask;
    expect(bench.asked).toHaveLength(1);
  });

  it('are not handed over with all their rollouts when their allocation fails', async () => {
    const bench = await open({ arms: [greedy(1)] }, 2);
    const listed = closedGate();
    bench.results.putFirst = async () => {
      await listed.promise;
      throw new Error('a defect');
    };
    const runs = store.benchmarks.runs.bind(store.benchmarks);
    store.benchmarks.runs = async (id, listing) => {
      const rows = await runs(id, listing);
      if (listing?.handed === false) {
        listed.resolve();
        await sleep(20);
      }
      return rows;
    };
    await expect(bench.drive()).rejects.toThrow('a defect');
    store.benchmarks.runs = runs;
    expect(await runs(bench.id, { handed: true })).toEqual([]);
  });

  it('sample again what failed when they are resumed', async () => {
    const bench = await open({ arms: [greedy(1, { budget: { rollouts: 4 } })] }, 2);
    bench.runs.play = ({ samples, request }) => Promise.resolve(!samples || request.issue.instance_id !== 'issue-1');
    await bench.killedAt(({ samples, request }) => samples && request.k === 2);
    // A later time is stored.
    await sleep(2);
    await store.benchmarks.change(bench.id, { status: 'running', note: null }, ['running']);
    bench.runs.play = () => Promise.resolve(true);
    await bench.drive();
    const again = bench.runs.ran.filter(({ request, samples }) => samples && request.issue.instance_id === 'issue-1');
    expect(again.map(({ request }) => request.k).slice(0, 2)).toEqual([1, 1]);
  });
});

it('a benchmark that fails as it grades an issue stops grading the others', async () => {
  const bench = await open({ arms: [{ name: 'arm-1', seed: 1, k: 1 }], grade: {}, concurrency: 2 }, 2);
  const signals: AbortSignal[] = [];
  bench.sandbox.describeImage = async (_image, signal) => {
    if (signals.push(signal) === 2) await once(signal, 'abort');
    await until(() => signals.length >= 2);
    throw new Error('a defect');
  };
  await expect(bench.drive()).rejects.toThrow('a defect');
  expect(signals[1]?.aborted).toBe(true);
});

describe('a benchmark under other settings', () => {
  it('is left to the processes that have them', async () => {
    const bench = await open({ arms: [{ name: 'arm-1', seed: 1, k: 1 }] }, 2);
    await bench.drive(undefined, 'others');
    expect(bench.runs.ran).toEqual([]);
    bench.runs.play = async () => {
      await store.benchmarks.adopt(bench.id, 'others', '');
      return true;
    };
    await bench.drive();
    await bench.runs.idle();
    expect(bench.runs.ran).toHaveLength(1);
    await bench.drive(undefined, 'others');
    expect(await bench.end()).toEqual({
      ...{ status: 'done', note: null },
      runs: ['arm-1 issue-1 done 1', 'arm-1 issue-2 done 1'],
    });
  });
});
