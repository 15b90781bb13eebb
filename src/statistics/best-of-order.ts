import { binomials, LARGEST_TABLE } from './binomial.js';
import { real } from './cells.js';

/**
 * Exact Best@k of a selector that takes the first of its k candidates in a fixed order. A candidate at position a (from
 * 0) is the first drawn with probability [C(n−a, k) − C(n−a−1, k)] / C(n, k); summed over a tied group this is the
 * group's weight, and its label is the group's mean.
 * @param means labels in order, best first, averaged over ties
 * @param k 1..n
 */
export function bestOfOrder(means: Float64Array, k: number): number {
  const n = means.length;
  const missing = n <= LARGEST_TABLE ? tabled(n, k) : recurring(n, k);
  let [best, before, runStart] = [0, 1, 0];
  for (let i = 1; i <= n; i += 1) {
    if (i < n && real(means, i) === real(means, runStart)) continue;
    const after = missing(i);
    best += real(means, runStart) * (before - after);
    [before, runStart] = [after, i];
  }
  return best;
}

/** P(none of the first a is drawn) = C(n−a, k) / C(n, k), for rising a. */
function tabled(n: number, k: number): (a: number) => number {
  const { width, cells } = binomials(n);
  const all = real(cells, n * width + k);
  return (a) => real(cells, (n - a) * width + k) / all;
}

function recurring(n: number, k: number): (a: number) => number {
  let [done, chance] = [0, 1];
  return (a) => {
    for (; done < a; done += 1) chance *= Math.max(0, n - done - k) / (n - done);
    return chance;
  };
}
