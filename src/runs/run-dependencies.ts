import { z } from 'zod';
import type { Sampler } from '../agent/loop/rollout.js';
import type { WarmStarts } from '../core/async/concurrency.js';
import type { BudgetLedger, Budget, PriceTable } from '../core/budget/budget.js';
import type { Candidate, TrajectoryStep } from '../core/run/candidate.js';
import type { CellJob, GeneratedTest, RemoteExecutor, TestWriter } from '../core/run/generated-test.js';
import type { Issue } from '../core/run/issue.js';
import type { Inspect, Inspection, Retell } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import { type AgentDescription, ModelUsage } from '../core/run/run-result.js';
import type { Verdict } from '../core/run/verdict.js';
import type { JudgeCalls, JudgedPool, Observe, Verifier, VerifierName } from '../core/run/verifier.js';
import type { Completion, CompletionRequest, Message, RemoteCall } from '../ports/llm-client.js';
import type { Run, RunEvent } from '../ports/run-store.js';

/** What model calls of a part of a run came to. */
export const Accounted = z.object({
  usage: z.array(ModelUsage),
  spent: z.object({ tokens: z.number(), usd: z.number().nullable() }),
});
export type Accounted = z.infer<typeof Accounted>;

/** Looks at a rollout after so many steps, and after as many again. */
export interface Progress {
  readonly every: number;
  /** P(YES) that it may get there, 0..1; null when that cannot be told. */
  readonly score: (issue: string, steps: readonly TrajectoryStep[], signal: AbortSignal) => Promise<number | null>;
}

/** What one run works with, and what its model calls came to so far. */
export interface RunDependencies {
  /** The verifiers that names ask for; two names of one verifier are one. */
  readonly verifiers: (names: readonly VerifierName[]) => readonly Verifier[];
  /** Null when no agent model is configured. */
  readonly sampler: Sampler | null;
  /** Null when no model writes tests. */
  readonly testWriter: TestWriter | null;
  readonly retell: Retell;
  /** The looks that the judge has at running rollouts; null = there are none. */
  readonly progress: Progress | null;
  /** Tests that the candidates' own agents wrote; none when that is off. */
  readonly harvest: (candidates: readonly Candidate[]) => readonly GeneratedTest[];
  readonly ledger: BudgetLedger;
  usage(): readonly ModelUsage[];
  /** Executes a batch of cells here, and stores their results. */
  readonly cells: (job: CellJob, signal: AbortSignal) => Promise<void>;
  /** An agent that judges, here. */
  readonly inspect: Inspect;
  /** Counts to this run what a part of it came to elsewhere. */
  readonly absorb: (part: Accounted) => void;
}

/** What dependencies are for. */
export interface RunWork {
  readonly runId: string;
  /** Of the run's work, for its account; one process's at a time. */
  readonly part: string;
  readonly budget: Budget | null;
  /** Who verifies, as the request says; null and absent = the defaults. */
  readonly verifiers?: RunRequest['verifiers'];
  /** Another agent than the settings'; null and absent = that one. */
  readonly agent?: RunRequest['agent'];
  /** Several that share the rollouts; null and absent = one. */
  readonly agents?: RunRequest['agents'];
  /** How often infrastructure that fails is tried in all; absent = three times. */
  readonly tries?: number;
  /** Shared by the trajectories of one run in this process; absent = by those of these dependencies. */
  readonly warm?: WarmStarts;
}

/** Who does what a run asks for, before it is done here. */
export interface Elsewhere {
  readonly cells: RemoteExecutor;
  readonly call: RemoteCall;
  /** What a look came to; its steps are stored. Null = it is to be done here. */
  readonly inspect: (inspection: Inspection, signal: AbortSignal) => Promise<Accounted | null>;
}

/** How often, and with how many tokens, models are asked by these settings. */
export interface Asking {
  readonly judge: (name: VerifierName, pool: JudgedPool) => JudgeCalls;
  /** One summary of an attempt, by whom a second wave is told. */
  readonly summary: JudgeCalls;
  /** Looks at running rollouts; null = there are none. */
  readonly progress: (JudgeCalls & { readonly every: number }) | null;
  /** Writing tests, and what is asked of their writer at each verification; null = no model writes any. */
  readonly tests: { readonly writing: JudgeCalls; readonly further: JudgeCalls } | null;
}

/** Makes the kit of one run; bound in the composition root. */
export abstract class RunDependenciesFactory {
  /** Verifiers to use when a request names none. */
  abstract readonly defaults: readonly VerifierName[];
  /** Names of the verifiers from the user's modules. */
  abstract readonly ownVerifiers: readonly VerifierName[];
  abstract readonly verifierModel: string | null;
  /** Model, format and limits of the agent; null when no agent model is configured. */
  abstract readonly agent: AgentDescription | null;
  /** The same of the agents that a run asks for, for `run.json`; none when no model is named anywhere. */
  abstract agentsOf(request: Pick<RunRequest, 'agent' | 'agents'>): readonly AgentDescription[];
  abstract readonly testModel: string | null;
  /** How often models are asked beside the agents' steps. */
  abstract asking(): Promise<Asking>;
  abstract readonly prices: PriceTable;
  /** Names the settings that results depend on; processes with the same can do each other's work. */
  abstract setup(): Promise<string>;
  /** @param elsewhere asked first; absent = everything is done here */
  abstract create(observe: Observe, work: RunWork, elsewhere?: Elsewhere): RunDependencies;
  /** Asks a model, and stores its answer. */
  abstract complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>;
}

/** What of a run says what a judge asked about a candidate. */
export interface JudgedBefore {
  readonly issue: Issue;
  /** First the candidate; then another, where the judge compares and there is one. */
  readonly candidates: readonly Candidate[];
  /** How and whom it asks. */
  readonly verifier: VerifierName;
  /** Of the candidates' verdicts, in their order; null = there is none. */
  readonly evidence: readonly (Verdict['evidence'] | null)[];
}

/** What a judge asks about a candidate. */
export interface AskedPrompts {
  /** Each is a conversation up to the answer; none when there is nothing to ask. */
  readonly prompts: readonly (readonly Message[])[];
  /** Hash of the templates; equal to the one beside a verdict when that was asked with the same words; null without prompts. */
  readonly hash: string | null;
}

/** Renders what a judge asked. Bound in the composition root. */
export abstract class JudgePrompts {
  abstract of(judged: JudgedBefore): Promise<AskedPrompts>;
}

/** Journals one thing that happened. @throws InterruptedError once the run is to stop */
export type Emit = (type: string, data: RunEvent['data']) => Promise<void>;

/** Does the work of a run. Doing it again after an interruption is cheap, because what was finished is stored. */
export abstract class RunExecutor {
  /** Names the settings that what runs come to depends on; processes with the same can do each other's. */
  setup(): Promise<string> {
    return Promise.resolve('');
  }

  /** Refuses, before it is accepted, what could never be done. @throws BadInputError */
  check?(request: Run['request']): void;

  /**
   * @returns what the finished run answers
   * @throws BestkError with what the user can do; anything else is a defect
   */
  abstract execute(run: Run, emit: Emit, signal: AbortSignal): Promise<Run['result']>;
}
