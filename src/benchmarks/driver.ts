import pLimit from 'p-limit';
import { z } from 'zod';
import { pause } from '../core/async/retry.js';
import { BestkError, UnavailableError } from '../core/errors/errors.js';
import { grouped } from '../core/grouped.js';
import { candidateOf } from '../core/run/rollout.js';
import { RunRequest } from '../core/run/run-request.js';
import { RunResult } from '../core/run/run-result.js';
import type { GradeBook, Graded } from '../grading/grade-candidates.js';
import type { Grade } from '../grading/grade.js';
import type { LogReader } from '../grading/log-reader.js';
import { hiddenTests } from '../grading/hidden-tests.js';
import type { SealedContent } from '../io/datasets/sealed.js';
import type { JobHandler, Jobs } from '../jobs/jobs.js';
import type { BenchmarkRun, BenchmarkStore, RunGrades } from '../ports/benchmark-store.js';
import type { ResultStore } from '../ports/result-store.js';
import { hasEnded, type RunStore } from '../ports/run-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import { runCurve } from '../reports/benchmark/run-curve.js';
import { jobOfRun } from '../runs/run-jobs.js';
import { gradedIn, gradeOneOfMany, namedByArm } from './grade-arms.js';
import { BenchmarkPlan, reasonToStop } from './plan.js';

/** What a process needs to see benchmarks to their end. */
export interface DriverTools {
  readonly benchmarks: BenchmarkStore;
  readonly runs: RunStore;
  readonly results: ResultStore;
  readonly sandbox: Sandbox;
  readonly jobs: Jobs;
  /** Absent = logs are read where grading goes on. */
  readonly readLog?: LogReader | undefined;
}

const LOOK_EVERY_MS = 100;
/** They wait for their runs; the runs have limits of their own. */
const BENCHMARKS_AT_ONCE = 64;

const Payload = z.object({ benchmark_id: z.string() });

/** Sees the benchmarks of a service to their end: hands over runs in turn, and grades an issue when all arms have selected. */
export function benchmarkHandler(tools: DriverTools): JobHandler<z.infer<typeof Payload>> {
  return {
    kind: 'benchmark',
    payload: Payload,
    result: null,
    atOnce: BENCHMARKS_AT_ONCE,
    perform: async ({ benchmark_id }, { signal }) => {
      const benchmark = await tools.benchmarks.get(benchmark_id);
      if (benchmark?.status !== 'running') return;
      const { submitter } = benchmark;
      const plan = BenchmarkPlan.parse(benchmark.plan);
      const sealed = (await tools.benchmarks.sealed(benchmark_id)) as Readonly<Record<string, SealedContent>>;
      try {
        await new Drive(tools, { id: benchmark_id, submitter, plan, sealed }, signal).toEnd();
      } catch (error) {
        signal.throwIfAborted();
        // What may pass is tried again by who takes up what is open; a defect would come again each time.
        if (error instanceof UnavailableError) throw error;
        const note = error instanceof BestkError ? error.message : 'An internal error ended it; the log says more.';
        await tools.benchmarks.change(benchmark_id, { status: 'failed', note }, ['running']);
        throw error;
      }
    },
  };
}

interface Driven {
  readonly id: string;
  readonly submitter: string;
  readonly plan: BenchmarkPlan;
  readonly sealed: Readonly<Record<string, SealedContent>>;
}

class Drive {
  private readonly grading = new Map<string, Promise<void>>();
  /** Instances whose images were asked for. */
  private readonly fetched = new Set<string>();
  private readonly places;
  private failure: { readonly error: unknown } | null = null;

  constructor(
    private readonly tools: DriverTools,
    private readonly driven: Driven,
    private readonly signal: AbortSignal,
  ) {
    this.places = pLimit(driven.plan.concurrency);
  }

  /** Ends when everything is done, or when it is not to run any more. @throws what kept an issue from being graded */
  async toEnd(): Promise<void> {
    const { tools, driven, signal } = this;
    for (let seen = ''; ;) {
      if (seen !== '') await pause(LOOK_EVERY_MS, signal);
      if (this.failure !== null) throw this.failure.error;
      if ((await tools.benchmarks.get(driven.id))?.status !== 'running') break;
      const now = `${JSON.stringify(await tools.benchmarks.counts(driven.id))} ${this.grading.size}`;
      if (now === seen) continue;
      const ended = await this.look();
      if (ended) return;
      seen = now;
    }
    await Promise.all(this.grading.values());
  }

