import type { WarmStart } from '../../core/async/concurrency.js';
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
  /** How often a container that is lost under one piece of work is replaced in all; absent = three times. */
  readonly tries?: number | undefined;
  /** Looks at a rollout now and then and stops it when it is hopeless; null = never. */
  readonly progress: ProgressCheck | null;
  /** Tells what is known of the unchanged repository; absent = nobody looks. */
  readonly look?: LookAtBase | undefined;
  /** Reads a program's trajectory, whatever its format; null for what is none. Absent = nobody does. */
  readonly readTrajectory?: ((text: string) => readonly TrajectoryStep[] | null) | undefined;
}

export interface ProgressCheck {
  /** Steps between two looks. */
  readonly every: number;
  /** Chance to succeed, 0..1, below which the rollout ends. */
  readonly below: number;
  /** Who judges, as part of what the rollout depends on. */
  readonly judge: string;
  /** Null when it cannot be told. */
  readonly score: (issue: string, steps: readonly TrajectoryStep[], signal: AbortSignal) => Promise<number | null>;
}

export interface AgentSettings {
  readonly model: string;
  /** Who answers: equal calls to another endpoint are other calls. */
  readonly endpoint: string;
  readonly format: FormatName;
  readonly temperature: number;
  /** Absent = the server's. */
  readonly topP?: number | undefined;
  /** Said behind the task; absent = nothing. */
  readonly instructions?: string | undefined;
  /** A program in the container that is the agent, as a shell command; absent = our own agent. */
  readonly command?: string | undefined;
  /** Where that program writes its trajectory, in a format that `import` reads; absent = its model calls stand for it. */
  readonly trajectory?: string | undefined;
  readonly limits: AgentLimits;
  /** System and instance in the words of R2E-Gym's scaffold, for models that were trained in it; absent = ours. */
  readonly prompt?: 'agent/r2e' | undefined;
  /** What the agent is asked for; the default is a solution of the issue. */
  readonly asked?: { readonly prompt: 'agent/test-author'; readonly count: number };
  /** What the last words of a judge lack, in words for it; null = nothing. It is told once. */
  readonly lacking?: (said: string) => string | null;
}

export interface RolloutTask {
  readonly issue: Issue;
  readonly candidateId: string;
  /** Which of the run's agents is to make it; absent and null = its only one. */
  readonly agent?: string | null | undefined;
  /** A patch to look at, in place of an issue to resolve. */
  readonly inspection?: Inspection;
  /** What became of earlier tries, for an agent that tries again; absent = it knows of none. */
  readonly earlier?: EarlierTries | undefined;
  /** Goes on from an earlier rollout's first steps; absent = begins with the unchanged repository. */
  readonly branch?: Branch | undefined;
  /** Which of the equal tries this is; another number is another independent sample. */
  readonly sample: number;
  /** Shared by rollouts of one prompt. */
  readonly warm: WarmStart;
  /** When it aborts, the rollout ends with what it has. */
  readonly stopAt: AbortSignal | null;
  /** Told of each step that is done now, not of those done earlier. */
  readonly onStep: (step: StepTold) => Promise<void>;
  /** Told, before anything else, what the steps that were done earlier came to. */
  readonly onKnown: (model: string, spent: TokenCounts) => Promise<void>;
}

export interface StepTold {
  readonly candidate_id: string;
  /** From 1. */
  readonly step: number;
  readonly tool: string | null;
  /** What the tool was given, on a line and shortened: for who looks on. */
  readonly gist: string;
  readonly exit_code: number | null;
  readonly llm_s: number;
  readonly env_s: number;
}

/** Everything a rollout's loop works with. */
export interface RolloutParts {
  readonly tools: AgentTools;
  readonly task: RolloutTask;
  readonly format: ActionFormat;
  readonly prompt: readonly Message[];
  readonly journal: RolloutJournal;
  /** Steps of an earlier rollout that it goes on from. */
  readonly begun: readonly StepRecord[];
  readonly spec: SandboxSpec;
}

/**
 * How a trajectory ended, in R2E-Gym's words (`run/edit.py`): `agent` submitted before the step limit it was told,
 * `max_step_limit` at it, `agent_max_step_limit` after it; the others did not submit. `budget_limit`, `stopped_early` and `command_failed` are ours.
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

/** @param remaining steps left of those the model was told of, after this one */
export function submittedWith(remaining: number): ExitReason {
  if (remaining > 0) return 'agent';
  return remaining === 0 ? 'max_step_limit' : 'agent_max_step_limit';
}
