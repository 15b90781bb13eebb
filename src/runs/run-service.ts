import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { InterruptedError } from '../core/errors/errors.js';
import { RunConflictError, RunNotFoundError } from '../core/errors/errors.js';
import {
  hasEnded,
  type Run,
  type RunEvent,
  type RunListing,
  type RunOverview,
  type RunPage,
  type RunStatus,
  RunStore,
} from '../ports/run-store.js';
import { type Job, type JobHandler, Jobs } from '../jobs/jobs.js';
import { RunBell } from '../jobs/run-bell.js';
import { RunExecutor } from './run-executor.js';
import { RunFollowers } from './run-followers.js';
import { RunSettings } from './run-settings.js';
import { RunWorker } from '../jobs/run-worker.js';

const OPEN: readonly RunStatus[] = ['queued', 'running'];
const LOOK_EVERY_MS = 1_000;
/** Of one API key; the runs of others may take hours, so that there are as many places again. */
const RUNS_AT_ONCE = 4;

const RunJob = z.object({ run_id: z.string() });
type RunJob = z.infer<typeof RunJob>;

function jobOf(run_id: string, submitter: string): Job {
  return { kind: 'run', key: run_id, payload: { run_id }, turn: { line: submitter, of: 1 } };
}

/** Everything that can be asked of runs. Every method may throw StoreUnavailableError. */
@Injectable()
export class RunService {
  private readonly bell: RunBell;
  private readonly followers: RunFollowers;
  private readonly worker: RunWorker;
  private timers: readonly NodeJS.Timeout[] = [];
  private takesAll = false; // else one run is a command's, which wants to hear its failure
  private closing: Promise<void> | null = null;
  constructor(
    private readonly store: RunStore,
    private readonly executor: RunExecutor,
    private readonly jobs: Jobs,
    private readonly settings: RunSettings,
  ) {
    this.bell = settings.bell;
    this.followers = new RunFollowers(store, settings);
    this.worker = new RunWorker(store, executor, this.bell, settings);
  }

  /**
   * Accepts a request; the run is worked on as soon as there is room. The same key and request give the same run.
   * @param submitter see `RunStore.create`
   * @throws BadInputError for what cannot be done or a key of another request, InterruptedError while shutting down
   */
  async submit(key: string, request: Run['request'], submitter = ''): Promise<Run> {
    if (this.closing !== null) throw new InterruptedError('The service is shutting down.');
    this.executor.check?.(request);
    const { run } = await this.store.create(key, request, submitter);
    if (!hasEnded(run.status)) await this.jobs.submit(jobOf(run.id, submitter));
    return run;
  }

  /** Works again on a run that failed or was cancelled. @throws RunNotFoundError, RunConflictError */
  async retry(id: string): Promise<void> {
    const change = { status: 'queued', failure: null } as const;
    await this.change(id, change, ['failed', 'cancelled']);
    await this.submitAll(['queued'], id);
  }

  /** @throws RunNotFoundError */
  async get(id: string): Promise<Run> {
    const run = await this.store.get(id);
    if (run === null) throw RunNotFoundError.forRun(id);
    return run;
  }

  /** Newest first, or as `listing` says. @throws BadInputError for a `before` that no page gave */
  list(limit: number, before: string | null, listing?: RunListing): Promise<RunPage> {
    return this.store.list(limit, before, listing);
  }

  /** How far it is and what it came to, without its documents. @throws RunNotFoundError */
  async overview(id: string): Promise<RunOverview> {
    const overview = await this.store.overview(id);
    if (overview === null) throw RunNotFoundError.forRun(id);
    return overview;
  }

  /** Whether the run has ended and nothing comes after `seq`. @throws RunNotFoundError */
  async isOver(id: string, seq: number): Promise<boolean> {
    return hasEnded(await this.statusOf(id)) && (await this.store.events(id, seq, 1)).length === 0;
  }

