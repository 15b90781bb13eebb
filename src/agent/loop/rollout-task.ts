import type { FairSemaphore, WarmStart } from '../../core/async/concurrency.js';
import type { TokenCounts } from '../../core/budget/budget.js';
import type { AgentLimits, FormatName } from '../../core/run/agent.js';
import type { TrajectoryStep } from '../../core/run/candidate.js';
import type { Issue } from '../../core/run/issue.js';
import type { Branch, DOES_NOT_APPLY, EarlierTries, Inspection, LookAtBase } from '../../core/run/rollout.js';
import type { LlmClient, Message, Tokenizer } from '../../ports/llm-client.js';
import type { PromptLibrary } from '../../ports/prompt-library.js';
import type { ResultStore } from '../../ports/result-store.js';
import type { Sandbox, SandboxSpec } from '../../ports/sandbox.js';
import type { ActionFormat } from '../call-formats/action-format.js';
import type { RolloutJournal, StepRecord } from './rollout-journal.js';

export interface AgentTools {
  readonly llm: LlmClient;
  readonly sandbox: Sandbox;
  readonly results: ResultStore;
  readonly prompts: PromptLibrary;
  readonly tokenizer: Tokenizer;
  readonly settings: AgentSettings;
  /** At most one execution of each rollout in this process, whichever runs ask for it; absent = no limit. */
  readonly oneOfEach?: FairSemaphore | undefined;
  /** Maximum attempts at one piece of work whose container gets lost; absent = three. */
  readonly tries?: number | undefined;
  /** Regularly judges a running rollout and stops a hopeless one; null = never. */
  readonly progress: ProgressCheck | null;
  /** Collects facts about the unchanged repository; absent = none. */
  readonly look?: LookAtBase | undefined;
  /** Reads a program's trajectory in any format; null if it is not one. Absent = it is not read. */
  readonly readTrajectory?: ((text: string) => readonly TrajectoryStep[] | null) | undefined;
}

export interface ProgressCheck {
  /** Steps between two checks. */
  readonly every: number;
  /** P(success), 0..1, below which the rollout ends. */
  readonly below: number;
  /** The judging model, as part of what the rollout depends on. */
  readonly judge: string;
  /** Null when it cannot be judged. */
  readonly score: (issue: string, steps: readonly TrajectoryStep[], signal: AbortSignal) => Promise<number | null>;
}

export interface AgentSettings {
  readonly model: string;
  /** Source of the answers: equal calls to another endpoint are different calls. */
  readonly endpoint: string;
  readonly format: FormatName;
  readonly temperature: number;
  /** Absent = the server's default. */
  readonly topP?: number | undefined;
  /** Appended to the task; absent = nothing. */
  readonly instructions?: string | undefined;
  /** Shell command of a program in the container that acts as the agent; absent = bestk's own agent. */
  readonly command?: string | undefined;
  /** Path of that program's trajectory, in a format that `import` reads; absent = its model calls are used. */
  readonly trajectory?: string | undefined;
  readonly limits: AgentLimits;
  /** R2E-Gym's system and instance prompts, for models trained in its scaffold; absent = bestk's. */
  readonly prompt?: 'agent/r2e' | undefined;
  /** The agent's task; by default, to resolve the issue. */
  readonly asked?: { readonly prompt: 'agent/test-author'; readonly count: number };
  /** What a judge's final answer lacks, as a reply to it; null = nothing. Sent once. */
  readonly lacking?: (said: string) => string | null;
}

export interface RolloutTask {
  readonly issue: Issue;
  readonly candidateId: string;
  /** Which of the run's agents makes it; absent or null = the only one. */
  readonly agent?: string | null | undefined;
  /** A patch to inspect, instead of an issue to resolve. */
  readonly inspection?: Inspection;
  /** Reports on earlier rollouts, for an agent that tries again; absent = none. */
  readonly earlier?: EarlierTries | undefined;
  /** Continues after the first steps of an earlier rollout; absent = starts with the unchanged repository. */
  readonly branch?: Branch | undefined;
  /** Index among equal rollouts; each index is an independent sample. */
  readonly sample: number;
  /** Shared by rollouts with the same prompt. */
  readonly warm: WarmStart;
  /** On abort, the rollout ends with its current state. */
  readonly stopAt: AbortSignal | null;
  /** Called for each step done now, not for steps done earlier. */
  readonly onStep: (step: StepTold) => Promise<void>;
  /** Called first, with the cost of the steps done earlier. */
  readonly onKnown: (model: string, spent: TokenCounts) => Promise<void>;
}

export interface StepTold {
  readonly candidate_id: string;
  /** From 1. */
  readonly step: number;
  readonly tool: string | null;
  /** The tool's input on one line, shortened for display. */
  readonly gist: string;
  readonly exit_code: number | null;
  readonly llm_s: number;
  readonly env_s: number;
}

/** Everything the loop of a rollout works with. */
export interface RolloutParts {
  readonly tools: AgentTools;
  readonly task: RolloutTask;
  readonly format: ActionFormat;
  readonly prompt: readonly Message[];
  readonly journal: RolloutJournal;
  /** Steps of an earlier rollout to continue from. */
  readonly begun: readonly StepRecord[];
  readonly spec: SandboxSpec;
}

/**
 * How a trajectory ended, in R2E-Gym's terms (`agent/agent.py`): `agent` submitted within the step limit it was told,
 * `max_step_limit` in the first step after it, `agent_max_step_limit` later; the others did not submit. bestk adds `budget_limit`,
 * `stopped_early` and `command_failed`.
 */
export type ExitReason =
  | 'agent'
  | 'max_step_limit'
  | 'agent_max_step_limit'
  | 'abs_step_limit'
  | 'token_limit'
  | 'traj_time_limit'
  | 'llm_query_error'
  | 'budget_limit'
  | 'stopped_early'
  | 'command_failed'
  | typeof DOES_NOT_APPLY;

/** @param remaining steps left before this one, of the number the model was told */
export function submittedWith(remaining: number): ExitReason {
  if (remaining > 0) return 'agent';
  return remaining === 0 ? 'max_step_limit' : 'agent_max_step_limit';
}
