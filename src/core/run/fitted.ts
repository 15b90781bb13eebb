import { z } from 'zod';
import { MeasureName } from './verdict.js';

/** Features of a combiner, in this order. Features of the pool are relative to the candidates to choose from. */
export const FEATURES = [
  'execution_free_logit',
  'execution_free_rank',
  'execution_free_missing',
  'regression_of_best',
  'regression_missing',
  'reproduction_of_best',
  'reproduction_rate',
  'reproduction_missing',
  'cluster_share',
  'behaviour_share',
  'distinct_share',
  'patch_size_log',
  'patch_size_against_pool',
  'steps_log',
  'not_finished',
] as const;

const Finite = z.array(z.number());
const PerFeature = Finite.length(FEATURES.length);
const Share = z.number().min(0).max(1);

/** A monotone curve from a score to a probability: linear between knots, constant outside them. */
export const Curve = z
  .strictObject({ from: Finite.min(1), to: z.array(Share).min(1) })
  .refine(({ from, to }) => from.length === to.length, 'needs as many values as knots');
export type Curve = z.infer<typeof Curve>;

/** What a model was fitted on, and its results on held-out repositories. */
export const DataCard = z.strictObject({
  issues: z.int(),
  candidates: z.int(),
  resolved: z.int(),
  repos: z.array(z.string()),
  folds: z.int(),
  /** Metrics of the predictions on held-out repositories. */
  auc: z.number().nullable(),
  brier: z.number().nullable(),
  ece: z.number().nullable(),
  /** Share of issues whose held-out pick is right, and the mean confidence of these picks. */
  picked_right: z.number(),
  mean_confidence: z.number(),
});
export type DataCard = z.infer<typeof DataCard>;

/** A logistic model over FEATURES with its calibration curves; written by `curves --save-combiner`. */
export const Combiner = z.strictObject({
  kind: z.literal('bestk-combiner'),
  version: z.literal(1),
  features: z
    .array(z.string())
    .refine((names) => names.join() === FEATURES.join(), 'do not match this version; retrain the combiner'),
  /** Also the imputed values of unknown features. */
  means: PerFeature,
  scales: PerFeature,
  weights: PerFeature,
  intercept: z.number(),
  /** Map the logistic score to P(right) of any candidate, and of the returned one. */
  any: Curve,
  returned: Curve,
  /** No patch is returned unless its confidence is above this; null = always return one. */
  abstain_below: Share.nullable(),
  data_card: DataCard,
});
export type Combiner = z.infer<typeof Combiner>;

/** Beyond these, logarithms of what follows are infinite or differ by less than numbers tell. */
const Count = z.number().min(1e-6).max(1e12);
/** Beta(a, b) of a rate. Fitted with Beta(1, 1) before the counts: one more than what was seen of each. */
export const Beta = z.tuple([Count, Count]);
export type Beta = z.infer<typeof Beta>;

/** How often something is true of right patches, and of wrong ones. */
export const Rates = z.strictObject({ right: Beta, wrong: Beta });
export type Rates = z.infer<typeof Rates>;

/** Log of how much likelier a judge's p is for a right patch than for a wrong one: intercept + slope × logit p. */
export const JudgeLikelihood = z.strictObject({
  intercept: z.number().min(-1e6).max(1e6),
  slope: z.number().min(0).max(1e6),
});
export type JudgeLikelihood = z.infer<typeof JudgeLikelihood>;

/** Likelihoods of each kind of evidence; the posterior multiplies them (docs/posterior.md). */
export const Likelihoods = z.strictObject({
  /** Share of right patches in an issue. */
  share: Beta,
  /** By measure; an unlisted measure uses the default for judges without labels. */
  judges: z.record(MeasureName, JudgeLikelihood),
  /** Keeping the existing tests that passed on base. */
  existing_tests: Rates,
  /** Passing an informative test, by the test's author; `*` covers all others. */
  generated_tests: z.record(z.string(), Rates),
  /** Correlation of one author's tests on one patch, 0..1: m tests weigh as much as m / (1 + (m − 1) × this). */
  test_correlation: Share,
  /** The agent submitted on its own. */
  submitted: Rates,
});
export type Likelihoods = z.infer<typeof Likelihoods>;

/** Likelihoods fitted on labels; written by `bestk calibrate`. */
export const Calibration = z.strictObject({
  kind: z.literal('bestk-calibration'),
  version: z.literal(1),
  ...Likelihoods.shape,
  /** Maps P(right) of the returned patch to how often such patches were right. */
  returned: Curve,
  /** Number of labelled patches behind each likelihood, right and wrong. */
  labels: z.record(z.string(), z.tuple([z.int(), z.int()])),
  /** Models that judged and wrote tests in the labelled data. */
  models: z.array(z.string()),
  data_card: DataCard,
});
export type Calibration = z.infer<typeof Calibration>;
