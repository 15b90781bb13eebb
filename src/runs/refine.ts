import { type Entry, isEligible, patchOf } from '../../verifiers/hybrid/entry.js';
import type { Pool } from '../../verifiers/hybrid/pool.js';
import { contentKey } from '../core/identifier.js';
import { grouped } from '../core/grouped.js';
import type { Candidate } from '../core/run/candidate.js';
import type { EarlierTries, Rollout } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { Sampling } from '../core/run/run-result.js';
import { dearest, failedTries, sampleWave, SURE, type Wave } from './collect.js';
import type { RunDependencies } from './run-dependencies.js';

/** Patches of the first wave that the second is told of (arXiv 2604.16529, "top-4 summaries"). */
export const TOLD_OF = 4;

/** What the first wave came to. */
export interface FirstWave {
  readonly rollouts: readonly Rollout[];
  readonly candidates: readonly Candidate[];
  readonly sampling: Sampling;
  readonly pool: Pool;
}

export interface SecondWave {
  readonly rollouts: readonly Rollout[];
  /** Of both waves. */
  readonly sampling: Sampling;
}

/** What a second wave is asked for with. */
export type Refinement = Pick<RunRequest, 'refine' | 'refine_from' | 'issue'> &
  Pick<RunDependencies, 'retell' | 'ledger'>;

/**
 * Samples once more, by agents that are told of the most promising patches of the first wave and of nothing that
 * labels say. Made only where something can be learned from the first: its best is promising, and not as good as certain.
 * @throws what is no failure of a single try, and the signal's reason
 */
export async function refine(
  wave: Omit<Wave, 'earlier'>,
  refinement: Refinement,
  first: FirstWave,
  signal: AbortSignal,
): Promise<SecondWave> {
  const { emit, plan } = wave;
  const { refine: asked } = refinement;
  const { sampling, pool } = first;
  const best = bestOf(pool);
  const right = pool.beliefs().right.get(best[0]?.id ?? '') ?? null;
  const against = await whyNone(right, refinement, first, plan.stopAt);
  const earlier = against === null ? await earlierTries(best, refinement, first, signal) : null;
  const numbers = Array.from({ length: asked }, (_, index) => sampling.asked + index + 1);
  const { rollouts, failures } = earlier === null ? NOBODY : await sampleWave({ ...wave, earlier }, numbers, signal);
  const told_of = earlier?.told_of ?? [];
  const detail = against ?? `the best of the first wave is right with ${(right ?? 0).toFixed(3)}`;
  const refined = { asked, sampled: rollouts.length, told_of, detail };
  await emit('refined', refined);
  return { rollouts, sampling: { ...sampling, failed: [...sampling.failed, ...failedTries(failures)], refined } };
}

const NOBODY = { rollouts: [], failures: [] };

/** @param right of the best of the first wave */
async function whyNone(
  right: number | null,
  { refine_from: from, ledger }: Pick<Refinement, 'refine_from' | 'ledger'>,
  { rollouts }: FirstWave,
  stopAt: AbortSignal | null,
): Promise<string | null> {
  if (right === null) return 'the first wave has no patch';
  const known = `the best of the first wave is right with ${right.toFixed(3)}`;
  if (right < from) return `${known}, less than ${from}`;
  if (right >= SURE) return `${known}, at least ${SURE}`;
  if (stopAt?.aborted === true) return 'the time for sampling is over';
  const typical = dearest(rollouts, ledger);
  if (await ledger.covers(typical)) return null;
  return `the budget does not cover another rollout of ${typical.tokens} tokens`;
}

/** The likeliest patches that can be returned, a candidate each. */
function bestOf(pool: Pool): readonly Entry[] {
  const { right } = pool.beliefs();
  const ranked = pool.entries.filter(isEligible).toSorted((a, b) => (right.get(b.id) ?? 0) - (right.get(a.id) ?? 0));
  return [...grouped(ranked, patchOf).values()].flatMap((equal) => equal.slice(0, 1)).slice(0, TOLD_OF);
}

async function earlierTries(
  best: readonly Entry[],
  { retell, issue }: Pick<Refinement, 'retell' | 'issue'>,
  { candidates }: FirstWave,
  signal: AbortSignal,
): Promise<EarlierTries> {
  const attempts = await Promise.all(
    best.map(async ({ id, regression, regression_out_of: outOf = null }) => {
      const candidate = candidates.find(({ candidate_id }) => candidate_id === id);
      if (candidate === undefined) throw new Error(`The pool holds ${id}, which nobody sampled.`);
      const tests =
        regression === null || outOf === null
          ? ''
          : `${regression} of the ${outOf} existing tests that passed before still pass`;
      return { ...(await retell(issue.problem_statement, candidate, signal)), tests };
    }),
  );
  return { told_of: best.map(({ id }) => id), attempts, fence: contentKey(attempts).slice(0, 16) };
}
