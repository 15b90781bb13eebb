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
