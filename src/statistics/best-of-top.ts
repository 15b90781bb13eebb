import { topCount } from '../../verifiers/hybrid/run-stage.js';
import type { TopCount } from '../../verifiers/hybrid/stage.js';
import { binomials } from './binomial.js';
import { real, whole } from './cells.js';
import type { ExactPlan } from './exact-plan.js';
import { compareKeys, groupStarts, meanLabels, sortedBy, sortRange, type Keys } from './key-order.js';
import { WinsOfClass, type Draws } from './wins-of-class.js';

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
