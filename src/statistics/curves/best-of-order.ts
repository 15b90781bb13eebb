import type { TopCount } from '../../core/run/preset.js';
import { topCount } from '../../../verifiers/hybrid/stages.js';
import { binomials, type Binomials, LARGEST_TABLE, real, whole } from '../intervals/binomial.js';
import { compareKeys, type ExactPlan, groupStarts, type Keys, meanLabels, sortedBy, sortRange } from './exact-plan.js';

/**
 * Exact Best@k of a selector that takes the first of its k candidates in a fixed order. The candidate at position a (from 0)
 * is the first one drawn with probability [C(n−a, k) − C(n−a−1, k)] / C(n, k). Over a run of equal labels the sum telescopes
 * to a difference of two binomials, so only positions where the label changes contribute.
 * @param means labels in order, best first, averaged over ties
 * @param ks each from 1 to n
 */
export function bestOfOrder(means: Float64Array, ks: readonly number[]): Float64Array {
  const n = means.length;
  const places: number[] = [];
  const steps: number[] = [];
  for (let a = 1; a < n; a += 1) {
    const step = real(means, a) - real(means, a - 1);
    if (step === 0) continue;
    places.push(a);
    steps.push(step);
  }
  const missing = n <= LARGEST_TABLE ? tabled(n) : recurring(n);
  const values = new Float64Array(ks.length);
  for (let index = 0; index < ks.length; index += 1) {
    const k = ks[index] ?? 1;
    values[index] = Math.min(1, Math.max(0, real(means, 0) + missing(k, places, steps)));
  }
  return values;
}

/** Σ step × P(none of the first `place` is drawn), where P = C(n−place, k) / C(n, k); `places` ascend. */
type Missing = (k: number, places: readonly number[], steps: readonly number[]) => number;

function tabled(n: number): Missing {
  const { width, cells } = binomials(n);
  return (k, places, steps) => {
    let sum = 0;
    for (let i = 0; i < places.length; i += 1) {
      const place = places[i] ?? n;
      if (n - place < k) break;
      sum += (steps[i] ?? 0) * real(cells, (n - place) * width + k);
    }
    return sum / real(cells, n * width + k);
  };
}

function recurring(n: number): Missing {
  return (k, places, steps) => {
    let [sum, done, chance] = [0, 0, 1];
    for (let i = 0; i < places.length && chance > 0; i += 1) {
      for (const place = places[i] ?? n; done < place; done += 1) chance *= Math.max(0, n - done - k) / (n - done);
      sum += (steps[i] ?? 0) * chance;
    }
    return sum;
  };
}

/**
 * Exact Best@k of "the best class, its top m by one order, the best of these by another", for all ks at once; null if two
 * candidates with different labels tie in the second order. Derived in docs/exact-best-at-k.md.
 * @param ks each from 1 to n; n at most LARGEST_TABLE
 */
export function bestOfTop(plan: ExactPlan, ks: readonly number[]): Float64Array | null {
  const { before, top, after, labels } = plan;
  if (top === null) return null;
  const n = labels.length;
  const keys = [...before, top.values, ...after];
  const order = sortedBy(keys, n);
  const means = meanLabels(keys, order, labels);
  const draws = drawsOf(ks, top.n);
  const sums = new Float64Array(ks.length);
  const starts = before.length === 0 ? [0, n] : groupStarts(before, order);
  for (let group = 0; group + 1 < starts.length; group += 1) {
    const [start = 0, end = n] = starts.slice(group, group + 2);
    const members = order.subarray(start, end);
    const own = means.subarray(start, end);
    const ranks = ranksBy(after, members, own);
    if (ranks === null) return null;
    new WinsOfClass({ labels: own, ranks, worse: n - end }, draws).addTo(sums);
  }
  const { width, cells } = binomials(n);
  for (let index = 0; index < sums.length; index += 1) {
    sums[index] = real(sums, index) / real(cells, n * width + whole(draws.ks, index));
  }
  return sums;
}

/** The most recent draws: consecutive issues use the same ks and n. */
let lastDraws: { ks: readonly number[]; n: TopCount; draws: Draws } | null = null;

function drawsOf(ks: readonly number[], n: TopCount): Draws {
  if (lastDraws?.ks === ks && lastDraws.n === n) return lastDraws.draws;
  const sizes = Int32Array.from(ks, (k) => Math.min(k, topCount(n, k)));
  const draws: Draws = {
    ks: Int32Array.from(ks),
    sizes,
    others: sizes.map((size, index) => (ks[index] ?? 0) - size),
    largest: sizes.reduce((most, size) => Math.max(most, size), 0),
  };
  lastDraws = { ks, n, draws };
  return draws;
}

/** Each member's position in the second order, from 0 = best; null if candidates tied there differ in label. */
function ranksBy(after: Keys, members: Int32Array, labels: Float64Array): Int32Array | null {
  const compare = (p: number, q: number): number => compareKeys(after, whole(members, p), whole(members, q));
  const positions = sortRange(members.length, compare);
  const ranks = new Int32Array(members.length);
  for (let rank = 0; rank < positions.length; rank += 1) {
    const here = whole(positions, rank);
    const last = rank === 0 ? here : whole(positions, rank - 1);
    if (real(labels, last) !== real(labels, here) && compare(last, here) === 0) return null;
    ranks[here] = rank;
  }
  return ranks;
}

