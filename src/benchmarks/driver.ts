import pLimit from 'p-limit';
import { z } from 'zod';
import type { Wakeup } from '../core/async/time.js';
import { BestkError, UnavailableError } from '../core/errors/errors.js';
import { grouped } from '../core/grouped.js';
import { candidateOf } from '../core/run/rollout.js';
import { RunRequest } from '../core/run/run-request.js';
import { RunResult } from '../core/run/run-result.js';
import { countLabels, type Grade, labelsIn, type GradeBook, type Graded } from '../grading/grade-candidates.js';
import type { LogReader } from '../grading/runner-logs.js';
import { hiddenTests } from '../grading/hidden-tests.js';
import type { SealedContent } from '../io/datasets/set-reader.js';
import type { JobHandler, Jobs } from '../jobs/jobs.js';
import type { BenchmarkCount, BenchmarkRun, BenchmarkStore, RunGrades } from '../ports/benchmark-store.js';
import type { ResultStore } from '../ports/result-store.js';
import { hasEnded, type RunStore } from '../ports/run-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import { runCurve } from '../reports/benchmark/arms.js';
import { jobOfRun } from '../runs/job-handlers.js';
import { allocateArm, spentBefore, type SpentByArm, spentOnSampling } from './allocate-arm.js';
import { gradedIn, gradeOneOfMany, namedByArm } from './grade-arms.js';
import { BenchmarkPlan, reasonToStop, samplingEnds, type SentArm, type Tally } from './plan.js';

/** What a process needs to run benchmarks. */
export interface DriverTools {
  readonly benchmarks: BenchmarkStore;
  readonly runs: RunStore;
  readonly results: ResultStore;
  readonly sandbox: Sandbox;
  readonly jobs: Jobs;
  /** Rings when a run of this process ends; runs of other processes are polled. */
  readonly ended: Wakeup;
  /** Identifies the settings that runs are executed under. */
  readonly setup: () => Promise<string>;
  /** Absent = logs are read in the process that grades. */
  readonly readLog?: LogReader | undefined;
}

const LOOK_EVERY_MS = 100;
/** High, as drivers mostly wait for their runs, which have their own limits. */
const BENCHMARKS_AT_ONCE = 64;

/** Parses only the image: the rest of the request may hold megabytes of candidates. */
const ImageOfRequest = z.object({ issue: z.object({ environment: z.object({ image: z.string() }) }) });
const Payload = z.object({ benchmark_id: z.string() });

/** Runs a service's benchmarks: hands over their runs in order, and grades an issue once all arms have selected. */
export function benchmarkHandler(tools: DriverTools): JobHandler<z.infer<typeof Payload>> {
  return {
    kind: 'benchmark',
    payload: Payload,
    result: null,
    atOnce: BENCHMARKS_AT_ONCE,
    perform: async ({ benchmark_id }, { signal }) => {
      const benchmark = await tools.benchmarks.get(benchmark_id);
      if (benchmark?.status !== 'running' || benchmark.setup !== (await tools.setup())) return;
      const { submitter, setup, updated_at: since } = benchmark;
      try {
        const plan = BenchmarkPlan.parse(benchmark.plan);
        const sealed = (await tools.benchmarks.sealed(benchmark_id)) as Readonly<Record<string, SealedContent>>;
        await new Drive(tools, { id: benchmark_id, submitter, setup, plan, sealed, since }, signal).toEnd();
      } catch (error) {
        signal.throwIfAborted();
        // A transient failure is retried when open benchmarks are taken up again; a defect would recur each time.
        if (error instanceof UnavailableError) throw error;
        const note = error instanceof BestkError ? error.message : 'It ended with an internal error; see the log.';
        await tools.benchmarks.change(benchmark_id, { status: 'failed', note }, ['running']);
        throw error;
      }
    },
  };
}

interface Driven {
  readonly id: string;
  readonly submitter: string;
  readonly setup: string;
  readonly plan: BenchmarkPlan;
  readonly sealed: Readonly<Record<string, SealedContent>>;
  /** When it was started or resumed. */
  readonly since: string;
}

