import type { Entry } from '../../verifiers/hybrid/entry.js';
import { isEligible, patchOf } from '../../verifiers/hybrid/entry.js';
import type { Pool } from '../../verifiers/hybrid/pool.js';
import { contentKey } from '../core/fingerprint.js';
import type { Candidate } from '../core/run/candidate.js';
import type { EarlierTries, Rollout } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { Refined, Sampling } from '../core/run/run-result.js';
import { dearest, failedTries, sampleWave, SURE, type Wave } from './collect.js';
import type { RunDependencies } from './run-dependencies.js';

/** Patches of the first wave that the second is told of (arXiv 2604.16529, "top-4 summaries"). */
const TOLD_OF = 4;

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

/**
 * Samples once more, by agents that are told of the most promising patches of the first wave and of nothing that
 * labels say. Made only where something can be learned from the first: its best is promising, and not as good as certain.
 * @throws what is no failure of a single try, and the signal's reason
 */
export async function refine(
  wave: Omit<Wave, 'earlier'>,
  { refine: asked, refine_from: from, issue }: Pick<RunRequest, 'refine' | 'refine_from' | 'issue'>,
  { retell, ledger }: Pick<RunDependencies, 'retell' | 'ledger'>,
  first: FirstWave,
  signal: AbortSignal,
): Promise<SecondWave> {
  const best = bestOf(first.pool);
  const right = first.pool.beliefs().right.get(best[0]?.id ?? '') ?? null;
  const end = async (
    rollouts: readonly Rollout[],
    refined: Omit<Refined, 'asked' | 'sampled'>,
    failed: Sampling['failed'] = [],
  ) => {
    const { sampling } = first;
    const told = { asked, sampled: rollouts.length, ...refined };
    await wave.emit('refined', told);
    return { rollouts, sampling: { ...sampling, failed: [...sampling.failed, ...failed], refined: told } };
  };
  const against = right === null ? 'the first wave has no patch' : whyNot(right, from);
  if (against !== null) return end([], { told_of: [], detail: against });
  if (wave.plan.stopAt?.aborted === true) return end([], { told_of: [], detail: 'the time for sampling is over' });
  const typical = dearest(first.rollouts, ledger);
  if (!(await ledger.covers(typical))) {
    return end([], { told_of: [], detail: `the budget does not cover another rollout of ${typical.tokens} tokens` });
  }
  const earlier = await earlierTries(best, issue.problem_statement, first.candidates, retell, signal);
  const start = first.sampling.asked;
  const numbers = Array.from({ length: asked }, (_, index) => start + index + 1);
  const { rollouts, failures } = await sampleWave({ ...wave, earlier }, numbers, signal);
  const detail = `the best of the first wave was right with ${(right ?? 0).toFixed(3)}`;
  return end(rollouts, { told_of: earlier.told_of, detail }, failedTries(failures));
}

function whyNot(right: number, from: number): string | null {
  if (right < from) return `the best of the first wave is right with ${right.toFixed(3)}, less than ${from}`;
  return right >= SURE ? `the best of the first wave is right with ${right.toFixed(3)}, at least ${SURE}` : null;
}

/** The likeliest patches that can be returned, a candidate each. */
function bestOf(pool: Pool): readonly Entry[] {
  const { right } = pool.beliefs();
  const ranked = pool.entries.filter(isEligible).toSorted((a, b) => (right.get(b.id) ?? 0) - (right.get(a.id) ?? 0));
  return [...new Map(ranked.toReversed().map((entry) => [patchOf(entry), entry])).values()]
    .toReversed()
    .slice(0, TOLD_OF);
}

async function earlierTries(
  best: readonly Entry[],
  issue: string,
  candidates: readonly Candidate[],
  retell: RunDependencies['retell'],
  signal: AbortSignal,
): Promise<EarlierTries> {
  const attempts = await Promise.all(
    best.map(async ({ id, regression, regression_out_of: outOf = null }) => {
      const candidate = candidates.find(({ candidate_id }) => candidate_id === id);
      if (candidate === undefined) throw new Error(`The pool holds ${id}, which nobody sampled.`);
      const tests =
        regression === null || outOf === null ? '' : `${regression} of ${outOf} that passed before still pass`;
      return { ...(await retell(issue, candidate, signal)), tests };
    }),
  );
  return { told_of: best.map(({ id }) => id), attempts, fence: contentKey(attempts).slice(0, 16) };
}
