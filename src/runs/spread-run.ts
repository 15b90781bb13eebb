import { z } from 'zod';
import type { Sampler } from '../agent/loop/rollout.js';
import type { RemoteExecutor } from '../core/run/generated-test.js';
import { contentKey } from '../core/identifier.js';
import type { ModelCall, Observe } from '../core/run/verifier.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { Job, Jobs } from '../jobs/jobs.js';
import { Completion, type RemoteCall } from '../ports/llm-client.js';
import type { RunStore } from '../ports/run-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import type { CallPart, CellsPart, RolloutPart } from './parts.js';
import {
  Accounted,
  type Elsewhere,
  type Emit,
  type RunDependencies,
  type RunDependenciesFactory,
} from './run-dependencies.js';

export interface SpreadTools {
  readonly jobs: Jobs;
  readonly runs: Pick<RunStore, 'siblings'>;
}

export interface DependencyTools {
  readonly dependencies: RunDependenciesFactory;
  readonly sandbox: Sandbox;
  /** Absent = everything is done in this process. */
  readonly spread?: SpreadTools;
}

interface SpreadOne {
  readonly id: string;
  readonly request: RunRequest;
}

/** The dependencies of a run; while other processes exist, its parts go to whichever has room. */
export function dependenciesOf(tools: DependencyTools, run: SpreadOne, observe: Observe): RunDependencies {
  const { dependencies, sandbox, spread } = tools;
  const { budget, agent, agents, verifiers } = run.request;
  const work = { runId: run.id, part: 'run', budget, agent, agents, verifiers };
  if (spread === undefined) return dependencies.create(observe, work);
  const parts = new SpreadRun(spread, sandbox, run);
  const deps = dependencies.create(observe, work, { cells: parts.cells, call: parts.call, inspect: parts.inspect });
  return { ...deps, sampler: deps.sampler === null ? null : parts.sampler(deps.sampler, deps) };
}

/** How long the number of runs that share a turn is cached, in ms. */
const SIBLINGS_MS = 2_000;

class SpreadRun {
  private siblings = { of: 1, at: Number.NEGATIVE_INFINITY };

  constructor(
    private readonly tools: SpreadTools,
    private readonly sandbox: Sandbox,
    private readonly run: SpreadOne,
  ) {}

  /** Has a job's cells executed by any process. */
  readonly cells: RemoteExecutor = async (job, signal) => {
    if (await this.isAlone()) return;
    const image_id = await this.imageId(signal);
    const what = job.tests === null ? 'regression' : `${job.tests.length} tests`;
    const label = `${what} on ${job.tree === null ? 'base' : `patch ${contentKey(job.tree).slice(0, 8)}`}`;
    const part: z.infer<typeof CellsPart> = { run_id: this.run.id, label, image_id, job };
    const key = contentKey({ kind: 'cells', image_id, job });
    await this.have({ kind: 'cells', key, payload: part }, z.object({}), signal);
  };

  /** Has a model called by any process. */
  readonly call: RemoteCall = async (key, request, signal) => {
    if (await this.isAlone()) return null;
    const part: z.infer<typeof CallPart> = { run_id: this.run.id, label: request.purpose, request };
    return this.have({ kind: 'call', key, payload: part }, Completion, signal);
  };

  /** Has an agent judge inspect a patch in any process. */
  readonly inspect: Elsewhere['inspect'] = async (inspection, signal) => {
    if (await this.isAlone()) return null;
    const image_id = await this.imageId(signal);
    const candidate_id = `judge ${inspection.sample + 1} of patch ${contentKey(inspection.patch).slice(0, 8)}`;
    const { sample } = inspection;
    const part = { run_id: this.run.id, label: candidate_id, image_id, candidate_id, sample, agent: null, inspection };
    const key = contentKey({ kind: 'inspection', run: this.run.id, image_id, inspection });
    return this.have({ kind: 'rollout', key, payload: part }, Accounted, signal);
  };

