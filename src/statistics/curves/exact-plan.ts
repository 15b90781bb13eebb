import type { TopCount } from '../../core/run/preset.js';
import { real, whole } from './scored-issue.js';
import type { Step } from './steps.js';

/** An issue's candidates ready for a closed form: what the preset orders them by, and labels averaged over ties. */
export interface ExactPlan {
  /** Keys before `top`; without a `top`, all of them. */
  readonly before: Keys;
  readonly top: { readonly values: Float64Array; readonly n: TopCount } | null;
  /** Keys after `top`. */
  readonly after: Keys;
  /** 1 = right; 0 also for a candidate that a filter turns into "no patch". */
  readonly labels: Float64Array;
}

/**
 * The closed form's input, or null when the preset on this issue has none: two `top`s, one among copies of a patch, a
 * tolerance, or a measure that depends on who was drawn and still decides between right and wrong.
 * docs/exact-best-at-k.md proves what is used here.
 * @param hasCopies whether candidates of the issue are the same patch
 */
export function exactPlan(steps: readonly Step[], labels: Float64Array, hasCopies: boolean): ExactPlan | null {
  const before: Float64Array[] = [];
  const after: Float64Array[] = [];
  let top: ExactPlan['top'] = null;
  const judged = labels.slice();
  for (const [index, step] of steps.entries()) {
    if (!isFixed(step)) {
      const keys = [...before, ...keysOf(top), ...after];
      if (!allTiesAgree(keys, judged) || steps.slice(index).some(mayLeaveNobody)) return null;
      break;
    }
    if (step.op === 'top') {
      if (top !== null || hasCopies) return null;
      top = { values: step.values.values, n: step.n };
    } else {
      (top === null ? before : after).push(step.values.values);
      if (step.mayEmpty) zeroFailing(step.values.values, judged);
    }
  }
  return { before, top, after, labels: judged };
}

function keysOf(top: ExactPlan['top']): Keys {
  return top === null ? [] : [top.values];
}

function mayLeaveNobody(step: Step): boolean {
  return step.op !== 'top' && step.mayEmpty;
}

type FixedStep = Exclude<Step, { op: 'above' }> & { readonly values: { readonly kind: 'fixed' } };

function isFixed(step: Step): step is FixedStep {
  return step.op !== 'above' && step.values.kind === 'fixed' && (step.op === 'top' || step.within === 0);
}

/** Whatever decides among candidates tied in these keys, it cannot change the label. */
function allTiesAgree(keys: Keys, labels: Float64Array): boolean {
  const order = sortedBy(keys, labels.length);
  for (let i = 1; i < order.length; i += 1) {
    const [last, here] = [whole(order, i - 1), whole(order, i)];
    if (real(labels, last) !== real(labels, here) && compareKeys(keys, last, here) === 0) return false;
  }
  return true;
}

function zeroFailing(flags: Float64Array, labels: Float64Array): void {
  for (let i = 0; i < labels.length; i += 1) if (flags[i] === 0) labels[i] = 0;
}

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
