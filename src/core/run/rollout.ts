import { z } from 'zod';
import type { TokenCounts } from '../budget/budget.js';
import type { Candidate } from './candidate.js';
import type { Issue } from './issue.js';

/** One step of a sampled trajectory. Tokens are the server's count, null if it gave none; seconds are wall time. */
export const RolloutStep = z.object({
  thought: z.string(),
  /** The call in function tags, regardless of the model's format; empty if the answer contained none. */
  action: z.string(),
  observation: z.string(),
  /** Exit code of a command; null for other actions. */
  exit_code: z.int().nullable(),
  input_tokens: z.int().nullable(),
  cached_input_tokens: z.int().nullable(),
  output_tokens: z.int().nullable(),
  llm_s: z.number().min(0),
  env_s: z.number().min(0),
});
export type RolloutStep = z.infer<typeof RolloutStep>;

/** A file whose state is not part of the patch, and why. */
export const LeftOut = z.object({
  path: z.string(),
  reason: z.enum(['scratch', 'cache', 'nested-repository', 'unreadable']),
});
export type LeftOut = z.infer<typeof LeftOut>;

/** A trajectory that bestk sampled: one attempt of the agent at an issue. */
export const Rollout = z.object({
  instance_id: z.string(),
  candidate_id: z.string(),
  model: z.string(),
  format: z.string(),
  /** How it ended, in R2E-Gym's terms; `agent`, `max_step_limit` and `agent_max_step_limit` mean that it submitted. */
  exit_reason: z.string(),
  /** Diff against base, new files included; empty when nothing changed. */
  patch: z.string(),
  /** Why there is no patch although there may have been changes; null otherwise. */
  patch_problem: z.string().nullable(),
  left_out: z.array(LeftOut),
  steps: z.array(RolloutStep),
  /** Answers without an executable call. */
  malformed: z.int().min(0),
  system_prompt: z.string(),
  instance_prompt: z.string(),
  /** Candidates of its run that its prompt described; empty if it was sampled independently. */
  told_of: z.array(z.string()).default([]),
  /** The agent that made it; null if the run has one without a name. */
  agent: z.string().nullable().default(null),
  /** The candidate of its run whose first steps it continues, and how many steps; null if it started from base. */
  branch_of: z
    .object({ candidate_id: z.string(), steps: z.int().min(1) })
    .nullable()
    .default(null),
});
export type Rollout = z.infer<typeof Rollout>;

/** Tokens of the steps' model calls; calls without a server count are missing. */
export function tokensOf(steps: readonly RolloutStep[]): TokenCounts {
  const sum = (pick: (step: RolloutStep) => number | null): number =>
    steps.reduce((total, step) => total + (pick(step) ?? 0), 0);
  return {
    input_tokens: sum((step) => step.input_tokens),
    cached_input_tokens: sum((step) => step.cached_input_tokens),
    output_tokens: sum((step) => step.output_tokens),
  };
}

/**
 * Candidates not sampled independently, since their prompts described others or they share steps with one: agreement
 * with them is not a vote.
 */
export function votelessOf(rollouts: readonly Rollout[]): ReadonlySet<string> {
  const knowing = rollouts.filter(({ told_of, branch_of }) => told_of.length > 0 || branch_of !== null);
  return new Set(knowing.map(({ candidate_id }) => candidate_id));
}

/** Candidates whose prompts described others. */
export function toldOf(rollouts: readonly Rollout[]): ReadonlySet<string> {
  return new Set(rollouts.filter(({ told_of }) => told_of.length > 0).map(({ candidate_id }) => candidate_id));
}

/** The rollout as verifiers see it. */
export function candidateOf({ instance_id, candidate_id, patch, steps, exit_reason }: Rollout): Candidate {
  return {
    instance_id,
    candidate_id,
    patch,
    trajectory: {
      steps: steps.map(({ thought, action, observation }) => ({ thought, action, observation })),
      exit_reason,
    },
  };
}

/** Earlier attempts at an issue, for the prompt of a later one. */
export const EarlierTries = z.object({
  /** Candidates described, best first. */
  told_of: z.array(z.string()).min(1),
  /** One entry per attempt, made safe for a prompt: text that a model wrote about untrusted data. */
  attempts: z.array(z.object({ summary: z.string(), tests: z.string(), patch: z.string() })).min(1),
  /** 16 hex digits: hash of all attempts, so that none can contain it. */
  fence: z.string(),
});
export type EarlierTries = z.infer<typeof EarlierTries>;

/** The first steps of an earlier rollout of the same agent, from whose container another one continues. */
export const Branch = z.object({
  /** The candidate whose steps these are. */
  candidate_id: z.string(),
  /** Its number among its agent's samples. */
  sample: z.int(),
  steps: z.int().min(1),
});
export type Branch = z.infer<typeof Branch>;

/** Facts about the unchanged repository and its container. */
export const BaseFacts = z.object({
  /** Which of `python` and `python3` are on the path. */
  interpreters: z.array(z.string()),
  /** The existing tests nearest to the issue; null if the way to run them is unknown or they took too long. */
  tests: z.object({ command: z.string(), ran: z.int(), failed: z.array(z.string()) }).nullable(),
});
export type BaseFacts = z.infer<typeof BaseFacts>;

/** @throws sandbox errors and StoreUnavailableError, and the signal's reason */
export type LookAtBase = (issue: Issue, signal: AbortSignal) => Promise<BaseFacts>;

/** Summarises a candidate for the prompt of another agent. */
export type Retell = (
  issue: string,
  candidate: Candidate,
  signal: AbortSignal,
) => Promise<{ readonly summary: string; readonly patch: string }>;

/** A patch that an agent with tools inspects in a separate container. */
export const Inspection = z.object({
  /** Source changes, applied to base and not committed. */
  patch: z.string(),
  /** The question, placed after the description of the tools. */
  question: z.string(),
  model: z.string(),
  /** Steps announced to the agent. */
  max_steps: z.int().min(1),
  /** Index among equal inspections. */
  sample: z.int().min(0),
});
export type Inspection = z.infer<typeof Inspection>;

/** Exit reason of an inspection whose patch git did not apply; `patch_problem` has git's message. */
export const DOES_NOT_APPLY = 'does_not_apply';

/**
 * Runs an inspection. Its container is discarded with all changes made in it: the rollout has no patch.
 * @throws ModelUnavailableError, sandbox errors, StoreUnavailableError and the signal's reason; none of them is a
 * verdict
 * @param onStep called after each step done now; what it throws ends the inspection
 */
export type Inspect = (
  issue: Issue,
  inspection: Inspection,
  signal: AbortSignal,
  onStep?: () => Promise<void>,
) => Promise<Rollout>;
