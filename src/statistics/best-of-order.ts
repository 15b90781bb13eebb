import { binomials, LARGEST_TABLE } from './binomial.js';
import { real } from './cells.js';

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
