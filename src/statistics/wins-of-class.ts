import { binomials, type Binomials } from './binomial.js';
import { real, whole } from './cells.js';
import { PrefixInOrder } from './prefix-in-order.js';

/** The candidates of one class in the order that `top` cuts. */
export interface RankedClass {
  readonly labels: Float64Array;
  /** Position of each in the order that decides after the cut, from 0 = best. */
  readonly ranks: Int32Array;
  /** Candidates of worse classes. */
  readonly worse: number;
}

export interface Draws {
  readonly ks: Int32Array;
  /** How many `top` keeps, by k. */
  readonly sizes: Int32Array;
}

/** Counts the k-subsets whose best class is this one, each times the label of its winner; docs/exact-best-at-k.md. */
export class WinsOfClass {
  private readonly table: Binomials;
  private readonly seen: PrefixInOrder;
  /** The distinct sizes, and which of them each k has. */
  private readonly sizes: Int32Array;
  private readonly slots: Int32Array;

  constructor(
    private readonly own: RankedClass,
    private readonly draws: Draws,
  ) {
    this.table = binomials(own.labels.length + own.worse);
    this.seen = new PrefixInOrder(own.labels.length);
    this.sizes = Int32Array.from(new Set(draws.sizes));
    this.slots = draws.sizes.map((size) => this.sizes.indexOf(size));
  }

  /** Adds this class's counts by k. */
  addTo(sums: Float64Array): void {
    const { labels, ranks, worse } = this.own;
    const wins = new Float64Array(this.sizes.length);
    for (let p = 0; p < labels.length; p += 1) {
      const better = this.seen.betterThan(whole(ranks, p));
      this.countWins(p, better, wins);
      this.seen.insert(better, whole(ranks, p), real(labels, p));
      this.addLast(worse + labels.length - 1 - p, wins, sums);
    }
    if (worse > 0) this.addSmallDraws(sums);
  }

  /** For each size m: over the (m−1)-subsets of the first p, the label of the best of subset and p, summed. */
  private countWins(p: number, better: number, wins: Float64Array): void {
    const { sizes, seen } = this;
    const { width, cells } = this.table;
    const label = real(this.own.labels, p);
    for (let t = 0; t < sizes.length; t += 1) wins[t] = label * real(cells, (p - better) * width + whole(sizes, t) - 1);
    for (let j = 0; j < better; j += 1) {
      const winner = seen.label(j);
      if (winner === 0) continue;
      const row = (p - 1 - j) * width - 2;
      for (let t = 0; t < sizes.length; t += 1) {
        const m = whole(sizes, t);
        if (m > 1) wins[t] = real(wins, t) + winner * real(cells, row + m);
      }
    }
  }

  /** Candidate p is the last that `top` keeps; the k − m others come from the `later` ones after it. */
  private addLast(later: number, wins: Float64Array, sums: Float64Array): void {
    const { width, cells } = this.table;
    const { ks, sizes } = this.draws;
    for (let index = 0; index < ks.length; index += 1) {
      const others = whole(ks, index) - whole(sizes, index);
      sums[index] = real(sums, index) + real(wins, whole(this.slots, index)) * real(cells, later * width + others);
    }
  }

  /** Draws with e < m of this class and the rest of worse ones: `top` keeps all e, and the best of them wins. */
  private addSmallDraws(sums: Float64Array): void {
    const { width, cells } = this.table;
    const { ks, sizes } = this.draws;
    const size = this.own.labels.length;
    const largest = Math.min(size, Math.max(...sizes) - 1);
    for (let e = 1; e <= largest; e += 1) {
      let wins = 0;
      for (let j = 0; j < size; j += 1) wins += this.seen.label(j) * real(cells, (size - 1 - j) * width + e - 1);
      for (let index = 0; index < ks.length; index += 1) {
        if (e >= whole(sizes, index)) continue;
        const others = whole(ks, index) - e;
        sums[index] = real(sums, index) + wins * real(cells, this.own.worse * width + others);
      }
    }
  }
}
