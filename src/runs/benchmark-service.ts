import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { pause } from '../core/async/time.js';
import { RunConflictError, RunNotFoundError } from '../core/errors/errors.js';
import { etaOf } from '../core/eta.js';
import { Jobs } from '../jobs/jobs.js';
import {
  type BenchmarkCount,
  type BenchmarkPage,
  BenchmarkRun,
  type BenchmarkRunListing,
  type BenchmarkStatus,
  BenchmarkStore,
  BenchmarkSummary,
} from '../ports/benchmark-store.js';
import type { RunEvent } from '../ports/run-store.js';
import { samplingRunsOf } from './allocate.js';
import { jobOfBenchmark } from './parts.js';
import { RunService } from './run-service.js';
import { RunSettings } from './run-worker.js';

/** How many runs of an arm stand how, and what they came to. */
const BenchmarkArm = z.object({
  arm: z.string(),
  waiting: z.int().describe('Nobody works on them yet.'),
  queued: z.int(),
  running: z.int(),
  selected: z.int(),
  none: z.int().describe('Done, and no patch was worth returning.'),
  failed: z.int(),
  cancelled: z.int(),
  skipped: z.int().describe('Nothing could be asked of these instances.'),
  graded: z.int(),
  right: z.int(),
  wrong: z.int(),
  tokens: z.number(),
  cost_usd: z.number().nullable(),
});
type BenchmarkArm = z.infer<typeof BenchmarkArm>;

/** A benchmark as it stands. */
export const BenchmarkView = BenchmarkSummary.extend({
  issues: z.int(),
  /** The user's own first. Empty until everything that was sent in is read. */
  arms: z.array(BenchmarkArm),
  eta_s: z
    .object({ low: z.number(), likely: z.number(), high: z.number() })
    .nullable()
    .describe('Seconds until the last run has ended, from the pace of the last ones; null = not known.'),
});
export type BenchmarkView = z.infer<typeof BenchmarkView>;

const Share = z.object({ value: z.number(), low: z.number(), high: z.number() });

/** What an arm comes to over its graded issues, with intervals of 95 % (Wilson). */
export const BenchmarkCurve = z.object({
  arm: z.string(),
  issues: z.int().describe('With a graded candidate.'),
  selected: Share.extend({ issues: z.int() })
    .nullable()
    .describe('How often what was selected is right, over the issues of which it is known; null = of none.'),
  points: z.array(
    z.object({
      k: z.int(),
      pass_at_k: Share.describe('Of k random candidates, some one is right.'),
      best_at_k: Share.nullable().describe(
        'Of k random candidates, the arm’s rule returns a right one, ties averaged; null = not worked out.',
      ),
    }),
  ),
});
export type BenchmarkCurve = z.infer<typeof BenchmarkCurve>;

/** Pass@k and Best@k of the arms so far, the user's own first. */
export const BenchmarkCurves = z.object({ arms: z.array(BenchmarkCurve) });
export type BenchmarkCurves = z.infer<typeof BenchmarkCurves>;

/** The plots of a benchmark's report, in the order they are read, for pages that show it otherwise. */
export const BenchmarkPlots = z.object({
  plots: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      note: z.string().describe('How to read it.'),
      svg: z.string().describe('The drawing: shapes and text, no script, no style sheet, nothing to load.'),
      columns: z.array(z.string()).describe('Of the numbers behind it.'),
      rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))).describe('As many cells each as columns.'),
    }),
  ),
});
export type BenchmarkPlots = z.infer<typeof BenchmarkPlots>;

/** Whether the candidates of a run are right, by hidden tests: known only once nothing of its issue can be selected any more. */
export const RunLabels = z.object({
  graded: z.boolean().describe('False = nothing is known (yet), and there is no label.'),
  labels: z.array(
    z.object({
      candidate_id: z.string(),
      right: z.boolean().nullable().describe('Null = it could not be graded.'),
      reason: z.string(),
      failed_tests: z.array(z.string()).describe('Required tests that did not pass, the first of them.'),
    }),
  ),
});
export type RunLabels = z.infer<typeof RunLabels>;

/** What of a plan says how large it is. */
const PlanHead = z.object({
  arms: z.array(z.object({ name: z.string() })),
  instances: z.array(z.string()),
  skipped: z.array(z.object({ arm: z.string() })),
});

const NO_PLAN = { arms: [], instances: [], skipped: [] };
/** Names of a candidate's failed tests that are told. */
const FAILED_TESTS = 20;
/** Whose pace counts. */
const ENDINGS = 60;
const LOOK_EVERY_MS = 1_000;
const OPEN: readonly BenchmarkStatus[] = ['accepting', 'running', 'paused'];

/** Everything that can be asked of benchmarks. Every method may throw StoreUnavailableError. */
@Injectable()
export class BenchmarkService {
  constructor(
    private readonly store: BenchmarkStore,
    private readonly runs: RunService,
    private readonly jobs: Jobs,
    private readonly settings: RunSettings,
  ) {}

