import { real, whole } from './cells.js';

/** Candidates met so far along the first order, kept sorted by the second. */
export class PrefixInOrder {
  private readonly ranks: Int32Array;
  private readonly labels: Float64Array;
  private size = 0;

  constructor(capacity: number) {
    this.ranks = new Int32Array(capacity);
    this.labels = new Float64Array(capacity);
  }

  /** How many of them are better than a rank of the second order. */
  betterThan(rank: number): number {
    let better = 0;
    while (better < this.size && whole(this.ranks, better) < rank) better += 1;
    return better;
  }

  /** The label of the one with so many better ones. */
  label(position: number): number {
    return real(this.labels, position);
  }

  insert(position: number, rank: number, label: number): void {
    for (let at = this.size; at > position; at -= 1) {
      this.ranks[at] = whole(this.ranks, at - 1);
      this.labels[at] = real(this.labels, at - 1);
    }
    this.ranks[position] = rank;
    this.labels[position] = label;
    this.size += 1;
  }
}
