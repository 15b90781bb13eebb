import { z } from 'zod';
import { secondsOf, Wakeup } from '../core/async/time.js';
import { type Job, type JobHandler, type Jobs, MOST_LOST, NotNowError, type Work } from '../jobs/jobs.js';
import type { BenchmarkStore } from '../ports/benchmark-store.js';
import { type OpenRun, type RunStore, hasEnded, type PartKind } from '../ports/run-store.js';
import { type RunExecutor, Accounted, type RunDependencies, type RunDependenciesFactory } from './run-dependencies.js';
import type { RunSettings, RunWorker } from './run-worker.js';
import { WarmStarts, inRun } from '../core/async/concurrency.js';
import { contentKey } from '../core/identifier.js';
import { CellJob } from '../core/run/generated-test.js';
import { Branch, EarlierTries, Inspection } from '../core/run/rollout.js';
import { RunRequest } from '../core/run/run-request.js';
import { InterruptedError } from '../core/errors/errors.js';
import { ImageMissingError } from '../core/errors/unavailable.js';
import { Completion, CompletionRequest } from '../ports/llm-client.js';
import type { Sandbox } from '../ports/sandbox.js';

/** Concurrent runs of one API key. A process has twice as many slots, because one key's runs may take hours. */
const RUNS_AT_ONCE = 4;

const RunPayload = z.object({ run_id: z.string() });
type RunPayload = z.infer<typeof RunPayload>;

/** A benchmark as a job; the process that takes it hands over the benchmark's runs in order. */
export function jobOfBenchmark(benchmark_id: string, submitter: string): Job {
  return { kind: 'benchmark', key: benchmark_id, payload: { benchmark_id }, turn: { line: submitter, of: 1 } };
}

/** A run as a job; API keys take turns. */
export function jobOfRun(run_id: string, submitter: string): Job {
  return { kind: 'run', key: run_id, payload: { run_id }, turn: { line: submitter, of: 1 } };
}

/**
 * Handles a service's runs. If the machine lacks room, a run waits and may be taken by another process.
 * @param ended rings when this process stops working on a run
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
  /** Absent = there are no benchmarks. */
  readonly benchmarks?: Pick<BenchmarkStore, 'running' | 'adopt'>;
}

/** Periodically resubmits open runs and benchmarks, so that none is stuck if its job is lost. */
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
      for (const run of await store.open()) {
        const { id, submitter, setup: accepted } = run;
        const adopt = async (): Promise<boolean> => {
          const isAdopted = await store.adopt(id, setup, accepted);
          if (isAdopted) await store.append(id, 'settings', { accepted, done: setup });
          return isAdopted;
        };
        if (await this.isOurs('Run', run, setup, adopt)) await jobs.submit(jobOfRun(id, submitter));
      }
      for (const benchmark of (await benchmarks?.running()) ?? []) {
        const { id, submitter, setup: accepted } = benchmark;
        const adopt = async (): Promise<boolean> => (await benchmarks?.adopt(id, setup, accepted)) === true;
        if (await this.isOurs('Benchmark', benchmark, setup, adopt)) await jobs.submit(jobOfBenchmark(id, submitter));
      }
    } catch (error) {
      settings.logger.warn(`Looking for unclaimed runs failed: ${String(error)}`);
    }
  }

  /**
   * What has the same settings, and what has settings of no live process: stored results are reused, the rest is
   * recomputed.
   */
  private async isOurs(
    what: 'Run' | 'Benchmark',
    { id, setup: theirs }: OpenRun,
    setup: string,
    adopt: () => Promise<boolean>,
  ): Promise<boolean> {
    if (theirs === setup) return true;
    const { jobs, settings } = this.tools;
    // Another process may have adopted it meanwhile.
    if ((await jobs.others(theirs)) > 0 || !(await adopt())) return false;
    settings.logger.warn(
      `${what} ${id} was accepted under other settings (${theirs}), and no process has them any more: it is done under ours (${setup}).`,
      { [`${what.toLowerCase()}_id`]: id },
    );
    return true;
  }
}

/* Parts of a run that any process with the same settings can do, as jobs. Results are stored under content keys, where the
   run's own process finds them. */

const OfRun = {
  run_id: z.string(),
  /** Description shown to users who follow the run. */
  label: z.string(),
};
/** The image id in the run's process: results from another image would be wrong. */
const InImage = { image_id: z.string() };

export const RolloutPart = z.object({
  ...OfRun,
  ...InImage,
  candidate_id: z.string(),
  sample: z.int(),
  /** The agent of the run that makes it; null = its only one. */
  agent: z.string().nullable().default(null),
  earlier: EarlierTries.optional(),
  branch: Branch.optional(),
  /** A judge's inspection of a patch, instead of a rollout. */
  inspection: Inspection.optional(),
});
export const CallPart = z.object({ ...OfRun, request: CompletionRequest });
export const CellsPart = z.object({ ...OfRun, ...InImage, job: CellJob });

/**
 * Name of a rollout or an inspection in the accounts of its run. It is the same in every process, so that what was paid is
 * recognised wherever the work is repeated.
 */
export function accountOf({
  agent,
  sample,
  inspection,
}: Pick<z.infer<typeof RolloutPart>, 'agent' | 'sample' | 'inspection'>): string {
  return inspection === undefined ? `${agent ?? 'rollout'} ${sample}` : `judge ${contentKey(inspection).slice(0, 16)}`;
}

export interface PartTools {
  readonly runs: RunStore;
  readonly sandbox: Sandbox;
  readonly dependencies: RunDependenciesFactory;
  readonly settings: RunSettings;
  /** How many parts of each kind this process does at once. */
  readonly atOnce: Readonly<Record<'rollout' | 'call' | 'cells', number>>;
}

