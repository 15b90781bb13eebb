import type { TopCount } from '../../core/run/preset.js';
import { topCount } from '../../../verifiers/hybrid/stages.js';
import { binomials, LARGEST_TABLE } from '../intervals/binomial.js';
import { compareKeys, type ExactPlan, groupStarts, type Keys, meanLabels, sortedBy, sortRange } from './exact-plan.js';
import { real, whole } from './scored-issue.js';
import { type Draws, WinsOfClass } from './wins-of-class.js';

/**
 * Exact Best@k of a selector that takes the first of its k candidates in a fixed order. A candidate at position a (from
 * 0) is the first drawn with probability [C(n−a, k) − C(n−a−1, k)] / C(n, k); summed over a run of equal labels this is
 * a difference of two binomials, so only the places where the label changes count.
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

/** Σ step × P(none of the first `place` is drawn), which is C(n−place, k) / C(n, k), over rising places. */
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
 * Exact Best@k of "the best class, its top m by one order, the best of these by another", for all ks at once; null when
 * two candidates tie for the second order alone and differ in label. Derived in docs/exact-best-at-k.md.
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

/** The last draws asked for: issue after issue asks for the same. */
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

/** Each member's position in the second order, from 0 = best; null when a tie there mixes labels. */
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
