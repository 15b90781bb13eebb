import type { Entry } from '../../../verifiers/hybrid/entry.js';

/** Values by candidate, higher better, −∞ = unknown: the same in every subset of the pool. */
export interface FixedValues {
  readonly kind: 'fixed';
  readonly values: Float64Array;
  /** All candidates have the same. */
  readonly constant: boolean;
}

/** Values that depend on who else was drawn: how many of the subset carry the candidate's code (−1 = none). */
export interface GroupValues {
  readonly kind: 'group';
  readonly codes: Int32Array;
  readonly groups: number;
  /** −1 for `min`. */
  readonly sign: number;
  /** Null: the count itself; else the weight × √count, NaN = unknown. */
  readonly weights: Float64Array | null;
}

/** Σ weight × rate over the terms that somebody still in the running has; NaN = unknown. */
export interface SumValues {
  readonly kind: 'sum';
  readonly rates: readonly Float64Array[];
  readonly weights: readonly number[];
}

/** Scores of the first `k` of `drawn`, written to `scores` by candidate; higher is better, −∞ = unknown. */
export type SubsetScorer = (drawn: Int32Array, k: number, scores: Float64Array) => void;

/** Prepares the scores of one issue's subsets, for measures of a combiner that looks at the whole pool. */
export type PoolScorer = (entries: readonly Entry[], by: 'learned' | 'confidence') => SubsetScorer;

export interface ScoredValues {
  readonly kind: 'scored';
  readonly score: SubsetScorer;
}

export type StepValues = FixedValues | GroupValues | SumValues | ScoredValues;

export function fixedValues(values: Float64Array): FixedValues {
  const first = values[0];
  let constant = true;
  for (let i = 1; i < values.length && constant; i += 1) constant = values[i] === first;
  return { kind: 'fixed', values, constant };
}