  /** @throws RunNotFoundError */
  async get(id: string): Promise<BenchmarkView> {
    const benchmark = await this.store.get(id);
    if (benchmark === null) throw notFound(id);
    const { plan } = benchmark;
    const summary = BenchmarkSummary.parse(benchmark);
    const { arms, instances, skipped } = plan === null ? NO_PLAN : PlanHead.parse(plan);
    const counts = await this.store.counts(id);
    const counted = arms.map(({ name }) => armOf(name, counts, skipped));
    const rest = counted.reduce((sum, { waiting, queued, running }) => sum + waiting + queued + running, 0);
    const isMoving = summary.status === 'running' && rest > 0;
    const endings = isMoving ? await this.store.endings(id, ENDINGS) : [];
    return { ...summary, issues: instances.length, arms: counted, eta_s: etaOf(endings, rest, Date.now()) };
  }

  list(limit: number, before: string | null): Promise<BenchmarkPage> {
    return this.store.list(limit, before);
  }

  /** @throws RunNotFoundError */
  async runsOf(id: string, listing: BenchmarkRunListing): Promise<readonly BenchmarkRun[]> {
    await this.statusOf(id);
    return this.store.runs(id, listing);
  }

  /** @throws RunNotFoundError */
  async labels(runId: string): Promise<RunLabels> {
    await this.runs.overview(runId);
    const known = await this.store.labels(runId);
    if (known === null) return { graded: false, labels: [] };
    const labels = known.grades.map(({ candidate_id, resolved: right, reason, tests }) => {
      const failed = Object.keys(tests).filter((name) => tests[name] !== 'passed');
      return { candidate_id, right, reason, failed_tests: failed.slice(0, FAILED_TESTS) };
    });
    const without = known.ungraded.map((each) => ({ ...each, right: null, failed_tests: [] }));
    return { graded: true, labels: [...labels, ...without] };
  }

  /** Begins nothing more; what is under way ends. @throws RunNotFoundError, RunConflictError unless it runs */
  async pause(id: string): Promise<BenchmarkStatus> {
    return this.change(id, 'paused', ['running', 'paused']);
  }

  /** Goes on, and does again what failed or was cancelled. @throws RunNotFoundError, RunConflictError before it has begun */
  async resume(id: string): Promise<BenchmarkStatus> {
    const benchmark = await this.store.get(id);
    if (benchmark === null) throw notFound(id);
    const { status, submitter } = benchmark;
    if (status === 'accepting') throw conflict(id, status, 'Send it in again with the same Idempotency-Key.');
    if (status !== 'running') {
      for (const run of await this.store.runs(id)) {
        if ((run.ungraded ?? 0) > 0) await this.store.grade(run.id, null);
        if (run.status !== 'failed' && run.status !== 'cancelled') continue;
        // Before it is open: it has to wait for its turn.
        await this.store.hand(run.id, false);
        await this.runs.retry(run.id);
      }
      await this.store.change(id, { status: 'running', note: null }, [status]);
    }
    await this.jobs.submit(jobOfBenchmark(id, submitter));
    return 'running';
  }

  /** Stops its runs wherever they are. @throws RunNotFoundError, RunConflictError when it is over */
  async cancel(id: string): Promise<BenchmarkStatus> {
    const status = await this.change(id, 'cancelled', [...OPEN, 'cancelled']);
    await this.jobs.cancel('benchmark', id);
    for (const run of await this.store.runs(id, { statuses: ['queued', 'running'] })) {
      await this.runs.cancel(run.id).catch(unlessConflict);
    }
    for (const { id: run } of await samplingRunsOf(id, this.runs)) await this.runs.cancel(run).catch(unlessConflict);
    return status;
  }

  /** With its runs. @throws RunNotFoundError, RunConflictError unless it has ended */
  async delete(id: string): Promise<void> {
    const status = await this.statusOf(id);
    if (OPEN.includes(status)) throw conflict(id, status, 'Cancel it first.');
    const open = await this.store.runs(id, { statuses: ['queued', 'running'] });
    if (open.some(({ handed }) => handed)) throw conflict(id, status, 'Some of its runs are still under way.');
    await this.store.delete(id);
    for (const { id: run } of await samplingRunsOf(id, this.runs)) await this.runs.delete(run).catch(unlessConflict);
  }

  /** Whether it has ended and stood so at that time. @throws RunNotFoundError */
  async isOver(id: string, at: number): Promise<boolean> {
    const benchmark = await this.store.get(id);
    if (benchmark === null) throw notFound(id);
    return !OPEN.includes(benchmark.status) && Date.parse(benchmark.updated_at) < at;
  }

  /** How it stands, now and whenever that changes, until it has ended; `seq` is a time in ms. */
  async *follow(id: string, signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    let last = '';
    while (!signal.aborted) {
      const view = await this.get(id).catch((error: unknown) => {
        if (error instanceof RunNotFoundError) return null;
        throw error;
      });
      if (view === null) return;
      // How long it takes changes all the time.
      const now = JSON.stringify({ ...view, eta_s: null });
      if (now !== last) {
        last = now;
        const seq = Math.max(Date.now(), Date.parse(view.updated_at) + 1);
        yield { seq, at: new Date(seq).toISOString(), type: 'progress', data: view };
      }
      if (!OPEN.includes(view.status)) return;
      await pause(Math.max(this.settings.pollMs, LOOK_EVERY_MS), signal).catch(() => undefined);
    }
  }

