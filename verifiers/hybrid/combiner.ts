import type { Combiner, Curve } from '../../src/core/run/fitted.js';
import type { Entry } from './entry.js';
import { FEATURE_COUNT, featuresOf } from './features.js';

export type Logistic = Pick<Combiner, 'means' | 'scales' | 'weights' | 'intercept'>;

/** The entries with `learned` and `confidence` filled in. */
export function withCombiner(entries: readonly Entry[], combiner: Combiner): Entry[] {
  const rows = featuresOf(entries);
  return entries.map((entry, index) => {
    const score = logisticScore(combiner, rows, index);
    return { ...entry, learned: onCurve(combiner.any, score), confidence: onCurve(combiner.returned, score) };
  });
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
export function onCurve({ from, to }: Curve, score: number): number {
  const after = from.findIndex((knot) => knot > score);
  if (after === 0) return to[0] ?? 0;
  if (after === -1) return to.at(-1) ?? 0;
  const [x0, x1, y0, y1] = [from[after - 1] ?? 0, from[after] ?? 0, to[after - 1] ?? 0, to[after] ?? 0];
  return y0 + ((score - x0) / (x1 - x0)) * (y1 - y0);
}
