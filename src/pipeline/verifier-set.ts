import type { Observe } from '../core/observe.js';
import type { ModelUsage } from '../core/run-result.js';
import type { Verifier } from '../core/verifier.js';

/** The verifiers of one run, and what their model calls came to so far. */
export interface VerifierSet {
  readonly verifiers: Readonly<Record<VerifierName, Verifier>>;
  usage(): readonly ModelUsage[];
}

export const VERIFIER_NAMES = ['ef', 'eb'] as const;
/** Short names of the wire: `ef` execution-free, `eb` execution-based. */
export type VerifierName = (typeof VERIFIER_NAMES)[number];

/** Makes the verifiers of one run; bound in the composition root. */
export abstract class VerifierFactory {
  /** Verifiers to use when a request names none. */
  abstract readonly defaults: readonly VerifierName[];
  abstract readonly verifierModel: string | null;
  abstract create(observe: Observe): VerifierSet;
}