  private async change(id: string, to: BenchmarkStatus, from: readonly BenchmarkStatus[]): Promise<BenchmarkStatus> {
    if (await this.store.change(id, { status: to, note: null }, from)) return to;
    throw conflict(id, await this.statusOf(id), 'Look at it to see how it ended.');
  }

  private async statusOf(id: string): Promise<BenchmarkStatus> {
    const benchmark = await this.store.get(id);
    if (benchmark === null) throw notFound(id);
    return benchmark.status;
  }
}

function armOf(
  arm: string,
  counts: readonly BenchmarkCount[],
  skipped: readonly { readonly arm: string }[],
): BenchmarkArm {
  const own = counts.filter((count) => count.arm === arm);
  const sum = (value: (count: BenchmarkCount) => number, of = own): number =>
    of.reduce((total, count) => total + value(count), 0);
  const runs = (is: (count: BenchmarkCount) => boolean): number => sum((count) => count.runs, own.filter(is));
  const costs = own.flatMap(({ usd }) => usd ?? []);
  const selected = sum((count) => count.selected);
  return {
    arm,
    waiting: runs(({ status, handed }) => status === 'queued' && !handed),
    queued: runs(({ status, handed }) => status === 'queued' && handed),
    running: runs(({ status }) => status === 'running'),
    selected,
    none: runs(({ status }) => status === 'done') - selected,
    failed: runs(({ status }) => status === 'failed'),
    cancelled: runs(({ status }) => status === 'cancelled'),
    skipped: skipped.filter((one) => one.arm === arm).length,
    graded: sum((count) => count.graded),
    right: sum((count) => count.right),
    wrong: sum((count) => count.wrong),
    tokens: sum((count) => count.tokens),
    cost_usd: costs.length === 0 ? null : costs.reduce((total, usd) => total + usd, 0),
  };
}

/** It ended in this moment. */
function unlessConflict(error: unknown): void {
  if (!(error instanceof RunConflictError)) throw error;
}

function notFound(id: string): RunNotFoundError {
  return new RunNotFoundError(`There is no benchmark "${id}".`, 'List the benchmarks to see which exist.');
}

function conflict(id: string, status: BenchmarkStatus, next: string): RunConflictError {
  return new RunConflictError(`Benchmark "${id}" is ${status}.`, next);
}

/** How a benchmark is sent in. */
export interface BenchmarkWish {
  /** What makes asking twice one benchmark. */
  readonly key: string;
  /** The upload is packed. */
  readonly gzip: boolean;
  /** See `RunStore.create`. */
  readonly submitter: string;
}

/** What became of what was sent in. */
export const BenchmarkAccepted = BenchmarkSummary.pick({ id: true, status: true }).extend({
  issues: z.int(),
  runs: z.int(),
  skipped: z.int().describe('Arms’ instances that nothing could be asked of.'),
  rejected: z
    .object({ count: z.int(), first: z.array(z.string()) })
    .describe('Rows that could not be used, the first of them with line and reason.'),
});
export type BenchmarkAccepted = z.infer<typeof BenchmarkAccepted>;

/** Takes a data set and the ways to solve it. Bound in the composition root. */
export abstract class BenchmarkIntake {
  /**
   * @param upload JSON lines, read once, never held whole: the bench file, rows of any known data set, and
   *   `{"arms": [names], "candidate" or "test": {…}}` of arms that have their own
   * @param left aborts when nobody waits for the answer any more
   * @throws BadInputError naming the line, MachineLowError
   */
  abstract take(upload: AsyncIterable<Uint8Array>, wish: BenchmarkWish, left: AbortSignal): Promise<BenchmarkAccepted>;
}

/** What a report is sent as; `plots` = BenchmarkPlots. */
export type ReportFormat = 'json' | 'html' | 'csv' | 'text' | 'plots';

/** Makes the report of a benchmark as it stands. Bound in the composition root. */
export abstract class BenchmarkReports {
  /** @throws RunNotFoundError */
  abstract make(id: string, format: ReportFormat): Promise<string>;
  /** BenchmarkPlots as JSON; drawn once for what is known. @throws RunNotFoundError */
  abstract plots(id: string): Promise<string>;
  /** From what is graded so far. @throws RunNotFoundError */
  abstract curves(id: string): Promise<BenchmarkCurves>;
  /**
   * The selected patch of each run of an arm that has ended, as lines for SWE-bench's harness.
   * @param arm its name; absent = the user's own @throws RunNotFoundError, BadInputError for an arm that is not there
   */
  abstract predictions(id: string, arm: string | undefined): Promise<AsyncIterable<string>>;
}
