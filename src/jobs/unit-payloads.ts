import { z } from 'zod';
import { CellJob } from '../core/run/cell.js';
import { ModelUsage } from '../core/run/run-result.js';
import { VerifierName } from '../core/run/verifier.js';

/** Of every unit. */
const Common = {
  /** For people who follow the run. */
  label: z.string(),
  /** The process whose run it is. */
  offered_by: z.string(),
};

export const RolloutUnit = z.object({
  ...Common,
  /** The image as the run's process has it: results of another would be another's. */
  image_id: z.string(),
  candidate_id: z.string(),
  sample: z.int(),
});

export const VerdictUnit = z.object({
  ...Common,
  verifier: VerifierName,
  candidate_id: z.string(),
  /** Where in the ResultStore a sampled candidate is; null = in the run's request. */
  stored: z.string().nullable(),
});

export const CellsUnit = z.object({ ...Common, image_id: z.string(), job: CellJob });

/** What model calls came to. */
export const Accounted = z.object({
  usage: z.array(ModelUsage),
  spent: z.object({ tokens: z.number(), usd: z.number().nullable() }),
});
export type Accounted = z.infer<typeof Accounted>;

/** What a unit leaves in its row: a word; anything larger is in the ResultStore. */
export const UnitDone = Accounted.extend({ result: z.json(), seconds: z.number() });
export type UnitDone = z.infer<typeof UnitDone>;

export const UnitFailure = z.object({ error: z.object({ code: z.string(), message: z.string(), next: z.string() }) });
