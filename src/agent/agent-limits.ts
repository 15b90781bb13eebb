import { z } from 'zod';

/** What one trajectory may take. Defaults are those of DeepSWE's reproduction guide where it names them. */
export const AgentLimits = z.object({
  /** Steps the model is told of; at 0 it is asked to submit. */
  max_steps: z.int().min(1).default(40),
  /** Steps after which it is stopped. */
  max_steps_absolute: z.int().min(1).default(100),
  /** Input and output tokens of one model call, i.e. the context. */
  max_tokens: z.int().min(1_000).default(65_536),
  /** Output tokens of one model call. */
  max_answer_tokens: z.int().min(16).default(8_192),
  /** Seconds of one command. */
  action_s: z.number().positive().default(90),
  /** Seconds of one model call, its retries included. */
  model_call_s: z.number().positive().default(7_200),
  /** Seconds of the whole trajectory: model calls and commands, also those before it was resumed. */
  trajectory_s: z.number().positive().default(50_000),
  /** Tokens from which old observations are replaced by a note; null = never, as DeepSWE. */
  condense_at: z.int().positive().nullable().default(null),
});
export type AgentLimits = z.infer<typeof AgentLimits>;

/**
 * How a trajectory ended, in R2E-Gym's words (`run/edit.py`): `agent` submitted before the step limit it was told,
 * `max_step_limit` at it, `agent_max_step_limit` after it; the others did not submit. `budget_limit` and `stopped_early` are ours.
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
  | 'stopped_early';

/** @param remaining steps left of those the model was told of, after this one */
export function submittedWith(remaining: number): ExitReason {
  if (remaining > 0) return 'agent';
  return remaining === 0 ? 'max_step_limit' : 'agent_max_step_limit';
}
