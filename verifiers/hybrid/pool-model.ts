import { grouped } from '../../src/core/grouped.js';
import type { Beta } from '../../src/core/run/fitted.js';
import { BetaTable, type ObservedColumn, ObservedTable, type TestColumn, TestTable } from './outcome-tables.js';

/** What is known of the distinct patches of a pool, as far as it bears on which of them are good. */
export interface PoolModel {
  /** Log of how much likelier each patch is to be good than not, by all that speaks of it alone. */
  readonly leanings: Float64Array;
  readonly columns: readonly TestColumn[];
  /** What tests without expectation told; absent = none were run. */
  readonly observed?: readonly ObservedColumn[];
  /** Of the share of good patches, before anything is seen. */
  readonly share: Beta;
  /** Log of P(patch is wrong), by patch, if it is good and if it is not. */
  readonly wrong: { readonly ifGood: Float64Array; readonly ifNot: Float64Array };
  /** Whether the tests' kinds are asked for, too. */
  readonly kinds: boolean;
}

export interface Assignments {
  /** P(good) by patch, 0..1. */
  readonly good: Float64Array;
  /** P(every patch is wrong). */
  readonly allWrong: number;
  /** P(telling), P(indifferent), P(toxic) by column, those that only observe last; empty unless asked for. */
  readonly kinds: readonly (readonly [number, number, number])[];
  /** Every assignment was gone through, or Markov chains were. */
  readonly method: 'enumerated' | 'sampled';
  /** Largest difference between the chains in any P(good); 0 when enumerated. */
  readonly spread: number;
}

/** Patches with the same outcomes. */
export interface Group {
  readonly members: readonly number[];
  /** By column, how far its state moves when one more of the group is good. */
  readonly steps: Int32Array;
}

/** A model, ready for its assignments to be gone through. */
export class PoolState {
  readonly groups: readonly Group[];
  readonly tables: readonly (TestTable | ObservedTable)[];
  /** Log of the prior of an assignment, by how many it calls good. */
  readonly share: Float64Array;

  constructor(readonly model: PoolModel) {
    const patches = Array.from(model.leanings, (_, patch) => patch);
    this.tables = [
      ...model.columns.map((column) => TestTable.of(column)),
      ...(model.observed ?? []).map((column) => new ObservedTable(column)),
    ];
    const beta = new BetaTable(model.share, patches.length);
    this.share = Float64Array.from({ length: patches.length + 1 }, (_, good) => beta.log(good, patches.length - good));
    const rowOf = (patch: number): string => this.stepsOf(patch).join();
    this.groups = [...grouped(patches, rowOf).values()].map((members) => ({
      members,
      steps: this.stepsOf(members[0] ?? 0),
    }));
  }

  stepsOf(patch: number): Int32Array {
    return Int32Array.from(this.tables, (table, test) => {
      if (table instanceof ObservedTable) return table.steps[patch] ?? 0;
      const outcome = this.model.columns[test]?.outcomes[patch] ?? null;
      return outcome === null ? 0 : outcome ? table.stride : 1;
    });
  }
}

/**
 * Sums over the subsets of some patches by their size: Σ_{|S| = k} Π_{i ∈ S} e^{leaning i}, the elementary symmetric
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

  /** Logs of the sums for sizes 0 to all. */
  get bySize(): Float64Array {
    return this.prefixes[this.leanings.length] as Float64Array;
  }

  /**
   * P(a patch is in the subset), by patch; equal leanings get the very same number. Backwards over the patches: given how
   * likely each size is among the first j, was the j-th one of them?
   * @param sizes P(size), 0 to all
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

  /** P(the j-th is in the subset), given that it has k of the first j. */
  private chanceOfLast(j: number, k: number): number {
    const [here, before] = [this.prefixes[j] as Float64Array, this.prefixes[j - 1] as Float64Array];
    return Math.exp((this.leanings[j - 1] as number) + (before[k - 1] as number) - (here[k] as number));
  }
}

function logAdd(a: number, b: number): number {
  const [most, least] = a > b ? [a, b] : [b, a];
  return most === -Infinity ? most : most + Math.log1p(Math.exp(least - most));
}
