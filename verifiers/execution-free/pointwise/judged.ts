import { EXECUTION_FREE } from '../../../src/core/run/measure.js';
import type { AbstainReason, Verdict } from '../../../src/core/run/verdict.js';

/** What a judge makes of one candidate, before it is a verdict. */
export type Judged =
  | { readonly kind: 'scored'; readonly score: number; readonly evidence: Verdict['evidence'] }
  | {
      readonly kind: 'abstained';
      readonly reason: AbstainReason;
      readonly detail: string;
      readonly evidence: Verdict['evidence'];
    };

export function abstained(reason: AbstainReason, detail: string, evidence: Verdict['evidence'] = {}): Judged {
  return { kind: 'abstained', reason, detail, evidence };
}

export function verdictOf(candidate_id: string, judged: Judged): Verdict {
  const common = { candidate_id, measure: EXECUTION_FREE.name };
  return judged.kind === 'scored' ? { ...judged, ...common, out_of: 1 } : { ...judged, ...common };
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
