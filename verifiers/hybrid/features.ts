import { grouped } from '../../src/core/grouped.js';
import { FEATURES, type Combiner, type Curve } from '../../src/core/run/fitted.js';
import { changeOf, type Entry } from './entry.js';

/** Number of columns in a feature row. */
export const FEATURE_COUNT = FEATURES.length;

interface PoolFacts {
  readonly candidates: number;
  readonly clusters: ReadonlyMap<string, readonly Entry[]>;
  readonly behaviours: ReadonlyMap<string, readonly Entry[]>;
  readonly bestRegression: number;
  readonly bestReproduction: number;
  readonly meanLogSize: number;
  readonly distinctShare: number;
  readonly sortedScores: readonly number[];
}

/** One row of FEATURES per candidate, NaN = unknown. Row-major, `entries.length` × FEATURE_COUNT. */
export function featuresOf(entries: readonly Entry[]): Float64Array {
  const facts = factsOf(entries);
  const rows = new Float64Array(entries.length * FEATURE_COUNT);
  for (const [index, entry] of entries.entries()) rows.set(rowOf(entry, facts), index * FEATURE_COUNT);
  return rows;
}

function rowOf(entry: Entry, facts: PoolFacts): number[] {
  return [
    ...executionFree(entry.execution_free, facts),
    ...execution(entry, facts),
    ...agreement(entry, facts),
    ...size(entry, facts),
    logOf(entry.steps ?? null),
    Number(entry.finished === false),
  ];
}

function executionFree(p: number | null, { sortedScores }: PoolFacts): number[] {
  if (p === null) return [NaN, NaN, 1];
  const clipped = Math.min(0.9999, Math.max(0.0001, p));
  const lower = sortedScores.filter((other) => other < p).length;
  const equal = sortedScores.filter((other) => other === p).length;
  return [Math.log(clipped / (1 - clipped)), (lower + equal / 2) / sortedScores.length, 0];
}

function execution({ regression, reproduction, reproduction_out_of: total }: Entry, facts: PoolFacts): number[] {
  return [
    share(regression, facts.bestRegression),
    Number(regression === null),
    share(reproduction, facts.bestReproduction),
    share(reproduction, total ?? NaN),
    Number(reproduction === null),
  ];
}

function agreement(entry: Entry, facts: PoolFacts): number[] {
  const { candidates, clusters, behaviours, distinctShare } = facts;
  return [
    share(clusters.get(changeOf(entry) ?? '')?.length ?? null, candidates),
    share(behaviours.get(entry.behaviour ?? '')?.length ?? null, candidates),
    distinctShare,
  ];
}

function size({ patch_size: lines }: Entry, { meanLogSize }: PoolFacts): number[] {
  return [logOf(lines), logOf(lines) - meanLogSize];
}

function factsOf(entries: readonly Entry[]): PoolFacts {
  const known = (keyOf: (entry: Entry) => string | null | undefined): Entry[] =>
    entries.filter((entry) => (keyOf(entry) ?? null) !== null);
  const changed = known(changeOf);
  const clusters = grouped(changed, (entry) => changeOf(entry) ?? '');
  const sizes = entries.map((entry) => logOf(entry.patch_size)).filter((log) => !Number.isNaN(log));
  return {
    candidates: entries.length,
    clusters,
    behaviours: grouped(
      known(({ behaviour }) => behaviour),
      ({ behaviour }) => behaviour ?? '',
    ),
    bestRegression: entries.reduce((best, { regression }) => Math.max(best, regression ?? 0), 0),
    bestReproduction: entries.reduce((best, { reproduction }) => Math.max(best, reproduction ?? 0), 0),
    meanLogSize: sizes.reduce((sum, log) => sum + log, 0) / sizes.length,
    distinctShare: clusters.size / changed.length,
    sortedScores: entries.flatMap(({ execution_free: p }) => p ?? []),
  };
}

function share(value: number | null, of: number): number {
  if (value === null) return NaN;
  return of > 0 ? value / of : value === 0 && of === 0 ? 1 : NaN;
}

function logOf(value: number | null): number {
  return value === null ? NaN : Math.log1p(value);
}

export type Logistic = Pick<Combiner, 'means' | 'scales' | 'weights' | 'intercept'>;

/** The entries with `learned` and `confidence` filled in. */
export function withCombiner(entries: readonly Entry[], combiner: Combiner): Entry[] {
  const rows = featuresOf(entries);
  return entries.map((entry, index) => {
    const score = logisticScore(combiner, rows, index);
    return { ...entry, learned: onCurve(combiner.any, score), confidence: onCurve(combiner.returned, score) };
  });
}

/** Log-odds before calibration, from one feature row; unknown features contribute 0. */
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

/** Linear interpolation between the knots, constant outside them. */
export function onCurve({ from, to }: Curve, score: number): number {
  const after = from.findIndex((knot) => knot > score);
  if (after === 0) return to[0] ?? 0;
  if (after === -1) return to.at(-1) ?? 0;
  const [x0, x1, y0, y1] = [from[after - 1] ?? 0, from[after] ?? 0, to[after - 1] ?? 0, to[after] ?? 0];
  return y0 + ((score - x0) / (x1 - x0)) * (y1 - y0);
}
