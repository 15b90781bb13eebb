import { real, whole } from './cells.js';

/** Columns of values by candidate, compared one after the other; higher is better. */
export type Keys = readonly Float64Array[];

/** Negative when candidate `a` comes before `b`, 0 when all keys are equal. */
export function compareKeys(keys: Keys, a: number, b: number): number {
  for (const column of keys) {
    const x = real(column, a);
    const y = real(column, b);
    if (x !== y) return x > y ? -1 : 1;
  }
  return 0;
}

/** Candidates 0..n−1, best first. */
export function sortedBy(keys: Keys, n: number): Int32Array {
  return Int32Array.from({ length: n }, (_, index) => index).sort((a, b) => compareKeys(keys, a, b) || a - b);
}

/** Ranges [start, end) of an order whose candidates are equal in all keys. */
export function groupsTied(keys: Keys, order: Int32Array): (readonly [number, number])[] {
  const groups: (readonly [number, number])[] = [];
  let start = 0;
  for (let i = 1; i <= order.length; i += 1) {
    if (i < order.length && compareKeys(keys, whole(order, start), whole(order, i)) === 0) continue;
    groups.push([start, i]);
    start = i;
  }
  return order.length === 0 ? [] : groups;
}

/** Labels in the order given, each replaced by the mean over its tied group. */
export function meanLabels(keys: Keys, order: Int32Array, labels: Float64Array): Float64Array {
  const means = new Float64Array(order.length);
  for (const [start, end] of groupsTied(keys, order)) {
    let sum = 0;
    for (let i = start; i < end; i += 1) sum += real(labels, whole(order, i));
    means.fill(sum / (end - start), start, end);
  }
  return means;
}