  /** @returns whether it is done */
  private async look(): Promise<boolean> {
    const { benchmarks } = this.tools;
    const { id, plan } = this.driven;
    const runs = await benchmarks.runs(id);
    const open = runs.filter(({ status }) => !hasEnded(status));
    const waiting = open.filter(({ handed }) => !handed);
    const note = reasonToStop(plan, tallyOf(runs));
    const room = plan.concurrency - (open.length - waiting.length);
    if (note === null) {
      const turn = Math.max(0, room);
      for (const run of waiting.slice(0, turn)) await this.hand(run);
      await this.fetchImage(waiting.slice(turn, turn + plan.concurrency));
    }
    for (const [instance, own] of grouped(runs, ({ instance_id }) => instance_id)) {
      this.gradeWhenReady(instance, own);
    }
    const isIdle = this.grading.size === 0 && open.length === waiting.length;
    if (!isIdle || (note === null && waiting.length > 0)) return false;
    await benchmarks.change(id, { status: 'done', note: waiting.length === 0 ? null : note }, ['running']);
    return true;
  }

  /** Of an issue that comes soon, one at a time. What stands in its way is told when it is needed. */
  private async fetchImage(soon: readonly BenchmarkRun[]): Promise<void> {
    const next = soon.find(({ instance_id }) => !this.fetched.has(instance_id));
    if (next === undefined) return;
    this.fetched.add(next.instance_id);
    const run = await this.tools.runs.get(next.id);
    if (run === null) return;
    const { issue, candidates, verifiers } = RunRequest.parse(run.request);
    if (candidates !== null && verifiers?.includes('eb') === false) return;
    void this.tools.sandbox.describeImage(issue.environment.image, this.signal).catch(() => undefined);
  }

  private async hand({ id }: BenchmarkRun): Promise<void> {
    await this.tools.benchmarks.hand(id, true);
    await this.tools.jobs.submit(jobOfRun(id, this.driven.submitter));
  }

  /** No label exists while anything of an issue may still be selected. */
  private gradeWhenReady(instance: string, runs: readonly BenchmarkRun[]): void {
    const { plan, sealed } = this.driven;
    const ended = runs.every(({ status }) => hasEnded(status));
    const ungraded = runs.some(({ status, graded }) => status === 'done' && graded === null);
    const isSealed = (sealed[instance]?.tests ?? null) !== null;
    if (plan.grade === false || !isSealed || !ended || !ungraded || this.grading.has(instance)) return;
    const done = runs.filter(({ status }) => status === 'done');
    const graded = this.places(() => this.grade(instance, done))
      .catch((error: unknown) => {
        this.failure ??= { error };
      })
      .finally(() => {
        this.grading.delete(instance);
      });
    this.grading.set(instance, graded);
  }

  private async grade(instance: string, runs: readonly BenchmarkRun[]): Promise<void> {
    const { tools, signal, driven } = this;
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

  /** Grades are kept under all that they depend on: no patch is graded twice, whatever becomes of this process. */
  private book(): GradeBook {
    const { results } = this.tools;
    return {
      known: async (key) => ((await results.get(`grade ${key}`)) ?? null) as Grade | null,
      enter: async ({ key, resolved, reason, seconds, tests }) => {
        await results.put(`grade ${key}`, 'grade', { resolved, reason, seconds, tests });
      },
    };
  }
}

function readRun(run: Awaited<ReturnType<RunStore['get']>>) {
  const request = RunRequest.parse(run?.request);
  const result = RunResult.parse(run?.result);
  return { request, result, candidates: request.candidates ?? result.rollouts.map(candidateOf) };
}

type ReadRun = ReturnType<typeof readRun> & { readonly run: BenchmarkRun };

/** What surroundings did to a run counts; what was wrong with its input does not. */
function tallyOf(runs: readonly BenchmarkRun[]) {
  return {
    failed: runs.filter(({ failure }) => failure !== null && failure.code !== 'bad-input').length,
    tokens: runs.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0),
    usd: runs.reduce((sum, { cost_usd }) => sum + (cost_usd ?? 0), 0),
  };
}

function gradesOf({ run, request, result }: ReadRun, { grades, ungraded, leftOut }: Graded): RunGrades {
  const { candidate_id } = run;
  const labels = new Map(grades.map((each) => [each.candidate_id, each.resolved]));
  const selected = grades.find((each) => each.candidate_id === candidate_id);
  const nothing = grades.length === 0 ? null : false;
  return {
    right: candidate_id === null ? nothing : (selected?.resolved ?? null),
    graded: grades.length,
    right_candidates: grades.filter(({ resolved }) => resolved).length,
    ungraded: ungraded.length,
    best: runCurve(request, result, labels),
    document: { grades, ungraded, left_out: leftOut },
  };
}
