import { z } from 'zod';
import { BestkError, ToldError, UnavailableError } from '../core/errors/errors.js';
import type { RunRequest } from '../core/run/run-request.js';
import { RankedCandidate, RunResult, Selection } from '../core/run/run-result.js';
import type { AbstainReason } from '../core/run/verdict.js';
import { hasEnded, type Run } from '../ports/run-store.js';
import type { RunService } from './run-service.js';

/** The result of verifying one patch. */
export const Outcome = RankedCandidate.pick({ candidate_id: true, log_odds: true, flags: true }).extend({
  run_id: z.string(),
  instance_id: Selection.shape.instance_id,
  reward: z.number().min(0).max(1).describe('P(the patch is right).'),
  basis: Selection.shape.basis.describe(
    'hybrid: verdicts on this patch were used; fallback: only the prior and votes; none: the patch cannot be used, so 0 is certain.',
  ),
});
export type Outcome = z.infer<typeof Outcome>;

/** The requester, and how long it waits. */
export interface Asker {
  /** Name of the API key, '' without one. */
  readonly submitter: string;
  /** Aborts when the requester stops waiting; the run continues. */
  readonly signal: AbortSignal;
  /** Called with the id of each run that is waited for. */
  readonly waiting?: (id: string) => void;
}

/**
 * Verifies the candidates of a request and returns their outcomes, in order. The same key and request give the same run
 * under the same settings, however often it is requested; if that run ended without an outcome for every candidate, a new request
 * starts another run, which reuses stored results.
 * @throws ToldError, OutcomePendingError if `signal` aborts before the end, NoOutcomeError
 */
export async function outcomesOf(
  runs: RunService,
  key: string,
  request: RunRequest,
  { submitter, signal, waiting }: Asker,
): Promise<readonly Outcome[]> {
  const setup = await runs.setup();
  for (let time = 1; ; time += 1) {
    const { id, status } = await runs.submit(`${key} ${setup}#${time}`, request, submitter);
    waiting?.(id);
    const isOld = hasEnded(status);
    // Waits for the end of the journal and skips its events.
    const journal = runs.follow(id, Number.MAX_SAFE_INTEGER, signal);
    while ((await journal.next()).done !== true) continue;
    try {
      const outcomes = outcomesIn(await runs.get(id));
      return (request.candidates ?? []).map(({ candidate_id }) => {
        const outcome = outcomes.get(candidate_id);
        if (outcome === undefined)
          throw new NoOutcomeError(id, `the candidate "${candidate_id}" is not in its ranking`);
        return outcome;
      });
    } catch (error) {
      if (!isOld || !(error instanceof BestkError)) throw error;
    }
  }
}

/** Abstentions that say nothing about the patch. */
const SURROUNDINGS: ReadonlySet<AbstainReason> = new Set(['infrastructure', 'model-unavailable', 'budget-spent']);
/** Sources of P(right) that exist for every patch, without a verdict. */
const WITHOUT_VERDICT: ReadonlySet<string> = new Set(['prior', 'votes', 'submitted']);

/**
 * The outcomes of a run, by candidate.
 * @throws ToldError, OutcomePendingError, NoOutcomeError if a candidate could not be judged for an external reason
 */
export function outcomesIn({ id, status, failure, result }: Run): ReadonlyMap<string, Outcome> {
  if (!hasEnded(status)) throw new OutcomePendingError(id);
  if (failure !== null) throw new ToldError(failure);
  if (status === 'cancelled') throw new NoOutcomeError(id, 'it was cancelled');
  const { selection, verdicts } = RunResult.parse(result);
  const gap = verdicts.find((verdict) => verdict.kind === 'abstained' && SURROUNDINGS.has(verdict.reason));
  if (gap?.kind === 'abstained') throw new NoOutcomeError(id, `${gap.candidate_id}: ${gap.reason}, ${gap.detail}`);
  const { instance_id } = selection;
  return new Map(
    selection.ranking.map(({ candidate_id, p_right, log_odds, flags }) => {
      if (p_right === null) throw new NoOutcomeError(id, 'it is of a version that knew no P(right)');
      const basis = basisOf(Object.keys(log_odds));
      return [candidate_id, { run_id: id, instance_id, candidate_id, reward: p_right, basis, log_odds, flags }];
    }),
  );
}

function basisOf(sources: readonly string[]): Outcome['basis'] {
  if (sources.length === 0) return 'none';
  return sources.some((source) => !WITHOUT_VERDICT.has(source)) ? 'hybrid' : 'fallback';
}

/** The run takes longer than the requester waits. */
export class OutcomePendingError extends UnavailableError {
  readonly code = 'outcome-pending';
  readonly retryable = true;

  constructor(runId: string) {
    super(`Run "${runId}" has not ended yet.`, 'Send the same request again: it waits for the same run.');
  }
}

/** A candidate could not be judged for an external reason: there is no reward, and never 0. */
export class NoOutcomeError extends UnavailableError {
  readonly code = 'no-outcome';
  readonly retryable = true;

  constructor(runId: string, why: string) {
    super(`Run "${runId}" gave no outcome: ${why}.`, 'Send the same request again: stored work is not repeated.');
  }
}
