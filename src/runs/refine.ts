import { z } from 'zod';
import { type Entry, isEligible, patchOf } from '../../verifiers/hybrid/entry.js';
import type { Pool } from '../../verifiers/hybrid/pool.js';
import { contentKey } from '../core/identifier.js';
import { grouped } from '../core/grouped.js';
import type { Candidate } from '../core/run/candidate.js';
import { Branch, EarlierTries, type Rollout } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { Branched, Refined, Sampling } from '../core/run/run-result.js';
import { dearest, failedTries, sampleOf, sampleWave, SURE, triesOf, type Try, type Wave } from './collect.js';
import type { RunDependencies } from './run-dependencies.js';

/** Number of patches of the first wave described to the second (arXiv 2604.16529, "top-4 summaries"). */
export const TOLD_OF = 4;
/** Branches are numbered from here, so that their samples do not depend on a run's other rollouts. */
const FIRST_BRANCH = 501;
/** An edit of an existing file, as in steps; files created first are mostly scripts that reproduce the problem. */
const EDIT = /<function=file_editor>[^]*<parameter=command>\s*(?:str_replace|insert)\s*</;

/** Results of the first wave. */
export interface FirstWave {
  readonly rollouts: readonly Rollout[];
  readonly candidates: readonly Candidate[];
  readonly sampling: Sampling;
  readonly pool: Pool;
}

export interface SecondWave {
  readonly rollouts: readonly Rollout[];
  /** For both waves. */
  readonly sampling: Sampling;
}

/** Inputs of a second wave. */
export type Refinement = Pick<RunRequest, 'refine' | 'refine_from' | 'branch' | 'issue'> &
  Pick<RunDependencies, 'retell' | 'ledger' | 'progress' | 'results'> & { readonly runId: string };

const Plan = z.object({
  /** Why there is a second wave, or none. */
  why: z.string(),
  isMeant: z.boolean(),
  tries: z.array(
    z.object({
      candidateId: z.string(),
      agent: z.string().nullable(),
      sample: z.int(),
      earlier: EarlierTries.optional(),
      branch: Branch.optional(),
    }),
  ),
});
type Plan = z.infer<typeof Plan>;

/**
 * Samples a second wave: agents that are told about the most promising patches of the first (`refine`), and rollouts that
 * continue from a step of its most promising rollout (`branch`). Does not depend on labels. Only sampled if the best patch of
 * the first wave is promising but not nearly certain.
 * @throws errors that are not failures of a single rollout, and the signal's reason
 */
export async function secondWave(
  wave: Wave,
  refinement: Refinement,
  first: FirstWave,
  signal: AbortSignal,
): Promise<SecondWave> {
  const { sampling } = first;
  const planned = await plannedFor(wave.plan, { refinement, first }, signal);
  const { tries } = planned;
  const { rollouts, failures } = await sampleWave(wave, tries, signal);
  const failed = [...sampling.failed, ...failedTries(failures)];
  const told = await tell(wave.emit, refinement, { ...planned, rollouts });
  return { rollouts, sampling: { ...sampling, failed, ...told } };
}

/**
 * The stored plan if the run was interrupted after it had one: a judge or a model that answers otherwise by now would change the
 * prompts, and the rollouts that are already paid would be lost.
 */
async function plannedFor(plan: Wave['plan'], given: Given, signal: AbortSignal): Promise<Plan> {
  const { results, runId } = given.refinement;
  const key = contentKey({ kind: 'second-wave', run: runId });
  // Planned again in any case, so that the budget counts the model calls that this took.
  const planned = await planAnew(plan, given, signal);
  const keeps = planned.tries.length > 0;
  // By an earlier execution, or by one that has just taken the run over.
  const stored = Plan.safeParse(await (keeps ? results.putFirst(key, 'second-wave', planned) : results.get(key)));
  return stored.success ? stored.data : planned;
}

async function planAnew(plan: Wave['plan'], given: Given, signal: AbortSignal): Promise<Plan> {
  const { refinement, first } = given;
  const { pool } = first;
  const best = bestOf(pool);
  const right = pool.beliefs().right.get(best[0]?.id ?? '') ?? null;
  const against = whyNone(right, refinement, first, plan.stopAt);
  if (against !== null) return { why: against, isMeant: false, tries: [] };
  const told = await toldTries(plan, best, given, signal);
  const tries = [...told, ...(await branchTries(plan, given, signal))];
  return { why: `the best of the first wave is right with ${(right ?? 0).toFixed(3)}`, isMeant: true, tries };
}

interface Given {
  readonly refinement: Refinement;
  readonly first: FirstWave;
}

/** Rollouts whose agents are told about the best patches. */
async function toldTries(
  plan: Wave['plan'],
  best: readonly Entry[],
  { refinement, first }: Given,
  signal: AbortSignal,
): Promise<readonly Try[]> {
  const { refine } = refinement;
  if (refine === 0) return [];
  const numbers = Array.from({ length: refine }, (_, index) => first.sampling.asked + index + 1);
  return triesOf(plan, numbers, await earlierTries(best, refinement, first, signal));
}

