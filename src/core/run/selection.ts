import { z } from 'zod';

/** One stage of the hybrid as it ran: who stayed, who left, in ranking order. */
export const StageTrace = z.object({
  name: z.string(),
  kept: z.array(z.string()),
  dropped: z.array(z.string()),
  /** Why a stage let everyone pass, e.g. nobody was scored; null when it decided. */
  skipped: z.string().nullable(),
});
export type StageTrace = z.infer<typeof StageTrace>;

export const RankedCandidate = z.object({
  candidate_id: z.string(),
  /** From 1; every candidate has a rank of its own. */
  rank: z.int().positive(),
  scores: z.record(z.string(), z.number().nullable()),
  flags: z.array(z.string()),
});
export type RankedCandidate = z.infer<typeof RankedCandidate>;

/** The answer for one instance; `selection.json`. */
export const Selection = z.object({
  instance_id: z.string(),
  /** The best@K candidate, or null when none was worth returning. */
  candidate_id: z.string().nullable(),
  /** `hybrid`: verdicts took part; `fallback`: only tie-breaks did; `none`: nothing to return. */
  basis: z.enum(['hybrid', 'fallback', 'none']),
  /** The stage after which one candidate (or one patch) was left; null when there was nothing to decide. */
  deciding_stage: z.string().nullable(),
  /** Calibrated probability that the patch is right, 0..1; null without a calibration. */
  confidence: z.number().min(0).max(1).nullable(),
  ranking: z.array(RankedCandidate),
  stages: z.array(StageTrace),
});
export type Selection = z.infer<typeof Selection>;