const none = (): Promise<void> => Promise.resolve();
const NOTHING = { cell: none, admission: none, existing: none };
/** How long a part without its image here is left to processes that have it, in ms. */
const NOT_HERE_MS = 2_000;
const MOST_KEPT = 32;

/**
 * State shared by the parts of one run in this process: compiled code of the image, and warmed prompt caches of the model
 * server.
 */
interface SharedByParts {
  readonly cells: RunDependencies['cells'];
  readonly warm: WarmStarts;
}

/** Executes parts of any run with this process's settings. */
export class PartHandlers {
  private readonly shared = new Map<string, SharedByParts>();

  constructor(private readonly tools: PartTools) {}

  all(): readonly JobHandler[] {
    const { atOnce, settings } = this.tools;
    const canCompute = async (): Promise<boolean> => (await settings.room.shortage()) === null;
    // Needs no container.
    const canAsk = async (): Promise<boolean> => (await settings.room.shortage(['store'])) === null;
    return [
      {
        kind: 'rollout',
        payload: RolloutPart,
        result: Accounted,
        atOnce: atOnce.rollout,
        mayBegin: canCompute,
        perform: (part: z.infer<typeof RolloutPart>, work: Work) =>
          this.within(part.inspection === undefined ? 'rollout' : 'verdict', part, work, () =>
            this.rollout(part, work.signal),
          ),
      },
      {
        kind: 'call',
        payload: CallPart,
        result: Completion,
        atOnce: atOnce.call,
        mayBegin: canAsk,
        perform: (part: z.infer<typeof CallPart>, work: Work) =>
          this.within(part.request.purpose === 'judge' ? 'verdict' : 'call', part, work, () =>
            this.tools.dependencies.complete(part.request, work.signal),
          ),
      },
      {
        kind: 'cells',
        payload: CellsPart,
        result: z.object({}),
        atOnce: atOnce.cells,
        mayBegin: canCompute,
        perform: (part: z.infer<typeof CellsPart>, work: Work) =>
          this.within('cells', part, work, async () => {
            await this.inImage(part, part.job.environment.image, work.signal, () =>
              this.sharedOf(part.run_id).cells(part.job, work.signal),
            );
            return {};
          }),
      },
    ] as readonly JobHandler[];
  }

  /** Executes a part on behalf of its run. */
  private within<T>(
    kind: PartKind,
    { run_id, label }: { readonly run_id: string; readonly label: string },
    { attempt }: Work,
    work: () => Promise<T>,
  ): Promise<T> {
    const { runs, settings } = this.tools;
    return inRun(run_id, async () => {
      await this.requireOpen(run_id);
      const start = performance.now();
      const done = await work();
      const seconds = secondsOf(performance.now() - start);
      const told = { kind, label, worker: settings.process, attempts: attempt, seconds };
      // The run may have ended meanwhile.
      await runs.append(run_id, 'part', told).catch(() => undefined);
      return done;
    });
  }

  /** @throws InterruptedError if the run has ended or is gone */
  private async requireOpen(runId: string): Promise<void> {
    if (hasEnded((await this.tools.runs.statusOf(runId)) ?? 'cancelled')) throw new InterruptedError();
  }

  private async rollout(part: z.infer<typeof RolloutPart>, signal: AbortSignal): Promise<Accounted> {
    const { runs, dependencies } = this.tools;
    const { run_id: runId, sample, agent: whose, candidate_id: candidateId, earlier, branch, inspection } = part;
    const { issue, budget, agent, agents, verifiers } = RunRequest.parse((await runs.get(runId))?.request);
    const { warm } = this.sharedOf(runId);
    const work = { runId, part: accountOf(part), budget, agent, agents, verifiers, tries: 1, warm };
    const deps = dependencies.create(NOTHING, work);
    const done = (): Accounted => ({ usage: [...deps.usage()], spent: { ...deps.ledger.spent() } });
    if (inspection !== undefined) {
      // An agent's own steps find that out when they are journaled.
      const onStep = (): Promise<void> => this.requireOpen(runId);
      await this.inImage(part, issue.environment.image, signal, () => deps.inspect(issue, inspection, signal, onStep));
      return done();
    }
    if (deps.sampler === null) throw new Error('A trajectory was asked for, and no agent model is configured.');
    const { sampler } = deps;
    const task = {
      issue,
      candidateId,
      sample,
      agent: whose,
      earlier,
      branch,
      stopAt: null,
      onStep: async (step: object) => {
        await runs.append(runId, 'step', { ...step });
      },
    };
    await this.inImage(part, issue.environment.image, signal, () => sampler.sample(task, signal));
    return done();
  }

  private sharedOf(runId: string): SharedByParts {
    const none = { runId, part: '', budget: null, tries: 1 };
    const shared = this.shared.get(runId) ?? {
      cells: this.tools.dependencies.create(NOTHING, none).cells,
      warm: new WarmStarts(),
    };
    // Least recently used first.
    this.shared.delete(runId);
    this.shared.set(runId, shared);
    const [oldest] = this.shared.keys();
    if (this.shared.size > MOST_KEPT && oldest !== undefined) this.shared.delete(oldest);
    return shared;
  }

  /** @throws NotNowError if the image is missing or its name refers to another: other processes may have it */
  private async inImage<T>(
    { image_id }: { readonly image_id: string },
    image: string,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    const { sandbox } = this.tools;
    const found = await sandbox.describeImage(image, signal).catch((error: unknown) => {
      if (error instanceof ImageMissingError) return null;
      throw error;
    });
    if (found?.id !== image_id) throw new NotNowError(NOT_HERE_MS);
    return sandbox.keeping(image, work);
  }
}