  /**
   * The journal after `afterSeq`, then what is added to it, each event once and in order, whichever process works on
   * the run. Ends when the run has ended or is gone, when `signal` aborts, or when the service shuts down.
   */
  follow(id: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<RunEvent, void> {
    return this.followers.follow(id, afterSeq, signal);
  }

  /** Stops a run wherever it is; its work is told at once. @throws RunNotFoundError, RunConflictError when it is over */
  async cancel(id: string): Promise<void> {
    if ((await this.statusOf(id)) === 'cancelled') return;
    await this.change(id, { status: 'cancelled' }, ['queued', 'running']);
    await this.jobs.cancel('run', id);
  }

  /** @throws RunNotFoundError, RunConflictError unless it has ended */
  async delete(id: string): Promise<void> {
    const status = await this.statusOf(id);
    if (!hasEnded(status)) throw new RunConflictError(`Run "${id}" is ${status}.`, 'Cancel it first.');
    await this.store.delete(id);
  }

  /**
   * Takes up what dead processes left, now and whenever a lease may have run out; with `only`, that run alone. Runs that
   * a living process works on stay with it.
   */
  async recover(only?: string): Promise<void> {
    if (this.closing !== null) return;
    this.takesAll ||= only === undefined;
    if (this.timers.length === 0) {
      const { leaseMs } = this.settings;
      this.timers = [
        setInterval(() => void this.takeUp(OPEN, only), leaseMs).unref(),
        // What another process accepted and has no room for.
        setInterval(() => void this.takeUp(['queued'], only), Math.min(leaseMs, LOOK_EVERY_MS)).unref(),
      ];
    }
    await this.submitAll(OPEN, only);
  }

  /** Whether the store answers and runs are accepted. @throws StoreUnavailableError, InterruptedError */
  async checkReady(): Promise<void> {
    if (this.closing !== null) throw new InterruptedError('The service is shutting down.');
    await this.store.list(1, null);
  }

  /** Takes no more work, lets what is under way finish for a while, and gives the rest back to the queue. */
  shutdown(): Promise<void> {
    this.closing ??= this.close();
    return this.closing;
  }

  /** Works on runs in this process. A run that there is no room for stays in the queue, where another process may take it. */
  handler(): JobHandler<RunJob, null> {
    return {
      kind: 'run',
      payload: RunJob,
      result: null,
      atOnce: 2 * RUNS_AT_ONCE,
      atOnceOfLine: RUNS_AT_ONCE,
      mayBegin: async () => !this.takesAll || (await this.settings.room.shortage()) === null,
      perform: async ({ run_id }, { signal }) => {
        await this.worker.work(run_id, signal);
        return null;
      },
    };
  }

  private async close(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    const { departure, drainMs } = this.settings;
    departure.begin();
    this.bell.ringAll();
    await this.jobs.close(drainMs);
    await this.worker.releaseAll();
  }

  private async submitAll(statuses: readonly RunStatus[], only: string | undefined): Promise<void> {
    for (const { id, submitter } of await this.store.withStatus(statuses)) {
      if (only === undefined || id === only) await this.jobs.submit(jobOf(id, submitter));
    }
  }

  private async takeUp(statuses: readonly RunStatus[], only: string | undefined): Promise<void> {
    await this.submitAll(statuses, only).catch((error: unknown) => {
      this.settings.logger.warn(`Looking for abandoned runs failed: ${String(error)}`);
    });
  }

  private async statusOf(id: string): Promise<RunStatus> {
    const status = await this.store.statusOf(id);
    if (status === null) throw RunNotFoundError.forRun(id);
    return status;
  }

  private async change(
    id: string,
    change: Partial<Pick<Run, 'status' | 'failure'>>,
    from: readonly RunStatus[],
  ): Promise<void> {
    const changed = await this.store.update(id, change, { statuses: from });
    if (!changed) {
      const status = await this.statusOf(id);
      throw new RunConflictError(`Run "${id}" is ${status}.`, 'Look at the run to see how it ended.');
    }
    this.bell.ring(id);
  }
}