/** Rollouts from a step of the rollout whose patch is most likely right; none if no rollout has steps to continue from. */
async function branchTries(
  plan: Wave['plan'],
  { refinement: { branch: count, progress }, first }: Given,
  signal: AbortSignal,
): Promise<readonly Try[]> {
  const from = count === 0 ? null : await branchFrom(plan, progress, first, signal);
  if (from === null) return [];
  return Array.from({ length: count }, (_, index) => ({
    ...from,
    candidateId: `${from.candidateId}-branch-${index + 1}`,
    sample: sampleOf(plan.seed, FIRST_BRANCH + index),
  }));
}

type Made = Plan & Pick<SecondWave, 'rollouts'>;

/** Emits and returns a summary of what was requested and sampled. */
async function tell(
  emit: Wave['emit'],
  { refine, branch }: Pick<Refinement, 'refine' | 'branch'>,
  made: Made,
): Promise<Pick<Sampling, 'refined' | 'branched'>> {
  const refined = refine > 0 ? refinedBy(refine, made) : null;
  const branched = branch > 0 ? branchedBy(branch, made) : null;
  if (refined !== null) await emit('refined', refined);
  if (branched !== null) await emit('branched', branched);
  return { refined, branched };
}

function refinedBy(asked: number, { rollouts, tries, why }: Made): Refined {
  const [told_of = []] = tries.flatMap(({ earlier }) => (earlier === undefined ? [] : [earlier.told_of]));
  return { asked, sampled: rollouts.filter(({ branch_of: of }) => of === null).length, told_of, detail: why };
}

function branchedBy(asked: number, { rollouts, tries, why, isMeant }: Made): Branched {
  const [branch] = tries.flatMap(({ branch: own }) => own ?? []);
  const sampled = rollouts.filter(({ branch_of: of }) => of !== null).length;
  if (branch !== undefined) {
    const { candidate_id, steps } = branch;
    return { asked, sampled, from: { candidate_id, steps }, detail: why };
  }
  const detail = isMeant ? 'no rollout of the first wave has steps to go on from' : why;
  return { asked, sampled, from: null, detail };
}

/** @param right P(right) of the best patch of the first wave */
function whyNone(
  right: number | null,
  { refine_from: from, ledger }: Pick<Refinement, 'refine_from' | 'ledger'>,
  { rollouts }: FirstWave,
  stopAt: AbortSignal | null,
): string | null {
  if (right === null) return 'the first wave has no patch';
  const known = `the best of the first wave is right with ${right.toFixed(3)}`;
  if (right < from) return `${known}, less than ${from}`;
  if (right >= SURE) return `${known}, at least ${SURE}`;
  if (stopAt?.aborted === true) return 'the time for sampling is over';
  const typical = dearest(rollouts, ledger);
  if (ledger.covers(typical)) return null;
  return `the budget does not cover another rollout of ${typical.tokens} tokens`;
}

/** The eligible patches most likely to be right, one candidate each. */
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

/**
 * The first steps of the rollout whose patch is most likely right. Rollouts by programs have no steps that can be repeated.
 * @returns a rollout that continues from them; null if there is none
 */
async function branchFrom(
  plan: Wave['plan'],
  progress: Refinement['progress'],
  { rollouts, pool, sampling }: FirstWave,
  signal: AbortSignal,
): Promise<(Try & { readonly branch: Branch }) | null> {
  const { right } = pool.beliefs();
  const rightOf = ({ candidate_id }: Rollout): number => right.get(candidate_id) ?? 0;
  const able = rollouts.filter(({ format, steps }) => format !== 'command' && steps.length > 1);
  const [best] = able.toSorted((a, b) => rightOf(b) - rightOf(a));
  const numbers = Array.from({ length: sampling.asked }, (_, index) => index + 1);
  const made = triesOf(plan, numbers).find(({ candidateId }) => candidateId === best?.candidate_id);
  if (best === undefined || made === undefined) return null;
  const { candidate_id } = best;
  const steps = (await mostPromising(plan.issue.problem_statement, best, progress, signal)) ?? beforeEdit(best);
  return { ...made, branch: { candidate_id, sample: made.sample, steps } };
}

/** The step with the highest progress score, mostly stored since the rollout was made; null without scores. */
async function mostPromising(
  issue: string,
  { steps }: Rollout,
  progress: Refinement['progress'],
  signal: AbortSignal,
): Promise<number | null> {
  if (progress === null) return null;
  const { every, score } = progress;
  // Not the last step: nothing after it could be done differently.
  const points = Array.from({ length: Math.floor((steps.length - 1) / every) }, (_, index) => (index + 1) * every);
  const scores = await Promise.all(points.map((point) => score(issue, steps.slice(0, point), signal)));
  const known = points
    .flatMap((point, index) => [{ point, score: scores[index] ?? -1 }])
    .filter((each) => each.score >= 0);
  return known.toSorted((a, b) => b.score - a.score || a.point - b.point)[0]?.point ?? null;
}

/** Keeps what was read but not what was changed: the steps before the first edit; without an edit, half of them. */
function beforeEdit({ steps }: Rollout): number {
  const edit = steps.findIndex(({ action }) => EDIT.test(action));
  return edit > 0 ? edit : Math.max(1, Math.floor(steps.length / 2));
}
