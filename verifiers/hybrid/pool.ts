import type { Entry } from './entry.js';
import { latentPosterior } from './latent-model.js';
import type { TestColumn } from './latent-state.js';
import type { StageMeasure, Term } from './stage.js';

/** The K candidates a selection is made from; what depends on the whole of them is counted here, once. */
export interface Pool {
  readonly instanceId: string;
  /** K, before any filter. */
  readonly size: number;
  readonly clusters: ReadonlyMap<string, number>;
  readonly behaviours: ReadonlyMap<string, number>;
  /** Worked out when a stage asks for it. */
  posterior(): PoolPosterior;
}

export function poolOf(instanceId: string, entries: readonly Entry[]): Pool {
  let posterior: PoolPosterior | null = null;
  return {
    instanceId,
    size: entries.length,
    clusters: countBy(entries, 'fingerprint'),
    behaviours: countBy(entries, 'behaviour'),
    posterior: () => (posterior ??= posteriorOf(entries)),
  };
}

/** An entry's value in the measure's own unit; null when unknown. */
export function measure(pool: Pool, entry: Entry, by: StageMeasure): number | null {
  const read = Object.hasOwn(READ, by) ? READ[by] : undefined;
  return read === undefined ? (entry.measures?.[by] ?? null) : read(entry, pool);
}

/** Where the measures with a column of their own stand, and what follows from the pool. */
const READ: Readonly<Record<string, (entry: Entry, pool: Pool) => number | null>> = {
  execution_free: (entry) => entry.execution_free,
  regression: (entry) => entry.regression,
  reproduction: (entry) => entry.reproduction,
  patch_size: (entry) => entry.patch_size,
  steps: (entry) => entry.steps ?? null,
  learned: (entry) => entry.learned ?? null,
  confidence: (entry) => entry.confidence ?? null,
  cluster_size: ({ fingerprint }, pool) => (fingerprint === null ? null : (pool.clusters.get(fingerprint) ?? null)),
  dual_agreement: dualAgreement,
  posterior: ({ id, solved }, pool) => ((solved ?? null) === null ? null : (pool.posterior().right.get(id) ?? null)),
};

/** A term's value, 0..1 before its weight; null when the count or what it counts up to is unknown. */
export function rate(entry: Entry, { by }: Term): number | null {
  if (by === 'regression' || by === 'reproduction') {
    const outOf = entry[`${by}_out_of`] ?? null;
    return entry[by] === null || outOf === null ? null : entry[by] / outOf;
  }
  return by === 'execution_free' ? entry.execution_free : (entry.measures?.[by] ?? null);
}

/** Chen et al. 2022 (CodeT): tests solved × √(group that solves exactly these). */
function dualAgreement({ behaviour, reproduction }: Entry, { behaviours }: Pool): number | null {
  if (reproduction === null || behaviour === null || behaviour === undefined) return null;
  return reproduction * Math.sqrt(behaviours.get(behaviour) ?? 1);
}

function countBy(entries: readonly Entry[], field: 'fingerprint' | 'behaviour'): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const entry of entries) {
    const key = entry[field] ?? null;
    if (key !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** What the matrix of a pool says: P(right) by candidate id, and the worth of each generated test that anybody solved. */
export interface PoolPosterior {
  readonly right: ReadonlyMap<string, number>;
  /** P(telling, indifferent, toxic) by test id. */
  readonly kinds: ReadonlyMap<string, readonly [number, number, number]>;
}

/**
 * The latent model over one pool: a column for each admitted generated test, and a trusted one for the existing tests
 * (all of them held or not). Equal patches are one candidate: running it twice says nothing new about the tests.
 * Candidates without any outcome have no posterior.
 */
export function posteriorOf(entries: readonly Entry[]): PoolPosterior {
  const byPatch = new Map<string, Entry[]>();
  for (const entry of known(entries)) byPatch.set(patchOf(entry), [...(byPatch.get(patchOf(entry)) ?? []), entry]);
  // In an order of their own, so that sums come out the same whatever the order of the entries.
  const patches = [...byPatch.keys()].sort();
  const distinct = patches.flatMap((patch) => byPatch.get(patch)?.[0] ?? []);
  const tests = [...new Set(distinct.flatMap(({ solved }) => solved ?? []))].sort();
  const { right, kinds } = latentPosterior(columnsOf(distinct, tests), distinct.length);
  const members = patches.flatMap((patch, index) =>
    (byPatch.get(patch) ?? []).map(({ id }) => [id, rounded(right[index] ?? 0)] as const),
  );
  return { right: new Map(members), kinds: new Map(tests.map((test, index) => [test, kinds[index] ?? [0, 0, 0]])) };
}

/** Equal for candidates that made the same change, and so did the same: in everything the model looks at. */
function patchOf(entry: Entry): string {
  const { id, fingerprint, solved, regression, regression_out_of, reproduction_out_of } = entry;
  const outOf = [regression_out_of ?? null, reproduction_out_of ?? null];
  return JSON.stringify([fingerprint === null ? [id] : fingerprint, [...(solved ?? [])].sort(), regression, ...outOf]);
}

/** So that candidates which the model cannot tell apart are tied. */
function rounded(probability: number): number {
  return Math.round(probability * 1e9) / 1e9;
}

function known(entries: readonly Entry[]): readonly Entry[] {
  return entries.filter(({ solved }) => (solved ?? null) !== null);
}

function columnsOf(entries: readonly Entry[], tests: readonly string[]): readonly TestColumn[] {
  const solvedBy = entries.map(({ solved }) => new Set(solved));
  const columns = tests.map((test) => ({ outcomes: solvedBy.map((solved) => solved.has(test)), trusted: false }));
  // Tests that nobody solved have no names here, but they count: perhaps nobody is right.
  const all = entries.reduce((most, { reproduction_out_of: total }) => Math.max(most, total ?? 0), 0);
  const unsolved = Array.from({ length: Math.max(0, all - tests.length) }, () => ({
    outcomes: entries.map(() => false),
    trusted: false,
  }));
  return [...columns, ...unsolved, ...regression(entries)];
}

function regression(entries: readonly Entry[]): readonly TestColumn[] {
  const outcomes = entries.map(({ regression: passed, regression_out_of: total }) =>
    passed === null || (total ?? null) === null ? null : passed >= (total ?? 0),
  );
  return outcomes.every((outcome) => outcome === null) ? [] : [{ outcomes, trusted: true }];
}
