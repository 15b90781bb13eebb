import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { BriefCache } from '../core/async/concurrency.js';
import { etaOf, pause } from '../core/async/time.js';
import { RunConflictError, RunNotFoundError } from '../core/errors/errors.js';
import { Jobs } from '../jobs/jobs.js';
import {
  type Benchmark,
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
import { jobOfBenchmark } from './job-handlers.js';
import { RunService } from './run-service.js';
import { RunSettings } from './run-worker.js';

/** Number of an arm's runs by state, and their totals. */
const BenchmarkArm = z.object({
  arm: z.string(),
  waiting: z.int().describe('Not started yet.'),
  queued: z.int(),
  running: z.int(),
  selected: z.int(),
  none: z.int().describe('Done, without a returned patch.'),
  failed: z.int(),
  cancelled: z.int(),
  skipped: z.int().describe('Instances that could not be started.'),
  ...{ graded: z.int(), right: z.int(), wrong: z.int() },
  unknown: z.int().describe('Graded runs of which it is unknown whether the selected patch is right.'),
  tokens: z.number(),
  cost_usd: z.number().nullable(),
});
type BenchmarkArm = z.infer<typeof BenchmarkArm>;

/** A benchmark's current state. */
export const BenchmarkView = BenchmarkSummary.extend({
  issues: z.int(),
  /** The user's own first. Empty until the upload is read completely. */
  arms: z.array(BenchmarkArm),
  eta_s: z
    .object({ low: z.number(), likely: z.number(), high: z.number() })
    .nullable()
    .describe('Estimated seconds until the last run ends, from the pace of recent ones; null = unknown.'),
});
export type BenchmarkView = z.infer<typeof BenchmarkView>;

const Share = z.object({ value: z.number(), low: z.number(), high: z.number() });

/** Results of an arm over its graded issues, with 95 % intervals (Wilson). */
export const BenchmarkCurve = z.object({
  arm: z.string(),
  issues: z.int().describe('Number of issues with a graded candidate.'),
  selected: Share.extend({ issues: z.int() })
    .nullable()
    .describe('Share of right selections over the issues with a known outcome; null = none is known.'),
  unknown: z.int().describe('Number of graded issues with an unknown outcome, which are excluded.'),
  points: z.array(
    z.object({
      k: z.int(),
      pass_at_k: Share.describe('P(at least one of k random candidates is right).'),
      best_at_k: Share.nullable().describe(
        'P(the arm’s rule returns a right one of k random candidates), ties averaged; null = not computed.',
      ),
    }),
  ),
});
export type BenchmarkCurve = z.infer<typeof BenchmarkCurve>;

/** Pass@k and Best@k of the arms so far, the user's own first. */
export const BenchmarkCurves = z.object({ arms: z.array(BenchmarkCurve) });
export type BenchmarkCurves = z.infer<typeof BenchmarkCurves>;

/** The plots of a benchmark's report, in reading order, for display on other pages. */
export const BenchmarkPlots = z.object({
  plots: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      note: z.string().describe('How to read the plot.'),
      svg: z.string().describe('The drawing: shapes and text, no script, no style sheet, nothing to load.'),
      columns: z.array(z.string()).describe('Columns of the underlying numbers.'),
      rows: z.array(z.array(z.union([z.string(), z.number(), z.null()]))).describe('One cell per column.'),
    }),
  ),
});
export type BenchmarkPlots = z.infer<typeof BenchmarkPlots>;

/** Labels of a run's candidates, from hidden tests; available once no selection for its issue can still be made. */
export const RunLabels = z.object({
  graded: z.boolean().describe('False = not graded (yet); there are no labels.'),
  labels: z.array(
    z.object({
      candidate_id: z.string(),
      right: z.boolean().nullable().describe('Null = unknown, for the reason stated.'),
      reason: z.string(),
      failed_tests: z.array(z.string()).describe('Required tests that did not pass (the first ones).'),
    }),
  ),
});
export type RunLabels = z.infer<typeof RunLabels>;

