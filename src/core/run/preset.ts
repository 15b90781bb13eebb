import { z } from 'zod';
import { MeasureName } from './verdict.js';

/**
 * Measures that a stage can use: any measure of a verifier, by name, and those derived from patch and pool.
 * `cluster_size`, `syntax_cluster_size`, `behaviour_cluster_size`: candidates with the same change, syntax tree or
 * behaviour. `dual_agreement`: tests solved × √(candidates that solved the same tests), CodeT's score. `copeland`:
 * candidates that it beats in pairwise comparison. `posterior`: P(right) by execution only, `p_right`: by all evidence.
 * `learned`: P(right) by a combiner, `confidence`: the same if this candidate is the one returned.
 */
export const StageMeasure = z.union([
  z.enum([
    'patch_size',
    'steps',
    'cluster_size',
    'syntax_cluster_size',
    'behaviour_cluster_size',
    'dual_agreement',
    'copeland',
    'posterior',
    'p_right',
    'learned',
    'confidence',
  ]),
  MeasureName,
]);
export type StageMeasure = z.infer<typeof StageMeasure>;

export const Condition = z.enum(['has-source-change', 'applies', 'finished']);
export type Condition = z.infer<typeof Condition>;

/** How many of K distinct patches `top` keeps: `deepswe` = max(3, ⌊K/2⌋), `half` = max(1, ⌊K/2⌋), or a number. */
export const TopCount = z.union([z.enum(['deepswe', 'half']), z.int().positive()]);
export type TopCount = z.infer<typeof TopCount>;

/** A measure divided by its maximum count (a probability is used as it is), times a weight. */
export const Term = z.strictObject({
  by: MeasureName,
  weight: z.number().positive(),
});
export type Term = z.infer<typeof Term>;

/** Values this close to the best are tied with it. */
const Tolerance = z.number().min(0).default(0);

/**
 * One step of a selection rule, as data. Filters: `keep`, `above`. Rankers keep the best and everyone tied with it:
 * `max`, `min`, `weighted`; `top` keeps the n best patches, ties broken by the stages that follow it. `lowest-id` and
 * `random` leave one. An unknown value counts as the median of the pool's known ones (the lowest if every sandbox was lost
 * under the patch); if a measure is unknown for every candidate, the stage is skipped.
 */
export const Stage = z.discriminatedUnion('stage', [
  z.strictObject({ stage: z.literal('keep'), where: Condition }),
  z.strictObject({
    stage: z.literal('above'),
    by: StageMeasure,
    than: z.number(),
    /** If no candidate is above: keep all, or return no patch. */
    otherwise: z.enum(['keep-all', 'none']).default('keep-all'),
  }),
  z.strictObject({ stage: z.literal('top'), by: StageMeasure, n: TopCount }),
  z.strictObject({ stage: z.literal('max'), by: StageMeasure, within: Tolerance }),
  z.strictObject({ stage: z.literal('min'), by: StageMeasure, within: Tolerance }),
  z.strictObject({
    stage: z.literal('weighted'),
    of: z.array(Term).min(1).max(32),
    within: Tolerance,
  }),
  z.strictObject({ stage: z.literal('random'), seed: z.int().default(0) }),
  z.strictObject({ stage: z.literal('lowest-id') }),
]);
export type Stage = z.infer<typeof Stage>;

/** A selection rule: stages in order. A tie after the last stage goes to the lowest id. */
export const Preset = z.strictObject({ name: z.string().min(1).max(64), stages: z.array(Stage).min(1).max(32) });
export type Preset = z.infer<typeof Preset>;

/** The stage's name in a report. */
export function stageName(stage: Stage): string {
  switch (stage.stage) {
    case 'keep':
      return stage.where;
    case 'above':
      return `${stage.by} above ${stage.than}`;
    case 'top':
      return `top ${stage.by}`;
    case 'max':
    case 'min':
      return `${stage.stage} ${stage.by}`;
    case 'weighted':
      return `weighted ${stage.of.map(({ by }) => by).join(' + ')}`;
    case 'random':
    case 'lowest-id':
      return stage.stage;
  }
}
