import type { Entry } from '../../verifiers/hybrid/entry.js';
import { measure, poolOf, rate, type Pool } from '../../verifiers/hybrid/pool.js';
import { satisfies } from '../../verifiers/hybrid/rank-key.js';
import type { Stage, StageMeasure, Term, TopCount } from '../../verifiers/hybrid/stage.js';

/** Values by candidate, higher better, −∞ = unknown: the same in every subset of the pool. */
export interface FixedValues {
  readonly kind: 'fixed';
  readonly values: Float64Array;
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

/** One stage of a preset over the numbers of one issue. */
export type Step =
  | { readonly op: 'best'; readonly values: StepValues; readonly within: number; readonly mayEmpty: boolean }
  | { readonly op: 'top'; readonly values: StepValues; readonly n: TopCount }
  | { readonly op: 'above'; readonly values: StepValues; readonly than: number; readonly mayEmpty: boolean };

/**
 * A preset's stages over one issue's candidates, without those that cannot tell any two of them apart. `random` and
 * `lowest-id` end the list: what is tied there is averaged.
 */
export function stepsOf(entries: readonly Entry[], stages: readonly Stage[], learned?: PoolScorer): readonly Step[] {
  const pool: StepPool = { ...poolOf('', entries), learned };
  const steps: Step[] = [];
  const mayCut = ordersAndFiltersDiffer(stages);
  for (const stage of stages) {
    if (stage.stage === 'random' || stage.stage === 'lowest-id') break;
    const step = stepOf(stage, pool, entries);
    if ((step.op === 'top' && mayCut) || step.values.kind !== 'fixed' || !isIdle(step, step.values.values))
      steps.push(step);
  }
  return steps;
}

interface StepPool extends Pool {
  readonly learned: PoolScorer | undefined;
}

type DecidingStage = Exclude<Stage, { stage: 'random' | 'lowest-id' }>;

function stepOf(stage: DecidingStage, pool: StepPool, entries: readonly Entry[]): Step {
  switch (stage.stage) {
    case 'keep':
      return flag(entries, (entry) => satisfies(entry, stage.where), stage.where !== 'finished');
    case 'above': {
      const values = measured(stage.by, 1, pool, entries);
      const mayEmpty = stage.otherwise === 'none';
      if (values.kind !== 'fixed') return { op: 'above', values, than: stage.than, mayEmpty };
      return { op: 'best', values: fixed(values.values.map((v) => Number(v > stage.than))), within: 0, mayEmpty };
    }
    case 'top':
      return { op: 'top', values: measured(stage.by, 1, pool, entries), n: stage.n };
    case 'max':
      return { op: 'best', values: measured(stage.by, 1, pool, entries), within: 0, mayEmpty: false };
    case 'min':
      return { op: 'best', values: measured(stage.by, -1, pool, entries), within: 0, mayEmpty: false };
    case 'weighted':
      return { op: 'best', values: summed(stage.of, entries), within: stage.within, mayEmpty: false };
  }
}

/**
 * A `top` that cannot tell anybody apart cuts by the order of the stages after it. That changes nothing as long as each
 * of those keeps the best of its own order, which a second `top` and a tolerance do not.
 */
function ordersAndFiltersDiffer(stages: readonly Stage[]): boolean {
  const tolerant = stages.some((stage) => stage.stage === 'weighted' && stage.within > 0);
  return tolerant || stages.filter(({ stage }) => stage === 'top').length > 1;
}

/** Nobody is told apart, and nobody fails a filter that may leave none. */
function isIdle(step: Step, values: Float64Array): boolean {
  const first = values[0];
  if (step.op !== 'top' && step.mayEmpty && values.includes(0)) return false;
  return values.every((value) => value === first);
}

function flag(entries: readonly Entry[], passes: (entry: Entry) => boolean, mayEmpty: boolean): Step {
  const values = fixed(Float64Array.from(entries, (entry) => Number(passes(entry))));
  return { op: 'best', values, within: 0, mayEmpty };
}

function fixed(values: Float64Array): FixedValues {
  return { kind: 'fixed', values };
}

function measured(by: StageMeasure, sign: number, pool: StepPool, entries: readonly Entry[]): StepValues {
  if ((by === 'learned' || by === 'confidence') && pool.learned !== undefined) {
    return { kind: 'scored', score: pool.learned(entries, by) };
  }
  const known = Float64Array.from(entries, (entry) => sign * (measure(pool, entry, by) ?? -sign * Infinity));
  if (by === 'cluster_size' && hasGroups(pool.clusters)) {
    return { kind: 'group', ...codesOf(entries.map(({ fingerprint }) => fingerprint)), sign, weights: null };
  }
  if (by === 'dual_agreement' && hasGroups(pool.behaviours)) {
    const weights = Float64Array.from(entries, ({ reproduction }) => reproduction ?? NaN);
    return { kind: 'group', ...codesOf(entries.map(({ behaviour }) => behaviour ?? null)), sign, weights };
  }
  return fixed(known);
}

/** Where all sizes are 1 they are so in every subset. */
function hasGroups(sizes: ReadonlyMap<string, number>): boolean {
  return [...sizes.values()].some((size) => size > 1);
}

function codesOf(keys: readonly (string | null)[]): { codes: Int32Array; groups: number } {
  const codes = new Map<string, number>();
  const coded = Int32Array.from(keys, (key) => {
    if (key === null) return -1;
    const code = codes.get(key) ?? codes.size;
    codes.set(key, code);
    return code;
  });
  return { codes: coded, groups: codes.size };
}

function summed(terms: readonly Term[], entries: readonly Entry[]): StepValues {
  const columns = terms.map(({ by, weight }) => ({
    weight,
    rates: Float64Array.from(entries, (entry) => rate(entry, { by, weight }) ?? NaN),
  }));
  const known = columns.filter(({ rates }) => !rates.every(Number.isNaN));
  const [rates, weights] = [known.map((each) => each.rates), known.map(({ weight }) => weight)];
  if (rates.some((column) => column.some(Number.isNaN))) return { kind: 'sum', rates, weights };
  const total = (index: number): number =>
    rates.length === 0
      ? -Infinity
      : rates.reduce((sum, column, t) => sum + (weights[t] ?? 0) * (column[index] ?? 0), 0);
  return fixed(Float64Array.from(entries, (_, index) => total(index)));
}
