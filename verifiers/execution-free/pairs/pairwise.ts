import { grouped } from '../../../src/core/grouped.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import type { VerificationTask, Verifier } from '../../../src/core/run/verifier.js';
import type { JudgeOptions } from '../judge-options.js';
import { abstained, type Judged, phaseOf, shownIn, verdictOf, mean } from '../pointwise/pointwise.js';
import { type Contestant, contestants, Duel, isOutage } from './duel.js';

export const PIVOTS = 2;
/** Up to this many patches, every pair is compared; with more, a tournament selects this many first. */
export const FINALISTS = 8;
/** Score difference between neighbours in the ranking, so that no two scores are equal; far below a judge's resolution. */
const APART = 1e-9;
/** More candidates than a run can have. */
const MOST = 2_000;

type Compete = (able: readonly Contestant[], duel: Duel) => Promise<ReadonlyMap<string, Judged>>;

/**
 * Compares the candidates in a pivot tournament, each pair in both orders, and scores each by its mean probability of being the
 * better one, 0..1. Scores rank the candidates; they are not P(right).
 */
export function createPairwiseVerifier(options: JudgeOptions): Verifier {
  return tournament(options, async (able, duel) => {
    const standings = await pivotTournament(idsOf(able), PIVOTS, (a, b) => duel.compare(a, b));
    const judged = standings.map(({ id, share, comparisons }, rank): [string, Judged] => {
      return [id, judgedOf({ id, rank, score: share }, duel, { method: 'pairwise-tournament', comparisons })];
    });
    return new Map(judged);
  });
}

/**
 * Compares every pair of distinct patches in both orders and scores each by Copeland's rule, 0..1: the share of wins, with a
 * tie if the orders disagree. Of more than eight patches, only the eight leaders of a pivot tournament are compared in this
 * way, and get the upper half of the scores.
 */
export function createPairsVerifier(options: JudgeOptions): Verifier {
  return tournament(options, async (able, duel) => {
    const copies = new Map<string, readonly string[]>();
    for (const same of grouped(able, ({ shown }) => shown.patch).values()) copies.set(same[0]?.id ?? '', idsOf(same));
    const judged = await allOrBest(copies, duel);
    const each = [...judged].flatMap(([compared_as, verdict]) =>
      (copies.get(compared_as) ?? []).map((id): [string, Judged] => {
        const evidence = { ...verdict.evidence, ...(id === compared_as ? {} : { compared_as }) };
        return [id, { ...verdict, evidence }];
      }),
    );
    return new Map(each);
  });
}

/** Ids of the candidates with the same patch, by the one that is compared for all of them. */
type Copies = ReadonlyMap<string, readonly string[]>;

async function allOrBest(copies: Copies, duel: Duel): Promise<ReadonlyMap<string, Judged>> {
  const ids = [...copies.keys()];
  const many = ids.length > FINALISTS;
  const before = many ? await pivotTournament(ids, PIVOTS, (a, b) => duel.compare(a, b)) : [];
  const finalists = many ? idsOf(before.slice(0, FINALISTS)) : ids;
  const finals = await allPairs(finalists, (a, b) => duel.both(a, b));
  const last = finals.map((standing, rank): [string, Judged] => {
    const { id, copeland } = standing;
    const score = copeland === null || !many ? copeland : (1 + copeland) / 2;
    return [id, judgedOf({ id, rank, score }, duel, evidenceOf(standing, copies))];
  });
  const first = before.slice(FINALISTS).map(({ id, share, comparisons }, index): [string, Judged] => {
    const score = share === null ? null : share / 2;
    return [id, judgedOf({ id, rank: FINALISTS + index, score }, duel, { method: 'pairs-qualifying', comparisons })];
  });
  return new Map([...last, ...first]);
}

function evidenceOf(
  { comparisons, wins, beats, losses, ties, share }: CopelandStanding,
  copies: Copies,
): Verdict['evidence'] {
  const beaten = beats.flatMap((id) => copies.get(id) ?? []);
  return { method: 'pairs-copeland', comparisons, wins, beats: beaten, losses, ties, share };
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
  // A summary replaces the record.
  const had = shownIn(shown).map((name) => (name === 'trajectory' && summary !== undefined ? 'summary' : name));
  const evidence = { ...judged.evidence, condensed: shown.condensed, shown: had, ...told };
  return { ...judged, evidence };
}

/**
 * A candidate abstains if one of its comparisons failed in an outage: a share of those that happened to succeed would put it
 * above or below the others by chance. The others have all their comparisons, and keep their scores.
 */
function judgedOf(
  { id, rank, score }: { readonly id: string; readonly rank: number; readonly score: number | null },
  { options, hash, failures, unused }: Duel,
  own: Verdict['evidence'],
): Judged {
  const evidence = { ...own, ...unused, rank: rank + 1, prompt_hash: hash, model: options.model };
  const failure = failures.get(id);
  if (failure !== undefined && isOutage(failure)) return abstained(failure.reason, failure.detail, evidence);
  if (score !== null) return { kind: 'scored', score: score * (1 - MOST * APART) + (MOST - rank) * APART, evidence };
  if (failure !== undefined) return abstained(failure.reason, failure.detail, evidence);
  const why = hash === '' ? 'there is no other patch to compare it with' : 'no comparison with another could be read';
  return abstained('unreadable-answer', why, evidence);
}

