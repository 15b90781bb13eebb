import { z } from 'zod';
import { MeasureName } from './measure.js';

export const AbstainReason = z.enum([
  'no-source-change',
  'refused-patch',
  'does-not-apply',
  'no-tests',
  'unreadable-answer',
  'low-mass',
  'model-unavailable',
  'budget-spent',
  'prompt-too-long',
  'infrastructure',
  'forged',
  'control-solved',
]);
export type AbstainReason = z.infer<typeof AbstainReason>;

const Evidence = z.record(z.string(), z.json());

/**
 * One verifier's word on one candidate: a score in the measure's own unit (a probability 0..1, or a count from 0 to
 * `out_of`), or an abstention with its reason. Never NaN, never a
 * zero that stands for "could not judge".
 */
export const Verdict = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('scored'),
    candidate_id: z.string(),
    measure: MeasureName,
    score: z.number().min(0),
    out_of: z.number().positive(),
    evidence: Evidence,
  }),
  z.object({
    kind: z.literal('abstained'),
    candidate_id: z.string(),
    measure: MeasureName,
    reason: AbstainReason,
    detail: z.string(),
    evidence: Evidence,
  }),
]);
export type Verdict = z.infer<typeof Verdict>;
