import { z } from 'zod';
import { MeasureName } from '../../src/core/run/measure.js';

/**
 * A candidate as the hybrid's stages see it: scores and plain facts, no patch text and no label. `null` = abstained or
 * unknown, which is never better than a known value and never the same as zero.
 */
export const Entry = z.object({
  id: z.string(),
  /** P(resolved) by the execution-free verifier, 0..1; of several judges their mean. */
  execution_free: z.number().nullable(),
  /** Stable base passes that still pass, a count. */
  regression: z.number().nullable(),
  /** Admitted generated tests solved, a count. */
  reproduction: z.number().nullable(),
  /** Added plus removed lines of the source hunks; null when unknown. */
  patch_size: z.number().nullable(),
  /** Equal for candidates whose normalised source patches are equal; null when unknown. */
  fingerprint: z.string().nullable(),
  /** False when the patch changes no source file. */
  has_source_change: z.boolean(),
  /** False when the patch does not apply at base, was refused, or forged what it was scored by; null when nobody tried. */
  applies: z.boolean().nullable(),
  /** False when the agent hit a limit instead of submitting; null when unknown. */
  finished: z.boolean().nullable(),
  /** What `regression` counts up to; the presets that add rates need it. */
  regression_out_of: z.number().positive().nullish(),
  /** What `reproduction` counts up to. */
  reproduction_out_of: z.number().positive().nullish(),
  /** Further measures by name, in their own unit: other judges, a verifier of one's own. */
  measures: z.record(MeasureName, z.number().nullable()).optional(),
  /** Steps of the agent's trajectory. */
  steps: z.number().nullish(),
  /** Equal for candidates that solved exactly the same generated tests. */
  behaviour: z.string().nullish(),
  /** Ids of the admitted generated tests that it solved; null when none were run. */
  solved: z.array(z.string()).nullish(),
  /** P(resolved) by a learned combiner, 0..1. */
  learned: z.number().min(0).max(1).nullish(),
  /** P(resolved) if this is the candidate that is returned, by the same combiner. */
  confidence: z.number().min(0).max(1).nullish(),
});
export type Entry = z.infer<typeof Entry>;
