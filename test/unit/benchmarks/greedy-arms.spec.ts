import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmarkHandler } from '../../../src/benchmarks/driver.js';
import { armRequest, readSentBench } from '../../../src/benchmarks/plan.js';
import { Wakeup } from '../../../src/core/async/time.js';
import type { Rollout } from '../../../src/core/run/rollout.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { RunResult } from '../../../src/core/run/run-result.js';
import { type Job, Jobs } from '../../../src/jobs/jobs.js';
import type { BenchmarkStore } from '../../../src/ports/benchmark-store.js';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { OpenStore } from '../../../src/store/store.js';
import { exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { calcPatch, calculatorIssue } from '../../fixtures/calculator.js';
import { until } from '../../fixtures/run-world.js';
import { runResult } from '../../fixtures/runs.js';

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

interface Ran {
  readonly request: RunRequest;
  /** Whether it only samples. */
  readonly samples: boolean;
}

/** Does every run at once as the test says; false = it fails, null = it is left as it is. */
class ScriptedRuns extends Jobs {
  readonly ended = new Wakeup();
  readonly ran: Ran[] = [];
  private readonly underWay: Promise<void>[] = [];
  play: (ran: Ran) => Promise<boolean | null> = () => Promise.resolve(true);

  constructor(
    private readonly costOfRollout: number,
    private readonly costOfVerifying: number,
  ) {
    super();
  }

  async idle(): Promise<void> {
    await Promise.all(this.underWay);
  }

  /** The most rollouts that were sampled of each issue, by arm and issue. */
  get sampled(): Readonly<Record<string, number>> {
    const most: Record<string, number> = {};
    for (const { request, samples } of this.ran) {
      const name = `${request.seed} ${request.issue.instance_id}`;
      if (samples) most[name] = Math.max(most[name] ?? 0, request.k);
    }
    return most;
  }

  async submit({ key }: Job): Promise<void> {
    const run = await store.runs.get(key);
    if (run?.status !== 'queued') return;
    this.underWay.push(this.end(key, RunRequest.parse(run.request)));
  }

  private async end(id: string, request: RunRequest): Promise<void> {
    const ran = { request, samples: request.verifiers?.length === 0 };
    this.ran.push(ran);
    const { k, issue } = request;
    const rollouts = Array.from({ length: k }, (_, index) => rolloutOf(issue.instance_id, index + 1));
    const cost_usd = k * this.costOfRollout + (ran.samples ? 0 : this.costOfVerifying);
    const usage = { ...runResult().usage, tokens: k, cost_usd };
    const isDone = await this.play(ran);
    if (isDone === null) return;
    const result: RunResult = { ...runResult(), rollouts, usage };
    const spent = { tokens: k, usd: cost_usd };
    await store.runs.update(id, isDone ? { status: 'done', result } : { status: 'failed', spent });
    this.ended.ring();
  }

  start(): never {
    throw new Error('Nothing is started here.');
  }
  have(): never {
    throw new Error('Nothing is waited for here.');
  }
  cancel(): never {
    throw new Error('Nothing is cancelled here.');
  }
  others(): Promise<number> {
    return Promise.resolve(0);
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** Each of an issue's patches differs from the others, so that none is ever settled. */
function rolloutOf(instance_id: string, number: number): Rollout {
  return {
    ...{ instance_id, candidate_id: `rollout-${number}`, model: 'm', format: 'xml', exit_reason: 'agent' },
    ...{ patch: calcPatch(`def f${number}(a, b):`, '    return a'), patch_problem: null, left_out: [], steps: [] },
    ...{ malformed: 0, system_prompt: '', instance_prompt: '', told_of: [], branch_of: null, agent: null },
  };
}

class Bench {
  readonly results = new MemoryResultStore();
  /** Runs of greedy arms whose rollouts are decided. */
  readonly asked: string[] = [];

  private constructor(
    readonly id: string,
    readonly runs: ScriptedRuns,
  ) {}

  /** A benchmark of as many issues; an arm is told by its seed. */
  static async open(sent: object, issues: number, costOfRollout = 1, costOfVerifying = 0): Promise<Bench> {
    const bench = readSentBench({ concurrency: 1, grade: false, ...sent });
    const made = { title: 'Greedy', hash: '', submitter: '' };
    const { id } = await store.benchmarks.create(globalThis.crypto.randomUUID(), made);
    const instances = Array.from({ length: issues }, (_, index) => `issue-${index + 1}`);
    for (const instance_id of instances) {
      for (const arm of bench.arms) {
        const issue = { ...calculatorIssue, instance_id };
        const request = armRequest(bench, arm, {}, { issue, candidates: null, tests: null });
        const how = { benchmark: { id, arm: arm.name }, alone: true };
        await store.runs.create(`${id} ${arm.name} ${instance_id}`, request, how);
      }
    }
    await store.benchmarks.begin(id, { ...bench, instances, skipped: [] }, {});
    return new Bench(id, new ScriptedRuns(costOfRollout, costOfVerifying));
  }

  /** Drives it to its end, or until the signal aborts. */
  async drive(signal = new AbortController().signal, settings = ''): Promise<void> {
    const { results, runs } = this;
    const sandbox = new FakeSandbox(() => exited(0));
    const setup = (): Promise<string> => Promise.resolve(settings);
    const benchmarks = Object.create(store.benchmarks) as BenchmarkStore;
    benchmarks.ask = async (id, ...asked) => {
      await store.benchmarks.ask(id, ...asked);
      this.asked.push(id);
    };
    const tools = { benchmarks, runs: store.runs, results, sandbox, jobs: runs, setup };
    const driver = benchmarkHandler({ ...tools, ended: runs.ended });
    await driver.perform({ benchmark_id: this.id }, { key: this.id, signal, attempt: 1 });
  }

  /** Drives it until `ends` says so of a run that is about to be done, and kills the driver there. */
  async killedAt(ends: (ran: Ran) => boolean | Promise<boolean>): Promise<void> {
    const kill = new AbortController();
    const { play } = this.runs;
    this.runs.play = async (ran) => {
      if (await ends(ran)) kill.abort(new Error('killed'));
      return play(ran);
    };
    await expect(this.drive(kill.signal)).rejects.toThrow('killed');
    await this.runs.idle();
    this.runs.play = play;
  }

  async end(): Promise<object> {
    const { status, note } = (await store.benchmarks.get(this.id)) ?? {};
    const rows = await store.benchmarks.runs(this.id);
    return { status, note, runs: rows.map((run) => `${run.arm} ${run.instance_id} ${run.status} ${run.k}`) };
  }
}

function greedy(seed: number, more: object = {}): object {
  return { name: `arm-${seed}`, seed, k: 6, allocate: 'greedy', ...more };
}

describe('greedy arms of a service', () => {
  it('share four fifths of the budget, so that what they sampled is verified', async () => {
    const bench = await Bench.open({ arms: [greedy(1), greedy(2)], budget: { usd: 10 } }, 2);
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
    const bench = await Bench.open({ arms, budget: { usd: 10 } }, 2, 12);
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
    const bench = await Bench.open({ arms: [greedy(1, { budget: { rollouts: 3 } })], budget: { usd: 9 } }, 3, 1, 3);
    await bench.drive();
    expect(await bench.end()).toMatchObject({
      note: 'the budget of 9 US dollars is spent',
      runs: ['arm-1 issue-1 done 1', 'arm-1 issue-2 done 1', 'arm-1 issue-3 queued 1'],
    });
  });

  it.each([true, false])('count runs that failed (sampling: %p), like arms that share rollouts equally', async (is) => {
    const arms = is ? [greedy(1)] : [{ name: 'arm-1', seed: 1, k: 1 }];
    const bench = await Bench.open({ arms, budget: { usd: 2 } }, 3);
    bench.runs.play = ({ samples }) => Promise.resolve(samples && !is);
    await bench.drive();
    expect(await bench.end()).toMatchObject({ note: 'the budget of 2 US dollars is spent' });
    expect(bench.runs.ran).toHaveLength(2);
  });

  it('repeat their decisions after a kill, whatever was spent and failed meanwhile', async () => {
    const arms = [{ name: 'arm-1', seed: 1, k: 1 }, greedy(2)];
    const bench = await Bench.open({ arms, budget: { usd: 1_000 } }, 2);
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
    const bench = await Bench.open({ arms: [greedy(1), greedy(2)], budget: { usd: 10 } }, 2);
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
    const bench = await Bench.open({ arms, budget: { usd: 10 } }, 2, 12);
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
    const bench = await Bench.open({ arms: [greedy(1, { budget: { rollouts: 4 } })] }, 2);
    await bench.killedAt(({ samples, request }) => samples && request.k === 2);
    const [cancelled] = await store.benchmarks.runs(bench.id);
    await store.runs.update(cancelled?.id ?? '', { status: 'cancelled' });
    await bench.drive();
    const runs = await store.benchmarks.runs(bench.id);
    expect(runs.map(({ status }) => status)).toEqual(['cancelled', 'done']);
    expect(runs.reduce((sum, { k }) => sum + (k ?? 0), 0)).toBe(4);
  });

  it('follow the decision that was stored first, if two drivers decide', async () => {
    const bench = await Bench.open({ arms: [greedy(1, { budget: { rollouts: 2 } })] }, 2);
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

  it('sample again what failed when they are resumed', async () => {
    const bench = await Bench.open({ arms: [greedy(1, { budget: { rollouts: 4 } })] }, 2);
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

describe('a benchmark under other settings', () => {
  it('is left to the processes that have them', async () => {
    const bench = await Bench.open({ arms: [{ name: 'arm-1', seed: 1, k: 1 }] }, 2);
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
