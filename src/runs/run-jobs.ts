import { z } from 'zod';
import { Wakeup } from '../core/async/deadline.js';
import { type Job, type JobHandler, type Jobs, MOST_LOST } from '../jobs/jobs.js';
import type { BenchmarkStore } from '../ports/benchmark-store.js';
import type { OpenRun, RunStore } from '../ports/run-store.js';
import type { RunExecutor } from './run-dependencies.js';
import type { RunSettings, RunWorker } from './run-worker.js';

/** Of one API key; the runs of others may take hours, so that there are as many places again. */
const RUNS_AT_ONCE = 4;

const RunPayload = z.object({ run_id: z.string() });
type RunPayload = z.infer<typeof RunPayload>;

/** A benchmark as a job: whoever does it hands its runs over in turn. */
export function jobOfBenchmark(benchmark_id: string, submitter: string): Job {
  return { kind: 'benchmark', key: benchmark_id, payload: { benchmark_id }, turn: { line: submitter, of: 1 } };
}

/** A run as a job. Keys take turns. */
export function jobOfRun(run_id: string, submitter: string): Job {
  return { kind: 'run', key: run_id, payload: { run_id }, turn: { line: submitter, of: 1 } };
}

/**
 * Works on the runs of a service. One that there is no room for waits, and may be taken by another process.
 * @param ended rings when a run here is no longer worked on
 */
export function runHandler(
  worker: RunWorker,
  executor: RunExecutor,
  { room }: RunSettings,
  ended = new Wakeup(),
): JobHandler<RunPayload> {
  return {
    kind: 'run',
    payload: RunPayload,
    result: null,
    atOnce: 2 * RUNS_AT_ONCE,
    atOnceOfLine: RUNS_AT_ONCE,
    mayBegin: async () => (await room.shortage()) === null,
    perform: async ({ run_id }, { signal }) => {
      try {
        await worker.work(run_id, signal, { only: { setup: await executor.setup() }, mostLost: MOST_LOST });
      } finally {
        ended.ring();
      }
    },
  };
}

export interface RecoveryTools {
  readonly store: RunStore;
  readonly executor: RunExecutor;
  readonly jobs: Jobs;
  readonly settings: RunSettings;
  /** Absent = there are none. */
  readonly benchmarks?: Pick<BenchmarkStore, 'running'>;
}

/** Hands over, now and then, the runs and benchmarks that have not ended: whatever became of a job, nothing is stuck. */
export class RunRecovery {
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly tools: RecoveryTools) {}

  async start(): Promise<void> {
    this.timer = setInterval(() => void this.look(), this.tools.settings.recoverMs).unref();
    await this.look();
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    const { store, executor, jobs, settings, benchmarks } = this.tools;
    try {
      const setup = await executor.setup();
      for (const run of await store.open())
        if (await this.isOurs(run, setup)) await jobs.submit(jobOfRun(run.id, run.submitter));
      for (const { id, submitter } of (await benchmarks?.running()) ?? [])
        await jobs.submit(jobOfBenchmark(id, submitter));
    } catch (error) {
      settings.logger.warn(`Looking for runs that nobody has taken up failed: ${String(error)}`);
    }
  }

  /** Those of the same settings, and those whose processes are gone: their results are found, and what differs is made anew. */
  private async isOurs({ id, setup: theirs }: OpenRun, setup: string): Promise<boolean> {
    if (theirs === setup) return true;
    const { store, jobs, settings } = this.tools;
    if ((await jobs.others(theirs)) > 0) return false;
    settings.logger.warn(
      `Run ${id} was accepted under other settings (${theirs}), and no process has them any more: it is done under ours (${setup}).`,
      { run_id: id },
    );
    await store.adopt(id, setup);
    await store.append(id, 'settings', { accepted: theirs, done: setup });
    return true;
  }
}