/** The candidates of one class, in the order used by `top`. */
interface RankedClass {
  readonly labels: Float64Array;
  /** Position of each in the order applied after `top`, from 0 = best. */
  readonly ranks: Int32Array;
  /** Number of candidates in worse classes. */
  readonly worse: number;
}

interface Draws {
  readonly ks: Int32Array;
  /** By k: how many candidates `top` keeps, and k minus that. */
  readonly sizes: Int32Array;
  readonly others: Int32Array;
  /** The largest of `sizes`. */
  readonly largest: number;
}

/**
 * Counts the k-subsets whose best class is this one, each weighted by the label of its winner; see docs/exact-best-at-k.md.
 */
class WinsOfClass {
  private readonly table: Binomials;
  private readonly seen: PrefixInOrder;
  /** Weighted wins by size m, from 0 to the largest size of any k. */
  private readonly wins: Float64Array;

  constructor(
    private readonly own: RankedClass,
    private readonly draws: Draws,
  ) {
    this.table = binomials(own.labels.length + own.worse);
    this.seen = new PrefixInOrder(own.labels.length);
    this.wins = new Float64Array(draws.largest + 1);
  }

  /** Adds this class's counts to `sums`, by k. */
  addTo(sums: Float64Array): void {
    const { labels, ranks, worse } = this.own;
    for (let p = 0; p < labels.length; p += 1) {
      const better = this.seen.betterThan(whole(ranks, p));
      this.countLast(p, better);
      this.countBetter(p, better);
      this.seen.insert(better, whole(ranks, p), real(labels, p));
      this.addLast(worse + labels.length - 1 - p, sums);
    }
    if (worse > 0) this.addSmallDraws(sums);
  }

  /** Candidate p wins if the m − 1 drawn candidates before it are all worse in the second order. */
  private countLast(p: number, better: number): void {
    const { wins } = this;
    const { width, cells } = this.table;
    const label = real(this.own.labels, p);
    const row = (p - better) * width - 1;
    for (let m = 1; m < wins.length; m += 1) wins[m] = label * real(cells, row + m);
  }

  /**
   * An earlier candidate that is better than p wins if it is drawn and the other m − 2 are worse than it. This loop dominates
   * the cost of Best@k; processing four candidates at a time halves it. A binomial out of range is 0.
   */
  private countBetter(p: number, better: number): void {
    const { wins, seen } = this;
    const { width, cells } = this.table;
    const last = (p - 1) * width - 2;
    for (let j = 0; j < better; j += 4) {
      const a = seen.label(j);
      const b = j + 1 < better ? seen.label(j + 1) : 0;
      const c = j + 2 < better ? seen.label(j + 2) : 0;
      const d = j + 3 < better ? seen.label(j + 3) : 0;
      if (a + b + c + d === 0) continue;
      const rowA = last - j * width;
      const rowB = b === 0 ? rowA : rowA - width;
      const rowC = c === 0 ? rowA : rowA - 2 * width;
      const rowD = d === 0 ? rowA : rowA - 3 * width;
      const largest = Math.min(wins.length - 1, p + 1 - j);
      for (let m = 2; m <= largest; m += 1) {
        const ab = a * real(cells, rowA + m) + b * real(cells, rowB + m);
        wins[m] = real(wins, m) + ab + c * real(cells, rowC + m) + d * real(cells, rowD + m);
      }
    }
  }

  /** Candidate p is the last one that `top` keeps; the other k − m come from the `later` candidates after it. */
  private addLast(later: number, sums: Float64Array): void {
    const { wins } = this;
    const { width, cells } = this.table;
    const { sizes, others } = this.draws;
    const row = later * width;
    for (let index = 0; index < sums.length; index += 1) {
      const ways = real(cells, row + whole(others, index));
      sums[index] = real(sums, index) + real(wins, whole(sizes, index)) * ways;
    }
  }

  /** Draws with e < m candidates of this class and the rest from worse ones: `top` keeps all e, and the best of them wins. */
  private addSmallDraws(sums: Float64Array): void {
    const { width, cells } = this.table;
    const { ks, sizes } = this.draws;
    const size = this.own.labels.length;
    const largest = Math.min(size, this.wins.length - 2);
    for (let e = 1; e <= largest; e += 1) {
      let wins = 0;
      for (let j = 0; j < size; j += 1) wins += this.seen.label(j) * real(cells, (size - 1 - j) * width + e - 1);
      for (let index = 0; index < ks.length; index += 1) {
        if (e >= whole(sizes, index)) continue;
        const rest = whole(ks, index) - e;
        sums[index] = real(sums, index) + wins * real(cells, this.own.worse * width + rest);
      }
    }
  }
}

/** Candidates visited so far in the first order, sorted by the second. */
class PrefixInOrder {
  private readonly ranks: Int32Array;
  private readonly labels: Float64Array;
  private size = 0;

  constructor(capacity: number) {
    this.ranks = new Int32Array(capacity);
    this.labels = new Float64Array(capacity);
  }

  /** Number of visited candidates with a better rank in the second order. */
  betterThan(rank: number): number {
    let better = 0;
    while (better < this.size && whole(this.ranks, better) < rank) better += 1;
    return better;
  }

  /** Label of the candidate with `position` better ones. */
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
