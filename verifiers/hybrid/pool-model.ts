import { grouped } from '../../src/core/grouped.js';
import type { Beta } from '../../src/core/run/fitted.js';
import {
  BetaTable,
  type ObservedColumn,
  ObservedTable,
  type OutcomeTable,
  type TestColumn,
  TestTable,
} from './outcome-tables.js';

/** Evidence about the distinct patches of a pool, as input for inferring which of them are good. */
export interface PoolModel {
  /** Per patch, log-likelihood ratio of good to not good from the evidence about this patch only. */
  readonly leanings: Float64Array;
  readonly columns: readonly TestColumn[];
  /** Outcomes of tests that observe without expecting a result; absent = none were run. */
  readonly observed?: readonly ObservedColumn[];
  /** Prior of the share of good patches. */
  readonly share: Beta;
  /** Log of P(patch is wrong) per patch, given that it is good and that it is not. */
  readonly wrong: { readonly ifGood: Float64Array; readonly ifNot: Float64Array };
  /** Whether to also infer the kind of each test. */
  readonly kinds: boolean;
}

export interface Assignments {
  /** P(good) per patch, 0..1. */
  readonly good: Float64Array;
  /** P(every patch is wrong). */
  readonly allWrong: number;
  /** P(telling), P(indifferent), P(toxic) per column, observing tests last; empty unless `PoolModel.kinds`. */
  readonly kinds: readonly (readonly [number, number, number])[];
  /** Exact enumeration of all assignments, or Markov chains. */
  readonly method: 'enumerated' | 'sampled';
  /** Largest difference between the chains in any P(good); 0 when enumerated. */
  readonly spread: number;
}

/** Patches with the same outcomes. */
export interface Group {
  readonly members: readonly number[];
  /** Per column, the change of its state when one more patch of the group is good. */
  readonly steps: Int32Array;
}

/** A model prepared for summing over its assignments. */
export class PoolState {
  readonly groups: readonly Group[];
  readonly tables: readonly OutcomeTable[];
  private readonly steps: readonly Int32Array[];
  /** Log prior of an assignment, indexed by its number of good patches. */
  readonly share: Float64Array;

  constructor(readonly model: PoolModel) {
    const patches = Array.from(model.leanings, (_, patch) => patch);
    const outcomes = [
      ...model.columns.map((column) => TestTable.of(column)),
      ...(model.observed ?? []).map((column) => ObservedTable.of(column)),
    ];
    this.tables = outcomes.map(({ table }) => table);
    this.steps = outcomes.map(({ steps }) => steps);
    const beta = new BetaTable(model.share, patches.length);
    this.share = Float64Array.from({ length: patches.length + 1 }, (_, good) => beta.log(good, patches.length - good));
    const rowOf = (patch: number): string => this.stepsOf(patch).join();
    this.groups = [...grouped(patches, rowOf).values()].map((members) => ({
      members,
      steps: this.stepsOf(members[0] ?? 0),
    }));
  }

  stepsOf(patch: number): Int32Array {
    return Int32Array.from(this.steps, (steps) => steps[patch] ?? 0);
  }
}

/**
 * Sums over the subsets of some patches, by subset size: Σ_{|S| = k} Π_{i ∈ S} e^{leaning i}, the elementary symmetric
 * polynomials, as logarithms. Built patch by patch: F_j(k) = F_{j−1}(k) + e^{leaning j} F_{j−1}(k−1).
 */
export class SubsetSums {
  private readonly prefixes: readonly Float64Array[];

  constructor(private readonly leanings: readonly number[]) {
    const prefixes = [Float64Array.of(0)];
    for (const [j, leaning] of leanings.entries()) {
      const before = prefixes[j] as Float64Array;
      const without = (k: number): number => before[k] ?? -Infinity;
      prefixes.push(Float64Array.from({ length: j + 2 }, (_, k) => logAdd(without(k), without(k - 1) + leaning)));
    }
    this.prefixes = prefixes;
  }

  /** Logs of the sums, for sizes 0 to the number of patches. */
  get bySize(): Float64Array {
    return this.prefixes[this.leanings.length] as Float64Array;
  }

  /**
   * P(a patch is in the subset), per patch; equal leanings get exactly equal results. Goes backwards over the patches: given
   * the distribution of the size among the first j, was patch j included?
   * @param sizes P(size), for sizes 0 to the number of patches
   */
  marginals(sizes: Float64Array): number[] {
    const marginals = new Array<number>(this.leanings.length).fill(0);
    let left = sizes;
    for (let j = this.leanings.length; j > 0; j -= 1) {
      const next = new Float64Array(j);
      for (let k = 0; k <= j; k += 1) {
        const weight = left[k] as number;
        const chosen = k === 0 ? 0 : weight * this.chanceOfLast(j, k);
        marginals[j - 1] = (marginals[j - 1] as number) + chosen;
        if (k > 0) next[k - 1] = (next[k - 1] as number) + chosen;
        if (k < j) next[k] = (next[k] as number) + weight - chosen;
      }
      left = next;
    }
    const byLeaning = new Map(marginals.map((marginal, index) => [this.leanings[index], marginal]));
    return this.leanings.map((leaning) => byLeaning.get(leaning) ?? 0);
  }

  /** P(patch j is in the subset), given that the subset contains k of the first j patches. */
  private chanceOfLast(j: number, k: number): number {
    const [here, before] = [this.prefixes[j] as Float64Array, this.prefixes[j - 1] as Float64Array];
    return Math.exp((this.leanings[j - 1] as number) + (before[k - 1] as number) - (here[k] as number));
  }
}

function logAdd(a: number, b: number): number {
  const [most, least] = a > b ? [a, b] : [b, a];
  return most === -Infinity ? most : most + Math.log1p(Math.exp(least - most));
}
