import { contentKey } from '../../../src/core/fingerprint.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import type { VerificationTask, Verifier } from '../../../src/core/run/verifier.js';
import { ask, type Asked, prefilled, tokensOf } from '../ask.js';
import type { JudgeOptions } from '../judge-options.js';
import { abstained, attemptsOf, doesNotFit, type Judged, mean, verdictOf } from '../pointwise/pointwise.js';
import { readTaggedToken } from '../read-answer.js';
import { type Attempt, fitAttempt, type RenderedAttempt } from '../render/render-attempt.js';

const PROMPT = 'verifier/pairwise';
const TAG = '<better>';
const PIVOTS = 2;
/** Between neighbours in the order, so that no two candidates have one score; far below what a judge can tell. */
const APART = 1e-9;
/** More candidates than a run can have. */
const MOST = 2_000;

/**
 * Compares the candidates two by two in a pivot tournament, each pair in both orders, and scores each by its mean
 * probability to be the better one, 0..1. Scores say who is better, not how likely a patch is right.
 */
export function createPairwiseVerifier(options: JudgeOptions): Verifier {
  return {
    name: 'execution-free',
    measures: [options.measure],
    verify: (task, signal) => verify(options, task, signal),
  };
}

async function verify(options: JudgeOptions, task: VerificationTask, signal: AbortSignal): Promise<readonly Verdict[]> {
  const fitted = new Map<string, RenderedAttempt>();
  const left = new Map<string, Judged>();
  for (const [id, attempt] of await attemptsOf({ show: [] }, task, signal)) {
    const rendered = await fit(options, attempt);
    if ('kind' in rendered) left.set(id, rendered);
    else fitted.set(id, rendered);
  }
  // An order by content: neither the order in which they were given nor their names decide.
  const order = [...fitted].sort(([a, x], [b, y]) => (key(x, a) < key(y, b) ? -1 : 1)).map(([id]) => id);
  const duel = new Duel(options, fitted, signal);
  const standings = await pivotTournament(order, PIVOTS, (a, b) => duel.compare(a, b));
  standings.forEach((standing, rank) => left.set(standing.id, judgedOf(standing, rank, duel)));
  return task.candidates.map(({ candidate_id: id }) =>
    verdictOf(id, options.measure, left.get(id) ?? abstained('unreadable-answer', 'it was not compared')),
  );
}

async function fit({ promptTokens, tokenizer }: JudgeOptions, attempt: Attempt): Promise<RenderedAttempt | Judged> {
  if (attempt.patch.trim() === '') return abstained('no-source-change', 'the patch is empty');
  return (await fitAttempt(attempt, tokenizer, Math.floor(promptTokens / 2))) ?? doesNotFit(attempt);
}

function key({ patch, steps }: RenderedAttempt, id: string): string {
  return contentKey([patch, steps, id]);
}

/** Asks for pairs and remembers what all answers depended on, and the last failure. */
class Duel {
  hash = '';
  failure: Extract<Asked, { kind: 'failed' }> | null = null;

  constructor(
    readonly options: JudgeOptions,
    private readonly attempts: ReadonlyMap<string, RenderedAttempt>,
    private readonly signal: AbortSignal,
  ) {}

  /** Mean over both orders, so that a liking for the first place cancels; null when either cannot be read. */
  async compare(a: string, b: string): Promise<number | null> {
    const [forth, back] = await Promise.all([this.first(a, b), this.first(b, a)]);
    return forth === null || back === null ? null : mean([forth, 1 - back]);
  }

  /** P(the one shown first is better). */
  private async first(first: string, second: string): Promise<number | null> {
    const { options } = this;
    const [x, y] = [this.attempts.get(first), this.attempts.get(second)];
    if (x === undefined || y === undefined) return null;
    const { messages, templateHash } = await options.prompts.render(PROMPT, {
      issue: x.issue,
      issue_fence: x.issue_fence,
      first: { ...x },
      second: { ...y },
    });
    this.hash = templateHash;
    const samples = Array.from({ length: options.samples }, (_, sample) =>
      ask(options, { messages, prefill: TAG, sample }, this.signal),
    );
    const shares = (await Promise.all(samples)).flatMap((asked) => this.read(asked) ?? []);
    return shares.length === 0 ? null : mean(shares);
  }

  private read(asked: Asked): number | null {
    const { options } = this;
    if (asked.kind === 'failed') {
      this.failure = asked;
      return null;
    }
    const { completion } = asked;
    const prefill = prefilled(options, TAG);
    const read = readTaggedToken(tokensOf(completion, prefill), TAG, readSide);
    if (read.kind === 'read') return read.mass >= options.minMass ? (read.share.get('A') ?? 0) : null;
    return completion.logprobs === null ? statedSide(`${prefill ?? ''}${completion.text}`) : null;
  }
}

/** A or B, alone or before what closes the tag. */
function readSide(text: string): 'A' | 'B' | null {
  const side = /^([AB])(?![\p{L}\p{N}_])/u.exec(text)?.[1];
  return side === 'A' || side === 'B' ? side : null;
}

/** 1 when the text says A, 0 for B, null for anything else. */
function statedSide(text: string): number | null {
  const side = /<better>\s*([AB])\b(?![^]*<better>)/.exec(text)?.[1];
  return side === undefined ? null : Number(side === 'A');
}

function judgedOf({ share, comparisons }: Standing, rank: number, { options, hash, failure }: Duel): Judged {
  const evidence = {
    method: 'pairwise-tournament',
    comparisons,
    rank: rank + 1,
    prompt_hash: hash,
    model: options.model,
  };
  if (share !== null) return { kind: 'scored', score: share * (1 - MOST * APART) + (MOST - rank) * APART, evidence };
  if (failure !== null) return abstained(failure.reason, failure.detail, evidence);
  return abstained('unreadable-answer', 'no comparison with another candidate could be read', evidence);
}

/** Wins of one candidate over those it was compared with. */
export interface Standing {
  readonly id: string;
  /** Mean probability to be the better one, 0..1; null when no comparison could be read. */
  readonly share: number | null;
  readonly comparisons: number;
}

/** P(a is better than b), 0..1, or null when it could not be told. */
export type Compare = (a: string, b: string) => Promise<number | null>;

/**
 * The probabilistic pivot tournament (LLM-as-a-Verifier, arXiv 2607.05391): each candidate against its neighbour in a ring,
 * then each against the `pivots` that lead: at most N + k(N − k) + k(k − 1)/2 comparisons instead of N(N − 1)/2, no pair
 * twice. Ours is the end: the two in the lead meet until they have met, at most N more, for two that were never beaten may
 * never have been compared; so that a judge without error finds the best.
 * @param ids in an order that says nothing about them; it decides between equals
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

  /** Those without a readable comparison come last; equals stay in the given order. */
  standings(): Standing[] {
    const rows = this.ids.map((id) => {
      const wins = this.wins.get(id) ?? [];
      const share = wins.length === 0 ? null : wins.reduce((sum, p) => sum + p, 0) / wins.length;
      return { id, share, comparisons: wins.length };
    });
    return rows.sort((a, b) => (b.share ?? -1) - (a.share ?? -1));
  }
}

function pairOf(a: string, b: string): string {
  return JSON.stringify(a < b ? [a, b] : [b, a]);
}
