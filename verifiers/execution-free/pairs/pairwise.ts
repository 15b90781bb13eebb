import type { Verdict } from '../../../src/core/run/verdict.js';
import type { VerificationTask, Verifier } from '../../../src/core/run/verifier.js';
import type { JudgeOptions } from '../judge-options.js';
import { abstained, type Judged, phaseOf, shownIn, verdictOf } from '../pointwise/pointwise.js';
import { type Contestant, contestants, Duel } from './duel.js';
import { allPairs, type CopelandStanding, pivotTournament } from './tournaments.js';

const PIVOTS = 2;
/** Patches of which every pair is compared; of more, a tournament finds these first. */
const FINALISTS = 8;
/** Between neighbours in the order, so that no two candidates have one score; far below what a judge can tell. */
const APART = 1e-9;
/** More candidates than a run can have. */
const MOST = 2_000;

type Compete = (able: readonly Contestant[], duel: Duel) => Promise<ReadonlyMap<string, Judged>>;

/**
 * Compares the candidates two by two in a pivot tournament, each pair in both orders, and scores each by its mean
 * probability to be the better one, 0..1. Scores say who is better, not how likely a patch is right.
 */
export function createPairwiseVerifier(options: JudgeOptions): Verifier {
  return tournament(options, async (able, duel) => {
    const standings = await pivotTournament(idsOf(able), PIVOTS, (a, b) => duel.compare(a, b));
    const judged = standings.map(({ id, share, comparisons }, rank): [string, Judged] => {
      return [id, judgedOf({ rank, score: share }, duel, { method: 'pairwise-tournament', comparisons })];
    });
    return new Map(judged);
  });
}

/**
 * Compares every pair of distinct patches in both orders and scores each by Copeland's rule, 0..1: the share of wins, a tie
 * where the orders disagree. Of more than eight patches the eight that lead a pivot tournament are compared so, in the
 * upper half of the scores.
 */
export function createPairsVerifier(options: JudgeOptions): Verifier {
  return tournament(options, async (able, duel) => {
    const byPatch = new Map<string, string>();
    for (const { id, shown } of able) if (!byPatch.has(shown.patch)) byPatch.set(shown.patch, id);
    const judged = await allOrBest([...byPatch.values()], duel);
    const each = able.flatMap(({ id, shown }): [string, Judged][] => {
      const representative = byPatch.get(shown.patch) ?? id;
      const verdict = judged.get(representative);
      if (verdict === undefined) return [];
      const evidence = { ...verdict.evidence, ...(id === representative ? {} : { compared_as: representative }) };
      return [[id, { ...verdict, evidence }]];
    });
    return new Map(each);
  });
}

async function allOrBest(ids: readonly string[], duel: Duel): Promise<ReadonlyMap<string, Judged>> {
  const many = ids.length > FINALISTS;
  const before = many ? await pivotTournament(ids, PIVOTS, (a, b) => duel.compare(a, b)) : [];
  const finalists = many ? idsOf(before.slice(0, FINALISTS)) : ids;
  const finals = await allPairs(finalists, (a, b) => duel.both(a, b));
  const last = finals.map((standing, rank): [string, Judged] => {
    const { id, copeland } = standing;
    const score = copeland === null || !many ? copeland : (1 + copeland) / 2;
    return [id, judgedOf({ rank, score }, duel, evidenceOf(standing))];
  });
  const first = before.slice(FINALISTS).map(({ id, share, comparisons }, index): [string, Judged] => {
    const score = share === null ? null : share / 2;
    return [id, judgedOf({ rank: FINALISTS + index, score }, duel, { method: 'pairs-qualifying', comparisons })];
  });
  return new Map([...last, ...first]);
}

function evidenceOf({ comparisons, wins, beats, losses, ties, share }: CopelandStanding): Verdict['evidence'] {
  return { method: 'pairs-copeland', comparisons, wins, beats: [...beats], losses, ties, share };
}

function tournament(options: JudgeOptions, compete: Compete): Verifier {
  const verify = async (task: VerificationTask, signal: AbortSignal): Promise<readonly Verdict[]> => {
    const { able, left } = await contestants(options, task, signal);
    const judged = await compete(able, new Duel(options, able, signal));
    const byId = new Map(able.map((each) => [each.id, each]));
    return task.candidates.map(({ candidate_id: id }) => {
      const verdict = left.get(id) ?? judged.get(id) ?? abstained('unreadable-answer', 'it was not compared');
      return verdictOf(id, options.measure, withShown(verdict, byId.get(id)));
    });
  };
  return { name: 'execution-free', measures: [options.measure], ...phaseOf(options), verify };
}

function withShown(judged: Judged, contestant: Contestant | undefined): Judged {
  if (contestant === undefined) return judged;
  const { shown, summary } = contestant;
  const told = summary === undefined ? {} : { summary };
  // A summary stands where the record would.
  const had = shownIn(shown).map((name) => (name === 'trajectory' && summary !== undefined ? 'summary' : name));
  const evidence = { ...judged.evidence, condensed: shown.condensed, shown: had, ...told };
  return { ...judged, evidence };
}

function judgedOf(
  { rank, score }: { readonly rank: number; readonly score: number | null },
  { options, hash, failure }: Duel,
  own: Verdict['evidence'],
): Judged {
  const evidence = { ...own, rank: rank + 1, prompt_hash: hash, model: options.model };
  if (score !== null) return { kind: 'scored', score: score * (1 - MOST * APART) + (MOST - rank) * APART, evidence };
  if (failure !== null) return abstained(failure.reason, failure.detail, evidence);
  const why = hash === '' ? 'there is no other patch to compare it with' : 'no comparison with another could be read';
  return abstained('unreadable-answer', why, evidence);
}

function idsOf(all: readonly { readonly id: string }[]): readonly string[] {
  return all.map(({ id }) => id);
}