/** The parts of a plan that determine its size. */
const PlanHead = z.object({
  arms: z.array(z.object({ name: z.string() })),
  instances: z.array(z.string()),
  skipped: z.array(z.object({ arm: z.string() })),
});

const NO_PLAN = { arms: [], instances: [], skipped: [] };
/** Most names of failed tests returned for a candidate. */
const FAILED_TESTS = 20;
/** Number of latest endings that the time estimate is based on. */
const ENDINGS = 60;
const LOOK_EVERY_MS = 1_000;
const OPEN: readonly BenchmarkStatus[] = ['accepting', 'running', 'paused'];

/** Operations on benchmarks. Every method may throw StoreUnavailableError. */
@Injectable()
export class BenchmarkService {
  /** Counting thousands of runs takes milliseconds: those who follow one benchmark share a look at it. */
  private readonly looks = new BriefCache<{ readonly at: number; readonly view: BenchmarkView }>(LOOK_EVERY_MS / 2);

  constructor(
    private readonly store: BenchmarkStore,
    private readonly runs: RunService,
    private readonly jobs: Jobs,
    private readonly settings: RunSettings,
  ) {}

  /** @throws RunNotFoundError */
  async get(id: string): Promise<BenchmarkView> {
    const benchmark = await this.stored(id);
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

  /** Starts nothing more; work in progress continues. @throws RunNotFoundError, RunConflictError unless it is running */
  async pause(id: string): Promise<BenchmarkStatus> {
    return this.change(id, 'paused', ['running', 'paused']);
  }

  /** Continues, and repeats failed or cancelled runs. @throws RunNotFoundError, RunConflictError until it is accepted */
  async resume(id: string): Promise<BenchmarkStatus> {
    const { status, submitter, plan } = await this.stored(id);
    if (status === 'accepting') throw conflict(id, status, 'Send it again with the same Idempotency-Key.');
    if (plan === null) throw conflict(id, status, 'It was never accepted: delete it, and send it again.');
    if (status !== 'running') {
      for (const run of await this.store.runs(id)) {
        if ((run.ungraded ?? 0) > 0) await this.store.grade(run.id, null);
        if (run.status !== 'failed' && run.status !== 'cancelled') continue;
        // Handed back before it is reopened, so that it waits for its turn.
        await this.store.hand(run.id, false);
        await this.runs.retry(run.id);
      }
      await this.store.change(id, { status: 'running', note: null }, [status]);
    }
    await this.jobs.submit(jobOfBenchmark(id, submitter));
    return 'running';
  }

  /** Stops its runs in all processes. @throws RunNotFoundError, RunConflictError if it has ended */
  async cancel(id: string): Promise<BenchmarkStatus> {
    const status = await this.change(id, 'cancelled', [...OPEN, 'cancelled']);
    await this.jobs.cancel('benchmark', id);
    for (const run of await this.store.runs(id, { statuses: ['queued', 'running'] })) {
      await this.runs.cancel(run.id).catch(unlessConflict);
    }
    for (const { id: run } of await samplingRunsOf(id, this.runs)) await this.runs.cancel(run).catch(unlessConflict);
    return status;
  }

  /** Deletes it with its runs. @throws RunNotFoundError, RunConflictError unless it has ended */
  async delete(id: string): Promise<void> {
    const status = await this.statusOf(id);
    if (OPEN.includes(status)) throw conflict(id, status, 'Cancel it first.');
    const open = await this.store.runs(id, { statuses: ['queued', 'running'] });
    if (open.some(({ handed }) => handed)) throw conflict(id, status, 'Some of its runs are still in progress.');
    await this.store.delete(id);
    for (const { id: run } of await samplingRunsOf(id, this.runs)) await this.runs.delete(run).catch(unlessConflict);
  }

  /** Whether it has ended and not changed since that time. @throws RunNotFoundError */
  async isOver(id: string, at: number): Promise<boolean> {
    const { status, updated_at } = await this.stored(id);
    return !OPEN.includes(status) && Date.parse(updated_at) < at;
  }

  /** Yields its state now and at each change, until it has ended; `seq` is a time in ms. */
  async *follow(id: string, signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    let last = '';
    while (!signal.aborted) {
      const look = this.looks.of(id, async () => ({ at: Date.now(), view: await this.get(id) }));
      const { at, view } = await look.catch(unlessNotFound);
      if (view === null) return;
      // The time estimate changes constantly and is ignored.
      const now = JSON.stringify({ ...view, eta_s: null });
      if (now !== last) {
        last = now;
        const seq = Math.max(at, Date.parse(view.updated_at) + 1);
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
    return (await this.stored(id)).status;
  }

  private async stored(id: string): Promise<Benchmark> {
    const benchmark = await this.store.get(id);
    if (benchmark !== null) return benchmark;
    throw new RunNotFoundError(`There is no benchmark "${id}".`, 'List the benchmarks to see which exist.');
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
    ...{ graded: sum((count) => count.graded), right: sum((count) => count.right) },
    wrong: sum((count) => count.wrong),
    unknown: sum((count) => count.graded - count.right - count.wrong),
    tokens: sum((count) => count.tokens),
    cost_usd: costs.length === 0 ? null : costs.reduce((total, usd) => total + usd, 0),
  };
}

/** The run has just ended. */
function unlessConflict(error: unknown): void {
  if (!(error instanceof RunConflictError)) throw error;
}

function unlessNotFound(error: unknown): { readonly at: number; readonly view: null } {
  if (error instanceof RunNotFoundError) return { at: 0, view: null };
  throw error;
}

function conflict(id: string, status: BenchmarkStatus, next: string): RunConflictError {
  return new RunConflictError(`Benchmark "${id}" is ${status}.`, next);
}

/** The parameters of an upload. */
export interface BenchmarkWish {
  /** Idempotency key: repeated uploads with the same key give one benchmark. */
  readonly key: string;
  /** Whether the upload is compressed. */
  readonly gzip: boolean;
  /** See `RunStore.create`. */
  readonly submitter: string;
}

/** The answer to an upload. */
export const BenchmarkAccepted = BenchmarkSummary.pick({ id: true, status: true }).extend({
  issues: z.int(),
  runs: z.int(),
  skipped: z.int().describe('Instances that could not be started, by arm.'),
  rejected: z
    .object({ count: z.int(), first: z.array(z.string()) })
    .describe('Rejected rows; the first ones with line and reason.'),
});
export type BenchmarkAccepted = z.infer<typeof BenchmarkAccepted>;

/** Accepts a data set and the arms to solve it with. Bound in the composition root. */
export abstract class BenchmarkIntake {
  /**
   * @param upload JSON lines, read once as a stream: the bench file, rows of any known data set, and `{"arms": [names],
   * "candidate" or "test": {…}}` for arms with supplied ones
   * @param left aborts when the client no longer waits for the answer
   * @throws BadInputError naming the line, MachineLowError
   */
  abstract take(upload: AsyncIterable<Uint8Array>, wish: BenchmarkWish, left: AbortSignal): Promise<BenchmarkAccepted>;
}

/** Formats of a report; `plots` = BenchmarkPlots. */
export type ReportFormat = 'json' | 'html' | 'csv' | 'text' | 'plots';

/** Makes the report of a benchmark's current state. Bound in the composition root. */
export abstract class BenchmarkReports {
  /** @throws RunNotFoundError */
  abstract make(id: string, format: ReportFormat): Promise<string>;
  /** BenchmarkPlots as JSON; drawn once per state. @throws RunNotFoundError */
  abstract plots(id: string): Promise<string>;
  /** From the issues graded so far. @throws RunNotFoundError */
  abstract curves(id: string): Promise<BenchmarkCurves>;
  /**
   * The selected patch of each finished run of an arm, as lines for the SWE-bench harness.
   * @param arm its name; absent = the user's own @throws RunNotFoundError, BadInputError for an unknown arm
   */
  abstract predictions(id: string, arm: string | undefined): Promise<AsyncIterable<string>>;
}
