import type { TopCount } from '../../verifiers/hybrid/stage.js';
import { real, whole } from './cells.js';
import { compareKeys, sortedBy, type Keys } from './key-order.js';
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
 * The closed form's input, or null when the preset on this issue has none: two `top`s, a tolerance, or a measure that
 * depends on who was drawn and still decides between right and wrong. docs/exact-best-at-k.md proves what is used here.
 */
export function exactPlan(steps: readonly Step[], labels: Float64Array): ExactPlan | null {
  const before: Float64Array[] = [];
  const after: Float64Array[] = [];
  let top: ExactPlan['top'] = null;
  const judged = labels.slice();
  for (const [index, step] of steps.entries()) {
    if (!isFixed(step)) {
      const decided = allTiesAgree([...before, ...(top === null ? [] : [top.values]), ...after], judged);
      if (!decided || steps.slice(index).some((each) => each.op !== 'top' && each.mayEmpty)) return null;
      break;
    }
    if (step.op === 'top') {
      if (top !== null) return null;
      top = { values: step.values.values, n: step.n };
    } else {
      (top === null ? before : after).push(step.values.values);
      if (step.mayEmpty) zeroFailing(step.values.values, judged);
    }
  }
  return { before, top, after, labels: judged };
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