function idsOf(all: readonly { readonly id: string }[]): readonly string[] {
  return all.map(({ id }) => id);
}

/** Wins of one candidate over those it was compared with. */
export interface Standing {
  readonly id: string;
  /** Mean probability of being the better one, 0..1; null when no comparison could be read. */
  readonly share: number | null;
  readonly comparisons: number;
}

/** P(a is better than b), 0..1; null when it could not be read. */
export type Compare = (a: string, b: string) => Promise<number | null>;

/**
 * The probabilistic pivot tournament (LLM-as-a-Verifier, arXiv 2607.05391): each candidate against its neighbour in a ring,
 * then each against the `pivots` leaders: at most N + k(N − k) + k(k − 1)/2 comparisons instead of N(N − 1)/2, no pair twice.
 * bestk adds a final: the current top two are compared until they have met, at most N more comparisons, because two unbeaten
 * candidates may never have been compared. A judge without error then finds the best.
 * @param ids in an order unrelated to their quality; it breaks ties
 * @returns standings, best first
 */
export async function pivotTournament(ids: readonly string[], pivots: number, compare: Compare): Promise<Standing[]> {
  const table = new Table(ids);
  await table.play(
    ids.map((id, index) => [id, ids[(index + 1) % ids.length] ?? id] as const),
    compare,
  );
  const leaders = table
    .standings()
    .slice(0, pivots)
    .map(({ id }) => id);
  await table.play(
    leaders.flatMap((pivot) => ids.map((id) => [id, pivot] as const)),
    compare,
  );
  for (let round = 0; round < ids.length; round += 1) {
    const [first, second] = table.standings();
    if (first === undefined || second === undefined || table.haveMet(first.id, second.id)) break;
    await table.play([[first.id, second.id]], compare);
  }
  return table.standings();
}

class Table {
  private readonly wins = new Map<string, number[]>();
  private readonly played = new Set<string>();

  constructor(private readonly ids: readonly string[]) {
    for (const id of ids) this.wins.set(id, []);
  }

  async play(pairs: readonly (readonly [string, string])[], compare: Compare): Promise<void> {
    const fresh = pairs.filter(([a, b]) => {
      if (a === b || this.haveMet(a, b)) return false;
      this.played.add(pairOf(a, b));
      return true;
    });
    const results = await Promise.all(fresh.map(async ([a, b]) => ({ a, b, p: await compare(a, b) })));
    for (const { a, b, p } of results) {
      if (p === null) continue;
      this.wins.get(a)?.push(p);
      this.wins.get(b)?.push(1 - p);
    }
  }

  haveMet(a: string, b: string): boolean {
    return this.played.has(pairOf(a, b));
  }

  /** Candidates without a readable comparison come last; ties keep the given order. */
  standings(): Standing[] {
    const rows = this.ids.map((id) => {
      const wins = this.wins.get(id) ?? [];
      const share = wins.length === 0 ? null : mean(wins);
      return { id, share, comparisons: wins.length };
    });
    return rows.sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
  }
}

function pairOf(a: string, b: string): string {
  return JSON.stringify(a < b ? [a, b] : [b, a]);
}

/** Standing over all pairs; wins and losses need both orders to agree. */
export interface CopelandStanding extends Standing {
  readonly wins: number;
  /** Ids of the candidates it won against. */
  readonly beats: readonly string[];
  readonly losses: number;
  /** Comparisons in which the orders disagreed, or neither was preferred. */
  readonly ties: number;
  /** (wins + ties / 2) / comparisons, 0..1; null when no comparison could be read. */
  readonly copeland: number | null;
}

/** P(a is better than b) with a shown first, and with b shown first; null when either could not be read. */
export type CompareBoth = (a: string, b: string) => Promise<readonly [number, number] | null>;

/**
 * Every pair once, in both orders: a win if both orders agree, else a tie (arXiv 2605.14163). Candidates are ordered by share
 * of wins (Copeland), then by their mean probability of being the better one, then as given.
 * @returns standings, best first
 */
export async function allPairs(ids: readonly string[], compare: CompareBoth): Promise<CopelandStanding[]> {
  const pairs = ids.flatMap((a, index) => ids.slice(index + 1).map((b) => [a, b] as const));
  const results = await Promise.all(pairs.map(async ([a, b]) => ({ a, b, both: await compare(a, b) })));
  const rows = ids.map((id) => {
    const met = results.flatMap(({ a, b, both }) => {
      if (both === null || (a !== id && b !== id)) return [];
      return [{ other: a === id ? b : a, ps: a === id ? both : ([1 - both[0], 1 - both[1]] as const) }];
    });
    const beats = met.filter(({ ps }) => ps.every((p) => p > 0.5)).map(({ other }) => other);
    const wins = beats.length;
    const losses = met.filter(({ ps }) => ps.every((p) => p < 0.5)).length;
    const ties = met.length - wins - losses;
    const told = met.length > 0;
    const copeland = told ? (wins + ties / 2) / met.length : null;
    const share = told ? mean(met.flatMap(({ ps }) => ps)) : null;
    return { id, share, comparisons: met.length, wins, beats, losses, ties, copeland };
  });
  return rows.sort((a, b) => (b.copeland ?? -1) - (a.copeland ?? -1) || (b.share ?? -1) - (a.share ?? -1));
}