  /** Has rollouts made by any process; their usage is charged to the run. */
  sampler(here: Sampler, { absorb, ledger }: Pick<RunDependencies, 'absorb' | 'ledger'>): Sampler {
    return {
      sample: async (task, signal) => {
        if (await this.isAlone()) return here.sample(task, signal);
        await here.prepare?.(task.issue, signal);
        const { candidateId: candidate_id, sample, agent = null, earlier, branch, stopAt } = task;
        const what = { sample, ...(agent !== null && { agent }), earlier, branch };
        const key = contentKey({ kind: 'rollout', run: this.run.id, ...what });
        const image_id = await this.imageId(signal);
        const label = candidate_id;
        const part: z.infer<typeof RolloutPart> = {
          run_id: this.run.id,
          label,
          image_id,
          candidate_id,
          sample,
          agent,
          earlier,
          branch,
        };
        const stop = stopAt === null ? signal : AbortSignal.any([signal, stopAt]);
        let onKnown: typeof task.onKnown = () => Promise.resolve();
        try {
          absorb(await this.have({ kind: 'rollout', key, payload: part }, Accounted, stop));
        } catch (error) {
          if (stopAt?.aborted !== true) throw error;
          // Time is over: the rollout ends here with the steps that are stored.
          onKnown = (model, spent) => {
            ledger.add(ledger.worth(model, spent));
            return Promise.resolve();
          };
        }
        return here.sample({ ...task, onKnown }, signal);
      },
    };
  }

  private async have<Result>(job: Omit<Job, 'turn'>, result: z.ZodType<Result>, signal: AbortSignal): Promise<Result> {
    const turn = { line: this.run.id, of: await this.sharing() };
    return this.tools.jobs.have({ ...job, turn }, result, signal);
  }

  private async isAlone(): Promise<boolean> {
    return (await this.tools.jobs.others()) === 0;
  }

  /** Number of runs of this run's API key, which share the key's turns. */
  private async sharing(): Promise<number> {
    if (performance.now() - this.siblings.at > SIBLINGS_MS) {
      this.siblings = { of: Math.max(1, await this.tools.runs.siblings(this.run.id)), at: performance.now() };
    }
    return this.siblings.of;
  }

  private async imageId(signal: AbortSignal): Promise<string> {
    return (await this.sandbox.describeImage(this.run.request.issue.environment.image, signal)).id;
  }
}

/** Answers from the store arrive sooner than this and are not reported. */
const EVERY_MS = 500;

/** Calls of the agent are reported step by step instead. */
const TOLD_OTHERWISE = 'agent';

/**
 * Reports, at most twice a second, which model calls of a run are in progress: a judge's calls take long and all end at once.
 */
export class CallsUnderWay implements Disposable {
  private readonly open = new Map<symbol, ModelCall & { readonly since: number }>();
  private timer: NodeJS.Timeout | null = null;
  private isTold = false;
  private isOver = false;

  constructor(
    private readonly emit: Emit,
    private readonly everyMs = EVERY_MS,
  ) {}

  /** @returns function to call when the call has ended */
  begin(call: ModelCall): () => void {
    if (call.purpose === TOLD_OTHERWISE) return () => undefined;
    const id = Symbol(call.purpose);
    this.open.set(id, { ...call, since: Date.now() });
    this.plan();
    return () => {
      this.open.delete(id);
      this.plan();
    };
  }

  [Symbol.dispose](): void {
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
  }

  private plan(): void {
    if (this.isOver) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.tell();
    }, this.everyMs).unref();
  }

  private tell(): void {
    if (this.open.size === 0 && !this.isTold) return;
    this.isTold = this.open.size > 0;
    const groups = new Map<string, { purpose: string; model: string; calls: number; since: string }>();
    for (const { purpose, model, since } of this.open.values()) {
      const key = JSON.stringify([purpose, model]);
      const known = groups.get(key) ?? { purpose, model, calls: 0, since: new Date(since).toISOString() };
      groups.set(key, { ...known, calls: known.calls + 1 });
    }
    // The run's worker learns by other means that it has to stop.
    this.emit('calls', { under_way: [...groups.values()] }).catch(() => undefined);
  }
}
