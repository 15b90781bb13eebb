import type { Verifier } from '../src/core/verifier.js';
import { createExecutionBasedVerifier, type ExecutionBasedOptions } from './execution-based/execution-based.js';
import { createYesNoVerifier, type YesNoOptions } from './execution-free/yes-no.js';

export interface VerifierTools {
  readonly executionFree: YesNoOptions;
  readonly executionBased: ExecutionBasedOptions;
}

/** Every verifier, by its short name on the wire. To add one: a factory in a folder beside, and a line here. */
export function createVerifiers({ executionFree, executionBased }: VerifierTools): {
  readonly ef: Verifier;
  readonly eb: Verifier;
} {
  return { ef: createYesNoVerifier(executionFree), eb: createExecutionBasedVerifier(executionBased) };
}
