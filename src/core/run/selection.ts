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
  /** P(the patch is right) by everything that is known of the pool, 0..1; null in selections of older versions. */
  p_right: z.number().min(0).max(1).nullable().default(null),
  /**
   * What each source adds to the natural log-odds of being right; they add up to those of `p_right`. Sources are `prior`,
   * measures by name, `votes` (equal changes) and `submitted`; empty for a candidate that cannot be returned.
   */
  log_odds: z.record(z.string(), z.number()).default({}),
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
  /** P(right) of the first in the ranking, returned or not, 0..1, calibrated where labels were given; null without any to return. */
  confidence: z.number().min(0).max(1).nullable(),
  /** Why no patch is returned, for people; null when one is. */
  why_none: z.string().nullable().default(null),
  /** What a reader should know of the decision as a whole, e.g. that judge and tests prefer different patches. */
  notes: z.array(z.string()).default([]),
  ranking: z.array(RankedCandidate),
  stages: z.array(StageTrace),
});
export type Selection = z.infer<typeof Selection>;