type Spent = Pick<Tally, 'tokens' | 'usd'>;

class Drive {
  private readonly grading = new Map<string, Promise<void>>();
  /** Instances whose images were requested. */
  private readonly fetched = new Set<string>();
  /** Arms that may need images: those that sample or use execution-based verification. */
  private readonly executing;
  private readonly places;
  /** Whether labels are wanted and there are hidden tests to get them from. */
  private readonly isGraded;
  private failure: { readonly error: unknown } | null = null;
  /** Greedy arms whose issues do not have all their rollouts yet. */
  private readonly allocating = new Map<string, Promise<unknown>>();
  /** Spending of greedy arms on sampling, which precedes that of their runs. */
  private readonly sampled = new Map<string, Spent>();
  private counts: readonly BenchmarkCount[] = [];
  private failed = 0;

  constructor(
    private readonly tools: DriverTools,
    private readonly driven: Driven,
    private readonly signal: AbortSignal,
  ) {
    const { plan, sealed } = driven;
    this.places = pLimit(plan.concurrency);
    const executes = ({ candidates, judges }: SentArm): boolean => !candidates || (judges?.includes('eb') ?? true);
    this.executing = new Set(plan.arms.filter(executes).map(({ name }) => name));
    this.isGraded = plan.grade !== false && Object.values(sealed).some(({ tests }) => tests !== null);
  }

  /**
   * Returns when everything is done, or when the benchmark is no longer `running` or under these settings.
   * @throws the failure that prevented an issue from being graded
   */
  async toEnd(): Promise<void> {
    const failing = new AbortController();
    try {
      await this.untilStopped(AbortSignal.any([this.signal, failing.signal]));
    } catch (error) {
      failing.abort(error);
      throw error;
    } finally {
      // The issues that are being graded would otherwise be graded again beside this, and arms be allocated.
      await Promise.all([...this.grading.values(), ...this.allocating.values()]);
    }
  }

  /** @param signal aborts grading */
  private async untilStopped(signal: AbortSignal): Promise<void> {
    const { tools, driven } = this;
    const { benchmarks, ended } = tools;
    using leaving = abortedAtEnd(signal);
    await this.count(await benchmarks.counts(driven.id));
    await this.allocateAll(leaving.signal);
    for (let [seen, rings] = ['', 0]; ;) {
      if (seen !== '') await ended.wait(rings, LOOK_EVERY_MS, signal);
      rings = ended.rings;
      if (this.failure !== null) throw this.failure.error;
      const benchmark = await benchmarks.get(driven.id);
      if (benchmark?.status !== 'running' || benchmark.setup !== driven.setup) return;
      const counts = await benchmarks.counts(driven.id);
      const now = `${JSON.stringify(counts)} ${this.grading.size} ${this.allocating.size}`;
      if (now === seen) continue;
      if (await this.look(counts, signal)) return;
      seen = now;
    }
  }

  /**
   * One pass over the benchmark's state, at a cost that does not grow with the benchmark.
   * @returns whether the benchmark is done
   */
  private async look(counts: readonly BenchmarkCount[], signal: AbortSignal): Promise<boolean> {
    const { benchmarks } = this.tools;
    const { id, plan } = this.driven;
    const open = counts.filter(({ status }) => !hasEnded(status));
    const waiting = runsIn(open.filter(({ handed }) => !handed));
    const underWay = runsIn(open) - waiting;
    await this.count(counts);
    const note = await this.noteOfStop();
    if (note === null && waiting > 0) await this.begin(Math.max(0, plan.concurrency - underWay));
    const gradable = this.isGraded ? await benchmarks.gradable(id) : [];
    for (const [instance, own] of grouped(gradable, ({ instance_id }) => instance_id))
      this.grade(instance, own, signal);
    if (underWay > 0 || this.isBusy || (note === null && waiting > 0)) return false;
    await benchmarks.change(id, { status: 'done', note: waiting === 0 ? null : note }, ['running']);
    return true;
  }

