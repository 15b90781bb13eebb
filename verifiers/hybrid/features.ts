import type { Entry } from './entry.js';
import { measure, poolOf, type Pool } from './pool.js';

/** What a combiner looks at, in this order. The pool's own are relative to the candidates it is chosen from. */
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

/** Width of a row of features. */
export const FEATURE_COUNT = FEATURES.length;

interface PoolFacts {
  readonly pool: Pool;
  readonly bestRegression: number;
  readonly bestReproduction: number;
  readonly meanLogSize: number;
  readonly distinctShare: number;
  readonly sortedScores: readonly number[];
}

/** One row of FEATURES a candidate, NaN = unknown. Row-major, `entries.length` × FEATURE_COUNT. */
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

function agreement(entry: Entry, { pool, distinctShare }: PoolFacts): number[] {
  const behaviour = entry.behaviour ?? null;
  return [
    share(measure(pool, entry, 'cluster_size'), pool.size),
    share(behaviour === null ? null : (pool.behaviours.get(behaviour) ?? null), pool.size),
    distinctShare,
  ];
}

function size({ patch_size: lines }: Entry, { meanLogSize }: PoolFacts): number[] {
  return [logOf(lines), logOf(lines) - meanLogSize];
}

function factsOf(entries: readonly Entry[]): PoolFacts {
  const pool = poolOf('', entries);
  const sizes = entries.map((entry) => logOf(entry.patch_size)).filter((log) => !Number.isNaN(log));
  const fingerprints = entries.filter(({ fingerprint }) => fingerprint !== null).length;
  return {
    pool,
    bestRegression: entries.reduce((best, { regression }) => Math.max(best, regression ?? 0), 0),
    bestReproduction: entries.reduce((best, { reproduction }) => Math.max(best, reproduction ?? 0), 0),
    meanLogSize: sizes.reduce((sum, log) => sum + log, 0) / sizes.length,
    distinctShare: pool.clusters.size / fingerprints,
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
