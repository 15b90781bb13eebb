import { z } from 'zod';
import type { TokenCounts } from '../budget/budget.js';
import type { Candidate } from './candidate.js';
import type { Issue } from './issue.js';

/** One step of a sampled trajectory. Tokens are the server's count, null where it gave none; seconds are wall time. */
export const RolloutStep = z.object({
  thought: z.string(),
  /** The call in function tags, whatever the model's format; empty when its answer held none. */
  action: z.string(),
  observation: z.string(),
  /** Of a command; null for everything else. */
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

/** A trajectory that bestk sampled: one try of the agent at an issue. */
export const Rollout = z.object({
  instance_id: z.string(),
  candidate_id: z.string(),
  model: z.string(),
  format: z.string(),
  /** How it ended, in R2E-Gym's words; `agent`, `max_step_limit` and `agent_max_step_limit` submitted. */
  exit_reason: z.string(),
  /** Difference to the base, new files included; empty when nothing changed. */
  patch: z.string(),
  /** Why there is no patch though there may have been changes; null otherwise. */
  patch_problem: z.string().nullable(),
  left_out: z.array(LeftOut),
  steps: z.array(RolloutStep),
  /** Answers without a call that could be carried out. */
  malformed: z.int().min(0),
  system_prompt: z.string(),
  instance_prompt: z.string(),
  /** Candidates of its run that it was told of; empty for one that knows of no other. */
  told_of: z.array(z.string()).default([]),
  /** Which of its run's agents made it; null where there is one without a name. */
  agent: z.string().nullable().default(null),
  /** The candidate of its run whose first steps it goes on from, and how many; null for one that begins with nothing. */
  branch_of: z
    .object({ candidate_id: z.string(), steps: z.int().min(1) })
    .nullable()
    .default(null),
});
export type Rollout = z.infer<typeof Rollout>;

/** What the steps' model calls came to; those that the server did not count are missing. */
export function tokensOf(steps: readonly RolloutStep[]): TokenCounts {
  const sum = (pick: (step: RolloutStep) => number | null): number =>
    steps.reduce((total, step) => total + (pick(step) ?? 0), 0);
  return {
    input_tokens: sum((step) => step.input_tokens),
    cached_input_tokens: sum((step) => step.cached_input_tokens),
    output_tokens: sum((step) => step.output_tokens),
  };
}

/** Candidates that know of others, by what their agents were told or did before they parted: that two of them agree says nothing. */
export function votelessOf(rollouts: readonly Rollout[]): ReadonlySet<string> {
  const knowing = rollouts.filter(({ told_of, branch_of }) => told_of.length > 0 || branch_of !== null);
  return new Set(knowing.map(({ candidate_id }) => candidate_id));
}

/** Candidates whose agents were told of others. */
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

/** What an agent is told of earlier tries at its issue. */
export const EarlierTries = z.object({
  /** Candidates that it is told of, the best first. */
  told_of: z.array(z.string()).min(1),
  /** What became of each, safe to stand in a prompt: words of a model about data of others. */
  attempts: z.array(z.object({ summary: z.string(), tests: z.string(), patch: z.string() })).min(1),
  /** 16 hex digits: hash of all attempts, so that none can contain it. */
  fence: z.string(),
});
export type EarlierTries = z.infer<typeof EarlierTries>;

/** First steps of an earlier rollout of the same agent, in whose container another goes on. */
export const Branch = z.object({
  /** The candidate whose they are. */
  candidate_id: z.string(),
  /** Which of its agent's samples that is. */
  sample: z.int(),
  steps: z.int().min(1),
});
export type Branch = z.infer<typeof Branch>;

/** What is known of the unchanged repository and its container. */
export const BaseFacts = z.object({
  /** Of `python` and `python3` those that commands find. */
  interpreters: z.array(z.string()),
  /** The existing tests nearest to the issue; null where it is not known how they are run, or they took too long. */
  tests: z.object({ command: z.string(), ran: z.int(), failed: z.array(z.string()) }).nullable(),
});
export type BaseFacts = z.infer<typeof BaseFacts>;

/** @throws sandbox errors and StoreUnavailableError, and the signal's reason */
export type LookAtBase = (issue: Issue, signal: AbortSignal) => Promise<BaseFacts>;

/** What of a candidate another agent is told. */
export type Retell = (
  issue: string,
  candidate: Candidate,
  signal: AbortSignal,
) => Promise<{ readonly summary: string; readonly patch: string }>;

/** A patch that an agent with tools is to look at, in a container of its own. */
export const Inspection = z.object({
  /** Source changes, put on base and left uncommitted. */
  patch: z.string(),
  /** What the agent is asked, behind the words about its tools. */
  question: z.string(),
  model: z.string(),
  /** Steps that the agent is told of. */
  max_steps: z.int().min(1),
  /** Which of the equal looks this is. */
  sample: z.int().min(0),
});
export type Inspection = z.infer<typeof Inspection>;

/** Exit reason of a look at a patch that git did not apply; `patch_problem` has git's words. */
export const DOES_NOT_APPLY = 'does_not_apply';

/**
 * Has an agent look. Its container is thrown away with all that it did there: the rollout has no patch.
 * @throws ModelUnavailableError, sandbox errors, StoreUnavailableError and the signal's reason, none of them the agent's word
 */
export type Inspect = (issue: Issue, inspection: Inspection, signal: AbortSignal) => Promise<Rollout>;