  /** Why nothing more is handed over; null = it goes on. */
  private async noteOfStop(): Promise<string | null> {
    const { id, plan } = this.driven;
    if (reasonToStop(plan, this.tally()) === null) return null;
    return reasonToStop(plan, this.tally(await spentBefore(this.tools, { id, plan })));
  }

  private get isBusy(): boolean {
    return this.grading.size > 0 || this.allocating.size > 0;
  }

  /** Hands over the next runs and prefetches the image of a later one. */
  private async begin(room: number): Promise<void> {
    const { id, plan } = this.driven;
    const next = { statuses: ['queued'], handed: false } as const;
    const limit = this.allocating.size === 0 ? room + plan.concurrency : undefined;
    const all = await this.tools.benchmarks.runs(id, { ...next, limit });
    const waiting = all.filter(({ arm }) => !this.allocating.has(arm)).slice(0, room + plan.concurrency);
    for (const run of waiting.slice(0, room)) await this.hand(run);
    await this.fetchImage(waiting.slice(room));
  }

  /** What each greedy arm sampled before a restart is known before any begins more. */
  private async allocateAll(signal: AbortSignal): Promise<void> {
    const { id, plan } = this.driven;
    const greedy = plan.arms.filter(({ allocate }) => allocate === 'greedy');
    for (const arm of greedy) {
      const spent = await spentOnSampling(this.tools, { id, arm });
      if (spent !== null) this.sampled.set(arm.name, spent);
    }
    for (const arm of greedy) this.allocate(arm, signal);
  }

  /** Allocates rollouts to the issues of an arm before its runs are handed over. */
  private allocate(arm: SentArm, signal: AbortSignal): void {
    const { id, submitter, plan, since } = this.driven;
    const stop = (spent: Spent): boolean => {
      this.sampled.set(arm.name, spent);
      return samplingEnds(plan, this.tally());
    };
    const done = allocateArm(this.tools, { id, submitter, plan, arm, since }, stop, signal)
      // Not after a failure: its runs would be handed over with all their rollouts.
      .then(() => this.allocating.delete(arm.name))
      .catch((error: unknown) => {
        if (!signal.aborted) this.failure ??= { error };
      })
      .finally(() => {
        this.tools.ended.ring();
      });
    this.allocating.set(arm.name, done);
  }

  /** Failures count unless they were caused by the run's input. */
  private async count(counts: readonly BenchmarkCount[]): Promise<void> {
    const { id, plan } = this.driven;
    const failed =
      plan.max_failures === undefined ? [] : await this.tools.benchmarks.runs(id, { statuses: ['failed'] });
    this.failed = failed.filter(({ failure }) => failure?.code !== 'bad-input').length;
    this.counts = counts;
  }

  /**
   * Once a greedy arm's rollouts are all made, its runs count them, too: the larger sum is what the arm has spent.
   * @param without spending of runs that does not count
   */
  private tally(without: readonly SpentByArm[] = []): Tally {
    const sum = (key: keyof Spent): number =>
      this.driven.plan.arms.reduce((total, { name }) => {
        const own = (of: readonly (SpentByArm | BenchmarkCount)[]): number =>
          of.reduce((each, spent) => each + (spent.arm === name ? (spent[key] ?? 0) : 0), 0);
        return total + Math.max(own(this.counts) - own(without), this.sampled.get(name)?.[key] ?? 0);
      }, 0);
    return { failed: this.failed, tokens: sum('tokens'), usd: sum('usd') };
  }

  /**
   * Prefetches the image of an upcoming issue, one at a time. Errors are ignored here: they recur when the image is needed.
   */
  private async fetchImage(soon: readonly BenchmarkRun[]): Promise<void> {
    const next = soon.find(({ arm, instance_id }) => this.executing.has(arm) && !this.fetched.has(instance_id));
    if (next === undefined) return;
    this.fetched.add(next.instance_id);
    const run = await this.tools.runs.get(next.id);
    if (run === null) return;
    const { image } = ImageOfRequest.parse(run.request).issue.environment;
    void this.tools.sandbox.describeImage(image, this.signal).catch(() => undefined);
  }

