import { z } from 'zod';
import { identifier, shownText, wholeText } from '../identifier.js';

/** One step of an agent: what it thought, what it did, what it saw. */
export const TrajectoryStep = z.object({
  thought: shownText().default(''),
  action: shownText().default(''),
  observation: shownText().default(''),
});
export type TrajectoryStep = z.infer<typeof TrajectoryStep>;

/** An agent's run, as a selector may see it: no reward, no hidden test, no gold patch has a place here. */
export const Trajectory = z.object({
  steps: z.array(TrajectoryStep).default([]),
  /** How the run ended, in R2E-Gym's words or the agent's own; null when unknown. */
  exit_reason: z
    .string()
    .nullish()
    .transform((reason) => reason ?? null),
});
export type Trajectory = z.infer<typeof Trajectory>;

/** How agents that submitted by themselves say so: R2E-Gym (`run/edit.py`), then SWE-agent, mini-swe-agent, OpenHands. */
const SUBMITTED: ReadonlySet<string> = new Set([
  'agent',
  'max_step_limit',
  'agent_max_step_limit',
  'submitted',
  'finished',
]);

/** Whether an agent that ended for this reason submitted its patch; one that a limit stopped did not. */
export function submitted(exitReason: string): boolean {
  return SUBMITTED.has(exitReason.toLowerCase());
}

/** One of the K tries at an issue. `patch` is a unified git diff, empty when the try changed nothing. */
export const Candidate = z.object({
  instance_id: identifier(512),
  candidate_id: identifier(256),
  patch: wholeText(),
  trajectory: Trajectory.nullish().transform((trajectory) => trajectory ?? null),
});
export type Candidate = z.infer<typeof Candidate>;
