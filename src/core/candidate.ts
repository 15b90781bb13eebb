import { z } from 'zod';

/** One step of an agent: what it thought, what it did, what it saw. */
export const TrajectoryStep = z.object({
  thought: z.string().default(''),
  action: z.string().default(''),
  observation: z.string().default(''),
});
export type TrajectoryStep = z.infer<typeof TrajectoryStep>;

/** An agent's run, as a selector may see it: no reward, no hidden test, no gold patch has a place here. */
export const Trajectory = z.object({
  steps: z.array(TrajectoryStep).default([]),
  /** R2E-Gym's word for how the run ended; null when unknown. `agent` = it submitted. */
  exit_reason: z
    .string()
    .nullish()
    .transform((reason) => reason ?? null),
});
export type Trajectory = z.infer<typeof Trajectory>;

/** One of the K tries at an issue. `patch` is a unified git diff, empty when the try changed nothing. */
export const Candidate = z.object({
  instance_id: z.string().min(1).max(512),
  candidate_id: z.string().min(1).max(256),
  patch: z.string(),
  trajectory: Trajectory.nullish().transform((trajectory) => trajectory ?? null),
});
export type Candidate = z.infer<typeof Candidate>;
