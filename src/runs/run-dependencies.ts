import { z } from 'zod';
import type { Sampler } from '../agent/rollout.js';
import type { WarmStarts } from '../core/async/concurrency.js';
import type { BudgetLedger, Budget, PriceTable, Spent } from '../core/budget/budget.js';
import type { Candidate, TrajectoryStep } from '../core/run/candidate.js';
import type { CellJob, GeneratedTest, RemoteExecutor, TestWriter } from '../core/run/generated-test.js';
import type { Issue } from '../core/run/issue.js';
import type { Inspect, Retell } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import { type AgentDescription, ModelUsage } from '../core/run/run-result.js';
import type { Verdict } from '../core/run/verdict.js';
import type { JudgeCalls, JudgedPool, Observe, Verifier, VerifierName } from '../core/run/verifier.js';
import type { Completion, CompletionRequest, Message, RemoteCall } from '../ports/llm-client.js';
import type { ResultStore } from '../ports/result-store.js';
import type { Run, RunEvent } from '../ports/run-store.js';

/** Usage of the model calls of a part of a run. */
export const Accounted = z.object({
  usage: z.array(ModelUsage),
  spent: z.object({ tokens: z.number(), usd: z.number().nullable() }),
});
export type Accounted = z.infer<typeof Accounted>;

/** Scores a rollout's progress every `every` steps. */
export interface Progress {
  readonly every: number;
  /** P(YES) that it will succeed, 0..1; null if that cannot be determined. */
  readonly score: (issue: string, steps: readonly TrajectoryStep[], signal: AbortSignal) => Promise<number | null>;
}

/** Everything one run works with, and the usage of its model calls so far. */
export interface RunDependencies {
  /** The named verifiers; two names of the same verifier give one. */
  readonly verifiers: (names: readonly VerifierName[]) => readonly Verifier[];
  /** Null if no agent model is configured. */
  readonly sampler: Sampler | null;
  /** Null if no model writes tests. */
  readonly testWriter: TestWriter | null;
  readonly retell: Retell;
  /** Progress scoring of running rollouts by the judge; null = none. */
  readonly progress: Progress | null;
  /** Tests written by the candidates' own agents; none if that is switched off. */
  readonly harvest: (candidates: readonly Candidate[]) => readonly GeneratedTest[];
  readonly ledger: BudgetLedger;
  readonly results: ResultStore;
  usage(): readonly ModelUsage[];
  /** Executes a batch of cells in this process and stores their results. */
  readonly cells: (job: CellJob, signal: AbortSignal) => Promise<void>;
  /** Runs an agent judge in this process, under this account. */
  readonly inspect: Inspect;
  /** Adds the usage of a part, which has its own account. */
  readonly absorb: (part: Accounted) => void;
}

/** What dependencies are created for. */
export interface RunWork {
  readonly runId: string;
  /** Name of this part of the run in its accounts; used by one process at a time. */
  readonly part: string;
  readonly budget: Budget | null;
  /** Verifiers of the request; null and absent = the defaults. */
  readonly verifiers?: RunRequest['verifiers'];
  /** Agent that replaces the one in the settings; null and absent = that one. */
  readonly agent?: RunRequest['agent'];
  /** Several agents that share the rollouts; null and absent = one. */
  readonly agents?: RunRequest['agents'];
  /** Total attempts if infrastructure fails; absent = three. */
  readonly tries?: number;
  /** Shared by a run's trajectories in this process; absent = by those of these dependencies. */
  readonly warm?: WarmStarts;
}

/** Has work done by other processes; each is asked before the work is done here. Absent = the work is done here. */
export interface Elsewhere {
  readonly cells?: RemoteExecutor;
  readonly call?: RemoteCall;
  /** Runs an agent judge, here or elsewhere, under an account of its own. */
  readonly inspect?: Inspect;
}

/** Number of model calls, and their tokens, under these settings. */
export interface Asking {
  readonly judge: (name: VerifierName, pool: JudgedPool) => JudgeCalls;
  /** One summary of an attempt, for a second wave. */
  readonly summary: JudgeCalls;
  /** Progress scores of running rollouts; null = none. */
  readonly progress: (JudgeCalls & { readonly every: number }) | null;
  /** Writing tests, and further requests to the writer at each verification; null = no model writes tests. */
  readonly tests: { readonly writing: JudgeCalls; readonly further: JudgeCalls } | null;
}

/** Creates the dependencies of a run; bound in the composition root. */
export abstract class RunDependenciesFactory {
  /** Verifiers to use if a request names none. */
  abstract readonly defaults: readonly VerifierName[];
  /** Names of the verifiers from the user's modules. */
  abstract readonly ownVerifiers: readonly VerifierName[];
  abstract readonly verifierModel: string | null;
  /** Model, format and limits of the agent; null if no agent model is configured. */
  abstract readonly agent: AgentDescription | null;
  /** The agents that a run requests, for `run.json`; empty if no model is named anywhere. */
  abstract agentsOf(request: Pick<RunRequest, 'agent' | 'agents'>): readonly AgentDescription[];
  abstract readonly testModel: string | null;
  /** Model calls other than the agents' steps. */
  abstract asking(): Promise<Asking>;
  abstract readonly prices: PriceTable;
  /** Identifies the settings that results depend on; processes with the same ones can do each other's work. */
  abstract setup(): Promise<string>;
  /** @param elsewhere asked first; absent = everything is done here */
  abstract create(observe: Observe, work: RunWork, elsewhere?: Elsewhere): RunDependencies;
  /** Calls a model and stores its answer. */
  abstract complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>;
}

/** The data of a run needed to render a judge's prompt about a candidate. */
export interface JudgedBefore {
  readonly issue: Issue;
  /** The candidate, then another if the judge compares and there is one. */
  readonly candidates: readonly Candidate[];
  /** The judge's name, which determines its method and model. */
  readonly verifier: VerifierName;
  /** Evidence of the candidates' verdicts, in the same order; null = no verdict. */
  readonly evidence: readonly (Verdict['evidence'] | null)[];
}

/** A judge's prompts about a candidate. */
export interface AskedPrompts {
  /** Each is a conversation up to the answer; empty if there is nothing to ask. */
  readonly prompts: readonly (readonly Message[])[];
  /** Hash of the templates; equals a verdict's hash if it was asked with the same text; null without prompts. */
  readonly hash: string | null;
}

/** Renders a judge's prompts. Bound in the composition root. */
export abstract class JudgePrompts {
  abstract of(judged: JudgedBefore): Promise<AskedPrompts>;
}

/**
 * Journals an event.
 * @throws InterruptedError once the run is to stop
 */
export type Emit = (type: string, data: RunEvent['data']) => Promise<void>;

/** Does the work of a run. Repeating it after an interruption is cheap, because finished parts are stored. */
export abstract class RunExecutor {
  /** Identifies the settings that results depend on; processes with the same ones can do each other's work. */
  setup(): Promise<string> {
    return Promise.resolve('');
  }

  /**
   * Refuses a request that can never be executed, before it is accepted.
   * @throws BadInputError
   */
  check?(request: Run['request']): void;

  /**
   * @param told called with what a run has spent until it fails
   * @returns the result of the finished run
   * @throws BestkError with a next step for the user; anything else is a defect
   */
  abstract execute(run: Run, emit: Emit, signal: AbortSignal, told?: (spent: Spent) => void): Promise<Run['result']>;
}

export type Execution = Parameters<RunExecutor['execute']>;
