import { z } from 'zod';

/** Ways of the execution-free verifier. */
export const JUDGE_METHODS = ['yes-no', 'rubric', 'pairwise'] as const;
export type JudgeMethod = (typeof JUDGE_METHODS)[number];

/** Names of the wire: `ef` execution-free in the configured way or in the named one, `eb` execution-based. */
export const VerifierName = z.enum(['ef', 'ef:yes-no', 'ef:rubric', 'ef:pairwise', 'eb']);
export type VerifierName = z.infer<typeof VerifierName>;

/** Whether a verifier is the execution-free one, in whichever way: it asks BESTK_VERIFIER_MODEL. */
export function isJudge(name: VerifierName): boolean {
  return name === 'ef' || name.startsWith('ef:');
}
