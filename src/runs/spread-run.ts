import { z } from 'zod';
import type { Sampler, SampleTask } from '../agent/rollout.js';
import { WarmStarts } from '../core/async/concurrency.js';
import type { Spent } from '../core/budget/budget.js';
import type { Inspect } from '../core/run/rollout.js';
import type { RemoteExecutor } from '../core/run/generated-test.js';
import { contentKey } from '../core/identifier.js';
import type { ModelCall, Observe } from '../core/run/verifier.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { Job, Jobs } from '../jobs/jobs.js';
import { Completion, type RemoteCall } from '../ports/llm-client.js';
import type { RunStore } from '../ports/run-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import { accountOf, type CallPart, type CellsPart, type RolloutPart } from './job-handlers.js';
import {
  Accounted,
  type Emit,
  type RunDependencies,
  type RunDependenciesFactory,
  type RunWork,
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

/**
 * The dependencies of a run; while other processes exist, its parts go to whichever has room. Each rollout and each inspection
 * has an account of its own, wherever it is done, so that a run whose processes come and go pays for each once.
 */
export function dependenciesOf(tools: DependencyTools, run: SpreadOne, observe: Observe): RunDependencies {
  const parts = new SpreadRun(tools, run, observe);
  const { deps } = parts;
  return { ...deps, sampler: deps.sampler === null ? null : parts.sampler(deps.sampler) };
}

/** How long the number of runs that share a turn is cached, in ms. */
const SIBLINGS_MS = 2_000;

class SpreadRun {
  readonly deps: RunDependencies;
  private readonly work: RunWork;
  /** What the finished accounts came to: a second wave asks for inspections of the first again. */
  private readonly counted = new Map<string, Spent>();
  private siblings = { of: 1, at: Number.NEGATIVE_INFINITY };

  constructor(
    private readonly tools: DependencyTools,
    private readonly run: SpreadOne,
    private readonly observe: Observe,
  ) {
    const { budget, agent, agents, verifiers } = run.request;
    this.work = { runId: run.id, part: 'run', budget, agent, agents, verifiers, warm: new WarmStarts() };
    const { cells, call, inspect } = this;
    const elsewhere = tools.spread === undefined ? { inspect } : { cells, call, inspect };
    this.deps = tools.dependencies.create(observe, this.work, elsewhere);
  }

  /** Has a job's cells executed by any process. */
  private readonly cells: RemoteExecutor = async (job, signal) => {
    const others = await this.others();
    if (others === null) return;
    const image_id = await this.imageId(signal);
    const what = job.tests === null ? 'regression' : `${job.tests.length} tests`;
    const label = `${what} on ${job.tree === null ? 'base' : `patch ${contentKey(job.tree).slice(0, 8)}`}`;
    const part: z.infer<typeof CellsPart> = { run_id: this.run.id, label, image_id, job };
    const key = contentKey({ kind: 'cells', image_id, job });
    await this.have(others, { kind: 'cells', key, payload: part }, { result: z.object({}), signal });
  };

  /** Has a model called by any process. */
  private readonly call: RemoteCall = async (key, request, signal) => {
    const others = await this.others();
    if (others === null) return null;
    const part: z.infer<typeof CallPart> = { run_id: this.run.id, label: request.purpose, request };
    return this.have(others, { kind: 'call', key, payload: part }, { result: Completion, signal });
  };

  /** Has an agent judge inspect a patch in any process. */
  private readonly inspect: Inspect = async (issue, inspection, signal) => {
    const candidate_id = `judge ${inspection.sample + 1} of patch ${contentKey(inspection.patch).slice(0, 8)}`;
    const what = { candidate_id, sample: inspection.sample, agent: null, inspection };
    const identity = { kind: 'inspection', image_id: await this.imageId(signal), inspection };
    const done = await this.elsewhere(what, identity, signal);
    return this.account(what, done, (deps) => deps.inspect(issue, inspection, signal));
  };

  /** Has rollouts made by any process. */
  sampler(here: Sampler): Sampler {
    return {
      sample: async (task, signal) => {
        const { candidateId: candidate_id, sample, agent = null, earlier, branch, stopAt } = task;
        // Otherwise each rollout, having only its own dependencies, would look at base for itself.
        await here.prepare?.(task.issue, signal);
        const what = { candidate_id, sample, agent, earlier, branch };
        const identity = { kind: 'rollout', sample, ...(agent !== null && { agent }), earlier, branch };
        const stop = stopAt === null ? signal : AbortSignal.any([signal, stopAt]);
        let done: Accounted | null;
        try {
          done = await this.elsewhere(what, identity, stop);
        } catch (error) {
          if (stopAt?.aborted !== true) throw error;
          const { ledger } = this.deps;
          const onKnown: SampleTask['onKnown'] = (model, spent) => {
            ledger.add(ledger.worth(model, spent));
            return Promise.resolve();
          };
          // Time is over: the rollout ends here with the steps that are stored, and its account is still another process's.
          return here.sample({ ...task, onKnown }, signal);
        }
        return this.account(what, done, (deps) => {
          if (deps.sampler === null) throw new Error('The run has an agent model, and its part has none.');
          return deps.sampler.sample(task, signal);
        });
      },
    };
  }

  /** Has a rollout or an inspection made by another process. @returns its usage; null = there is no other process */
  private async elsewhere(
    what: Pick<z.infer<typeof RolloutPart>, 'candidate_id' | 'sample' | 'agent' | 'earlier' | 'branch' | 'inspection'>,
    identity: object,
    signal: AbortSignal,
  ): Promise<Accounted | null> {
    const others = await this.others();
    if (others === null) return null;
    const image_id = await this.imageId(signal);
    const payload: z.infer<typeof RolloutPart> = { run_id: this.run.id, label: what.candidate_id, image_id, ...what };
    const key = contentKey({ run: this.run.id, ...identity });
    return this.have(others, { kind: 'rollout', key, payload }, { result: Accounted, signal });
  }

  /**
   * Does a rollout or an inspection on its own account, or reads what is stored of it.
   * @param done its usage if another process has made it
   */
  private async account<T>(
    what: Parameters<typeof accountOf>[0],
    done: Accounted | null,
    work: (deps: RunDependencies) => Promise<T>,
  ): Promise<T> {
    const part = accountOf(what);
    const counted = this.counted.get(part);
    if (done !== null && counted === undefined) this.deps.absorb(done);
    const deps = this.tools.dependencies.create(this.observe, { ...this.work, part });
    try {
      const made = await work(deps);
      await deps.ledger.chargeRest();
      this.counted.set(part, deps.ledger.spent());
      return made;
    } finally {
      this.deps.absorb({ usage: [...deps.usage()], spent: beyond(deps.ledger.spent(), counted ?? done?.spent) });
    }
  }

  private async have<Result>(
    { jobs, runs }: SpreadTools,
    job: Omit<Job, 'turn'>,
    { result, signal }: { readonly result: z.ZodType<Result>; readonly signal: AbortSignal },
  ): Promise<Result> {
    const turn = { line: this.run.id, of: await this.sharing(runs) };
    return jobs.have({ ...job, turn }, result, signal);
  }

  /** Null if there are no other processes. */
  private async others(): Promise<SpreadTools | null> {
    const { spread } = this.tools;
    return spread === undefined || (await spread.jobs.others()) === 0 ? null : spread;
  }

  /** Number of runs of this run's API key, which share the key's turns. */
  private async sharing(runs: SpreadTools['runs']): Promise<number> {
    if (performance.now() - this.siblings.at > SIBLINGS_MS) {
      this.siblings = { of: Math.max(1, await runs.siblings(this.run.id)), at: performance.now() };
    }
    return this.siblings.of;
  }

  private async imageId(signal: AbortSignal): Promise<string> {
    return (await this.tools.sandbox.describeImage(this.run.request.issue.environment.image, signal)).id;
  }
}

/** What was spent beside what has been counted. */
function beyond(all: Spent, counted: Spent = { tokens: 0, usd: 0 }): Spent {
  const usd = all.usd === null || counted.usd === null ? null : Math.max(0, all.usd - counted.usd);
  return { tokens: Math.max(0, all.tokens - counted.tokens), usd };
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