  private async hand({ id }: BenchmarkRun): Promise<void> {
    await this.tools.benchmarks.hand(id, true);
    await this.tools.jobs.submit(jobOfRun(id, this.driven.submitter));
  }

  /** Grades an issue's runs, all of which have ended: no label exists while a selection for that issue may still be made. */
  private grade(instance: string, runs: readonly BenchmarkRun[], signal: AbortSignal): void {
    const isSealed = (this.driven.sealed[instance]?.tests ?? null) !== null;
    if (!isSealed || this.grading.has(instance)) return;
    const done = runs.filter(({ status }) => status === 'done');
    const graded = this.places(() => this.gradeRuns(instance, done, signal))
      .catch((error: unknown) => {
        this.failure ??= { error };
      })
      .finally(() => {
        this.grading.delete(instance);
        this.tools.ended.ring();
      });
    this.grading.set(instance, graded);
  }

  private async gradeRuns(instance: string, runs: readonly BenchmarkRun[], signal: AbortSignal): Promise<void> {
    const { tools, driven } = this;
    signal.throwIfAborted();
    const { grade } = driven.plan;
    const asked = await Promise.all(runs.map(async (run) => ({ run, ...readRun(await tools.runs.get(run.id)) })));
    const [first] = asked;
    const tests = await hiddenTests(new Map(Object.entries(driven.sealed)), instance);
    if (first === undefined || grade === false || tests === null) return;
    const candidates = asked.flatMap(({ run, candidates: own }) => namedByArm(run.arm, own));
    const { test_command: command = null, time_limit_s: timeLimitS } = grade;
    const how = { command, timeLimitS, book: this.book(), readLog: tools.readLog };
    const graded = await gradeOneOfMany(tools.sandbox, { issue: first.request.issue, candidates, tests }, how, signal);
    for (const each of asked) {
      await tools.benchmarks.grade(each.run.id, gradesOf(each, gradedIn(each.run.arm, graded)));
    }
  }

  /** Grades are stored under everything they depend on, so that no patch is graded twice, even after a crash. */
  private book(): GradeBook {
    const { results } = this.tools;
    return {
      known: async (key) => ((await results.get(`grade ${key}`)) ?? null) as Grade | null,
      enter: async ({ key, resolved, reason, seconds, tests }) => {
        if (resolved === null) return;
        await results.put(`grade ${key}`, 'grade', { resolved, reason, seconds, tests });
      },
    };
  }
}

/** Aborts with the given signal, and on disposal. */
function abortedAtEnd(signal: AbortSignal): { readonly signal: AbortSignal } & Disposable {
  const end = new AbortController();
  return {
    signal: AbortSignal.any([signal, end.signal]),
    [Symbol.dispose]: () => {
      end.abort();
    },
  };
}

function readRun(run: Awaited<ReturnType<RunStore['get']>>) {
  const request = RunRequest.parse(run?.request);
  const result = RunResult.parse(run?.result);
  return { request, result, candidates: request.candidates ?? result.rollouts.map(candidateOf) };
}

type ReadRun = ReturnType<typeof readRun> & { readonly run: BenchmarkRun };

function runsIn(counts: readonly BenchmarkCount[]): number {
  return counts.reduce((sum, { runs }) => sum + runs, 0);
}

function gradesOf({ run, request, result }: ReadRun, { grades, ungraded, leftOut }: Graded): RunGrades {
  const { candidate_id } = run;
  const { graded, resolved: right_candidates, unknown } = countLabels(grades);
  const selected = grades.find((each) => each.candidate_id === candidate_id);
  const nothing = graded === 0 ? null : false;
  return {
    right: candidate_id === null ? nothing : (selected?.resolved ?? null),
    graded,
    right_candidates,
    ungraded: ungraded.length + unknown,
    best: runCurve(request, result, labelsIn(grades)),
    document: { grades, ungraded, left_out: leftOut },
  };
}
