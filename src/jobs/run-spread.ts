import { z } from 'zod';
import type { Sampler } from '../agent/loop/rollout.js';
import type { Candidate } from '../core/run/candidate.js';
import type { RemoteExecutor } from '../core/run/cell.js';
import { contentKey } from '../core/fingerprint.js';
import type { Observe } from '../core/run/verifier.js';
import type { RunRequest } from '../core/run/run-request.js';
import { Verdict } from '../core/run/verdict.js';
import type { VerificationTask, Verifier } from '../core/run/verifier.js';
import { VerifierName } from '../core/run/verifier.js';
import type { ResultStore } from '../ports/result-store.js';
import type { Sandbox } from '../ports/sandbox.js';
import type { UnitKind } from '../ports/unit-store.js';
import type { Emit } from '../runs/run-executor.js';
import type { RunDependencies, RunDependenciesFactory } from '../runs/run-dependencies.js';
import type { UnitDesk } from './unit-desk.js';
import type { UnitDone } from './unit-payloads.js';
import { candidateKey } from './unit-performer.js';

export interface SpreadTools {
  readonly desk: UnitDesk;
  readonly results: ResultStore;
  readonly sandbox: Sandbox;
  /** This process, among those that offer units. */
  readonly process: string;
}

export interface SpreadRun {
  readonly id: string;
  readonly request: RunRequest;
  readonly emit: Emit;
}

export interface DependencyTools {
  readonly dependencies: RunDependenciesFactory;
  readonly sandbox: Sandbox;
  readonly spread?: Omit<SpreadTools, 'sandbox'>;
}

/** The kit of a run, whose work is spread where there are tools for it. */
export function dependenciesOf(
  { dependencies, sandbox, spread: tools }: DependencyTools,
  run: SpreadRun,
  observe: Observe,
): RunDependencies {
  const { budget } = run.request;
  if (tools === undefined) return dependencies.create(observe, budget);
  const spread = new RunSpread({ ...tools, sandbox }, run);
  return spread.over(dependencies.create(observe, budget, spread.remote));
}

/** One run, in units that any process on the store may do. What each came to is counted to the run. */
class RunSpread {
  private deps: RunDependencies | null = null;

  constructor(
    private readonly tools: SpreadTools,
    private readonly run: SpreadRun,
  ) {}

  /** Has the cells of a job executed. */
  readonly remote: RemoteExecutor = async (job, signal) => {
    const image_id = await this.imageId(signal);
    const what = job.tests === null ? 'regression' : `${job.tests.length} tests`;
    const label = `${what} on ${job.tree === null ? 'base' : `patch ${contentKey(job.tree).slice(0, 8)}`}`;
    await this.have('cells', contentKey({ image_id, job }), { label, image_id, job }, signal);
  };

  /** The kit with its rollouts and its judge's verdicts spread. */
  over(deps: RunDependencies): RunDependencies {
    this.deps = deps;
    // A budget is counted in one place, before each call: its calls stay in one process.
    if (this.run.request.budget !== null) return deps;
    const verifiers = { ...deps.verifiers };
    for (const name of VerifierName.options) {
      if (verifiers[name].pointwise === true) verifiers[name] = this.verifier(name, verifiers[name]);
    }
    return { ...deps, verifiers, sampler: deps.sampler === null ? null : this.sampler(deps.sampler) };
  }

  private sampler(here: Sampler): Sampler {
    return {
      sample: async (task, signal) => {
        const { candidateId: candidate_id, sample } = task;
        const image_id = await this.imageId(signal);
        await this.have('rollout', String(sample), { label: candidate_id, image_id, candidate_id, sample }, signal);
        // Reads what is stored by now; it was counted to the run with the unit.
        return here.sample({ ...task, onKnown: () => undefined }, signal);
      },
    };
  }

  private verifier(name: VerifierName, here: Verifier): Verifier {
    return {
      ...here,
      verify: async (task, signal) => {
        const words = await Promise.all(
          groups(task).map(([key, members]) => this.verdicts({ name, key, members }, signal)),
        );
        return words.flat();
      },
    };
  }

  /** One unit for candidates that a judge cannot tell apart. */
  private async verdicts(
    {
      name,
      key,
      members,
    }: { readonly name: VerifierName; readonly key: string; readonly members: readonly Candidate[] },
    signal: AbortSignal,
  ): Promise<readonly Verdict[]> {
    const [first] = members;
    if (first === undefined) return [];
    const { candidate_id } = first;
    const sampled = this.run.request.candidates === null;
    if (sampled) await this.tools.results.put(key, 'candidate', first);
    const payload = { label: candidate_id, verifier: name, candidate_id, stored: sampled ? key : null };
    const { result } = await this.have('verdict', `${name} ${key}`, payload, signal);
    const verdicts = z.array(Verdict).parse(result);
    return members.flatMap((member) => verdicts.map((each) => ({ ...each, candidate_id: member.candidate_id })));
  }

  private async have(
    kind: UnitKind,
    key: string,
    payload: { readonly label: string; readonly [member: string]: unknown },
    signal: AbortSignal,
  ): Promise<UnitDone> {
    const { desk, process } = this.tools;
    const offer = { runId: this.run.id, kind, key, payload: { ...payload, offered_by: process } };
    const { worker, attempts, ...done } = await desk.have(offer, signal);
    this.deps?.absorb(done);
    await this.run.emit('unit', { kind, label: payload.label, worker, attempts, seconds: done.seconds });
    return done;
  }

  private async imageId(signal: AbortSignal): Promise<string> {
    return (await this.tools.sandbox.describeImage(this.run.request.issue.environment.image, signal)).id;
  }
}

function groups({ candidates }: VerificationTask): [string, Candidate[]][] {
  const byKey = new Map<string, Candidate[]>();
  for (const candidate of candidates) {
    const key = candidateKey(candidate);
    byKey.set(key, [...(byKey.get(key) ?? []), candidate]);
  }
  return [...byKey];
}
