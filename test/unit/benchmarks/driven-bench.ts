import { benchmarkHandler } from '../../../src/benchmarks/driver.js';
import { armRequest, readSentBench } from '../../../src/benchmarks/plan.js';
import { Wakeup } from '../../../src/core/async/time.js';
import type { Rollout } from '../../../src/core/run/rollout.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { RunResult } from '../../../src/core/run/run-result.js';
import { type Job, Jobs } from '../../../src/jobs/jobs.js';
import type { BenchmarkStore } from '../../../src/ports/benchmark-store.js';
import type { OpenStore } from '../../../src/store/store.js';
import { exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { calcPatch, calculatorIssue } from '../../fixtures/calculator.js';
import { runResult } from '../../fixtures/runs.js';

export interface Ran {
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
    private readonly store: OpenStore,
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
    const run = await this.store.runs.get(key);
    if (run?.status !== 'queued') return;
    this.underWay.push(this.end(key, RunRequest.parse(run.request)));
  }

  private async end(id: string, request: RunRequest): Promise<void> {
    const ran = { request, samples: request.verifiers?.length === 0 };
    this.ran.push(ran);
    const { k, issue } = request;
    const rollouts = Array.from({ length: k }, (_, index) => rolloutOf(issue.instance_id, index + 1));
    const cost_usd = k * this.costOfRollout + (ran.samples ? 0 : this.costOfVerifying);
    const tokens = cost_usd;
    const usage = { ...runResult().usage, tokens, cost_usd };
    const isDone = await this.play(ran);
    if (isDone === null) return;
    const result: RunResult = { ...runResult(), rollouts, usage };
    const spent = { tokens, usd: cost_usd };
    await this.store.runs.update(id, isDone ? { status: 'done', result } : { status: 'failed', spent });
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

/** Hidden tests that are part of the image. */
const TESTS = {
  ...{ repo: null, version: null, testPatch: null, failToPass: ['t'], passToPass: [] },
  ...{ command: 'pytest {files}', log: null },
};

/** A benchmark, and who drives it. */
export class Bench {
  readonly results = new MemoryResultStore();
  /** Runs of greedy arms whose rollouts are decided. */
  readonly asked: string[] = [];
  /** What the driver found it to be at its last look. */
  seen: string | undefined;
  readonly sandbox = new FakeSandbox(() => exited(0));

  private constructor(
    private readonly store: OpenStore,
    readonly id: string,
    readonly runs: ScriptedRuns,
  ) {}

  /** A benchmark of as many issues; an arm is told by its seed. */
  static async open(
    store: OpenStore,
    sent: object,
    issues: number,
    [costOfRollout = 1, costOfVerifying = 0]: readonly number[],
  ): Promise<Bench> {
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
    const sealed = Object.fromEntries(instances.map((instance) => [instance, { tests: TESTS, gold: null }]));
    await store.benchmarks.begin(id, { ...bench, instances, skipped: [] }, sealed);
    return new Bench(store, id, new ScriptedRuns(store, costOfRollout, costOfVerifying));
  }

  /** Drives it to its end, or until the signal aborts. */
  async drive(signal = new AbortController().signal, settings = ''): Promise<void> {
    const { store, results, runs, sandbox } = this;
    const setup = (): Promise<string> => Promise.resolve(settings);
    const benchmarks = Object.create(store.benchmarks) as BenchmarkStore;
    benchmarks.ask = async (id, ...asked) => {
      await store.benchmarks.ask(id, ...asked);
      this.asked.push(id);
    };
    benchmarks.get = async (id) => {
      const benchmark = await store.benchmarks.get(id);
      this.seen = benchmark?.status;
      return benchmark;
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

  /** As the service does it. */
  async resume(): Promise<void> {
    for (const { id } of await this.store.benchmarks.runs(this.id, { statuses: ['failed', 'cancelled'] })) {
      await this.store.benchmarks.hand(id, false);
      await this.store.runs.update(id, { status: 'queued', failure: null });
    }
    await this.store.benchmarks.change(this.id, { status: 'running', note: null }, ['done', 'paused', 'cancelled']);
  }

  async end(): Promise<object> {
    const { status, note } = (await this.store.benchmarks.get(this.id)) ?? {};
    const rows = await this.store.benchmarks.runs(this.id);
    return { status, note, runs: rows.map((run) => `${run.arm} ${run.instance_id} ${run.status} ${run.k}`) };
  }
}
