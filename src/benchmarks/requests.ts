import type { Candidate } from '../core/run/candidate.js';
import type { GeneratedTest } from '../core/run/generated-test.js';
import type { Issue } from '../core/run/issue.js';
import { type GivenRule, type RunRequest, runRequest } from '../core/run/run-request.js';
import type { SentArm, SentBench } from './plan.js';

/** What of an arm says how an issue is solved. */
type Way = Pick<SentArm, 'name' | 'agent' | 'temperature' | 'k' | 'k0' | 'refine' | 'refine_from' | 'seed' | 'judges'>;

/** What an arm has of an issue; null = it is made. */
export interface SavedInput {
  readonly candidates: readonly Candidate[] | null;
  readonly tests: readonly GeneratedTest[] | null;
}

/** What is asked of an issue in an arm. @throws BadInputError naming the field */
export function armRequest(
  { budget }: Pick<SentBench, 'budget'>,
  { agent: model, temperature, k, k0, refine, refine_from, seed, judges }: Way,
  rule: GivenRule,
  { issue, candidates, tests }: SavedInput & { readonly issue: Issue },
): RunRequest {
  const agent = model === undefined && temperature === undefined ? null : { model, temperature };
  const made = candidates === null ? { agent, k, k0, refine, refine_from } : { candidates };
  return runRequest({ ...rule, ...made, issue, tests, seed, verifiers: judges, budget: budget.each });
}
