import { z } from 'zod';
import type { Entry } from './entry.js';
import { FEATURE_COUNT, FEATURES, featuresOf } from './features.js';
import { findPreset } from './presets.js';
import type { Preset } from './stage.js';

const Finite = z.array(z.number());
const PerFeature = Finite.length(FEATURE_COUNT);

/** A rising step-free curve: linear between knots, level outside them. */
export const Calibration = z
  .strictObject({ from: Finite.min(1), to: z.array(z.number().min(0).max(1)).min(1) })
  .refine(({ from, to }) => from.length === to.length, 'needs as many values as knots');
export type Calibration = z.infer<typeof Calibration>;

/** What a combiner was made of, and how it did on repositories it had not seen. */
export const DataCard = z.strictObject({
  issues: z.int(),
  candidates: z.int(),
  resolved: z.int(),
  repos: z.array(z.string()),
  folds: z.int(),
  /** Of the predictions on held-out repositories. */
  auc: z.number().nullable(),
  brier: z.number().nullable(),
  ece: z.number().nullable(),
  /** Share of issues whose held-out pick is right, and the mean confidence given to these picks. */
  picked_right: z.number(),
  mean_confidence: z.number(),
});
export type DataCard = z.infer<typeof DataCard>;

/** A logistic model over FEATURES with its calibrations; a file of its own, written and read as JSON. */
export const Combiner = z.strictObject({
  kind: z.literal('bestk-combiner'),
  version: z.literal(1),
  features: z
    .array(z.string())
    .refine((names) => names.join() === FEATURES.join(), 'are not those of this version; train the combiner again'),
  /** An unknown feature counts as its mean. */
  means: PerFeature,
  scales: PerFeature,
  weights: PerFeature,
  intercept: z.number(),
  /** From the logistic score to P(resolved) of any candidate, and of the one that is returned. */
  any: Calibration,
  returned: Calibration,
  /** No patch is returned when its confidence is not above this; null = always return one. */
  abstain_below: z.number().min(0).max(1).nullable(),
  data_card: DataCard,
});
export type Combiner = z.infer<typeof Combiner>;

export type Logistic = Pick<Combiner, 'means' | 'scales' | 'weights' | 'intercept'>;

/** The entries with `learned` and `confidence` filled in. */
export function withCombiner(entries: readonly Entry[], combiner: Combiner): Entry[] {
  const rows = featuresOf(entries);
  return entries.map((entry, index) => {
    const score = logisticScore(combiner, rows, index);
    return { ...entry, learned: calibrated(combiner.any, score), confidence: calibrated(combiner.returned, score) };
  });
}

/** The preset `learned`, with the combiner's own threshold for returning nothing. */
export function learnedPreset({ abstain_below: than }: Pick<Combiner, 'abstain_below'>): Preset {
  const { name, stages } = findPreset('learned');
  if (than === null) return { name, stages };
  return { name, stages: [...stages, { stage: 'above', by: 'confidence', than, otherwise: 'none' }] };
}

/** Log-odds before calibration, of one row of features. */
export function logisticScore(
  { means, scales, weights, intercept }: Logistic,
  rows: Float64Array,
  row: number,
): number {
  let score = intercept;
  for (let f = 0; f < FEATURE_COUNT; f += 1) {
    const value = rows[row * FEATURE_COUNT + f] ?? NaN;
    if (!Number.isNaN(value)) score += ((weights[f] ?? 0) * (value - (means[f] ?? 0))) / (scales[f] ?? 1);
  }
  return score;
}

/** Linear between the knots. */
export function calibrated({ from, to }: Calibration, score: number): number {
  const after = from.findIndex((knot) => knot > score);
  if (after === 0) return to[0] ?? 0;
  if (after === -1) return to.at(-1) ?? 0;
  const [x0, x1, y0, y1] = [from[after - 1] ?? 0, from[after] ?? 0, to[after - 1] ?? 0, to[after] ?? 0];
  return y0 + ((score - x0) / (x1 - x0)) * (y1 - y0);
}
