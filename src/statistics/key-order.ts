import { real, whole } from './cells.js';

/** Columns of values by candidate, compared one after the other; higher is better. */
export type Keys = readonly Float64Array[];

/** Negative when candidate `a` comes before `b`, 0 when all keys are equal. */
export function compareKeys(keys: Keys, a: number, b: number): number {
  for (let key = 0; key < keys.length; key += 1) {
    const column = keys[key] as Float64Array;
    const x = real(column, a);
    const y = real(column, b);
    if (x !== y) return x > y ? -1 : 1;
  }
  return 0;
}

/** Candidates 0..n−1, best first; equal ones by number. */
export function sortedBy(keys: Keys, n: number): Int32Array {
  return sortRange(n, (a, b) => compareKeys(keys, a, b));
}

/** Up to this many, insertion beats the general sort, which pays for every call of its comparison. */
const FEW = 48;

/** 0..n−1 in the order of a comparison; equal ones stay in order. */
export function sortRange(n: number, compare: (a: number, b: number) => number): Int32Array {
  const order = new Int32Array(n);
  for (let i = 0; i < n; i += 1) order[i] = i;
  if (n > FEW) return order.sort((a, b) => compare(a, b) || a - b);
  for (let i = 1; i < n; i += 1) {
    let at = i;
    while (at > 0 && compare(whole(order, at - 1), i) > 0) {
      order[at] = whole(order, at - 1);
      at -= 1;
    }
    order[at] = i;
  }
  return order;
}

/** Where the groups of an order begin whose candidates are equal in all keys; one more number ends the last. */
export function groupStarts(keys: Keys, order: Int32Array): number[] {
  const starts: number[] = [];
  for (let i = 0; i < order.length; i += 1) {
    if (i === 0 || compareKeys(keys, whole(order, i - 1), whole(order, i)) !== 0) starts.push(i);
  }
  starts.push(order.length);
  return starts;
}

/** Labels in the order given, each replaced by the mean over its tied group. */
export function meanLabels(keys: Keys, order: Int32Array, labels: Float64Array): Float64Array {
  const means = new Float64Array(order.length);
  let start = 0;
  for (let end = 1; end <= order.length; end += 1) {
    if (end < order.length && compareKeys(keys, whole(order, end - 1), whole(order, end)) === 0) continue;
    let sum = 0;
    for (let i = start; i < end; i += 1) sum += real(labels, whole(order, i));
    const mean = sum / (end - start);
    for (let i = start; i < end; i += 1) means[i] = mean;
    start = end;
  }
  return means;
}
