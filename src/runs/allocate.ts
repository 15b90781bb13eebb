import { isEligible } from '../../verifiers/hybrid/entry.js';
import { type Standing, standingOf } from '../../verifiers/hybrid/look-ahead.js';
import { submitted } from '../core/run/candidate.js';
import { turnsOf } from '../core/run/agent.js';
import { candidateOf } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import { type RunResult, tokensOfRun } from '../core/run/run-result.js';
import type { RunPage } from '../ports/run-store.js';
import { SURE } from './collect.js';
import { describeCandidates, madeBy } from './entries.js';
import type { RunService } from './run-service.js';

const RUNS_A_PAGE = 100;

/** What the rollouts of all issues together may come to; null = no limit. */
export interface AllocationBudget {
  readonly rollouts: number | null;
  readonly tokens: number | null;
  readonly usd: number | null;
}

/** What an issue's rollouts came to so far. `usd` is null where a price is not known. */
export interface Tried {
  readonly standing: Standing;
  readonly tokens: number;
  readonly usd: number | null;
}

interface IssueState {
  readonly most: number;
  readonly first: number;
  readonly step: number;
  /** Rollouts that it was given. */
  given: number;
  /** Null = nothing is known yet, or nothing more can be made of it. */
  tried: Tried | null;
  isOver: boolean;
}

/**
 * Which issue gets the next rollouts: the one whose expected gain per dollar is highest (per token, where a price is not known),
 * after each had its first. Decisions depend on nothing but what was learned so far, in rounds of `atOnce` issues: whoever
 * does it again from stored results decides the same.
 */
export class Allocation {
  private readonly issues: readonly IssueState[];

  constructor(
    sizes: readonly Pick<IssueState, 'most' | 'first' | 'step'>[],
    private readonly atOnce: number,
    private readonly budget: AllocationBudget,
  ) {
    this.issues = sizes.map((size) => ({ ...size, given: 0, tried: null, isOver: false }));
  }

  /** Rollouts of each issue. */
  get given(): readonly number[] {
    return this.issues.map(({ given, first }) => Math.max(given, first));
  }

  get spent(): { readonly tokens: number; readonly usd: number } {
    const sum = (value: (tried: Tried) => number): number =>
      this.issues.reduce((total, { tried }) => total + (tried === null ? 0 : value(tried)), 0);
    return { tokens: sum(({ tokens }) => tokens), usd: sum(({ usd }) => usd ?? 0) };
  }

  /** The issues of the next round, by their positions, and how many rollouts each has then; none = it is over. */
  next(): readonly { readonly index: number; readonly rollouts: number }[] {
    const { rollouts: most } = this.budget;
    const costOf = this.costs();
    const worth = this.issues.map((issue) => worthOf(issue, costOf));
    const ranked = worth
      .flatMap((value, index) => (value > 0 ? [{ index, value }] : []))
      .sort((a, b) => (a.value === b.value ? a.index - b.index : b.value - a.value));
    let left = this.isSpent() ? 0 : (most ?? Infinity) - this.issues.reduce((sum, { given }) => sum + given, 0);
    return ranked.slice(0, this.atOnce).flatMap(({ index }) => {
      const issue = this.issues[index];
      if (issue === undefined || left <= 0) return [];
      const wanted = issue.given === 0 ? issue.first : Math.min(issue.step, issue.most - issue.given);
      const more = Math.min(wanted, left);
      left -= more;
      return [{ index, rollouts: issue.given + more }];
    });
  }

  /** @param tried null = no more can be made of it */
  learn(index: number, rollouts: number, tried: Tried | null): void {
    const issue = this.issues[index];
    if (issue === undefined) throw new Error(`There is no issue ${index}.`);
    issue.given = rollouts;
    issue.tried = tried ?? issue.tried;
    issue.isOver = tried === null || rollouts >= issue.most;
  }

  private isSpent(): boolean {
    const { tokens, usd } = this.budget;
    const { spent } = this;
    return (tokens !== null && spent.tokens >= tokens) || (usd !== null && spent.usd >= usd);
  }

  /** One unit for all: money where it is known of everything, else tokens, else rollouts. */
  private costs(): (tried: Tried) => number {
    const known = this.issues.flatMap(({ tried }) => tried ?? []);
    if (known.every(({ usd }) => (usd ?? 0) > 0)) return ({ usd }) => usd ?? 0;
    return known.every(({ tokens }) => tokens > 0) ? ({ tokens }) => tokens : () => 0;
  }
}

/** Expected gain of another rollout for what one came to on average; of an issue that had none yet without bounds. */
function worthOf({ given, tried, isOver }: IssueState, costOf: (tried: Tried) => number): number {
  if (isOver) return 0;
  if (tried === null) return Infinity;
  const { right, gain } = tried.standing;
  if ((right ?? 0) >= SURE) return 0;
  const cost = costOf(tried);
  return cost === 0 ? gain : (gain * given) / cost;
}

export interface AllocateOptions {
  readonly atOnce: number;
  readonly budget: AllocationBudget;
  /** Does a run that samples and verifies nothing; null = it failed. */
  readonly sample: (request: RunRequest) => Promise<RunResult | null>;
  /** Whether nothing more is to be begun. @param spent by the issues' rollouts so far */
  readonly stop: (spent: Allocation['spent']) => boolean;
}

/**
 * Samples where it pays. @param requests of the issues, each with the most rollouts that it may get as `k`
 * @returns what is to be asked of each then: to verify and select of as many rollouts as it got, which are stored
 */
export async function allocate(requests: readonly RunRequest[], options: AllocateOptions): Promise<RunRequest[]> {
  const allocation = new Allocation(requests.map(sizeOf), options.atOnce, options.budget);
  for (;;) {
    const round = options.stop(allocation.spent) ? [] : allocation.next();
    if (round.length === 0) break;
    const tried = await Promise.all(
      // No more at once than a round has; how many of them are done at once is the jobs' business.
      round.map(async ({ index, rollouts }) => {
        const request = requests[index];
        if (request === undefined) throw new Error(`There is no issue ${index}.`);
        const result = await options.sample(samplingOf(request, rollouts));
        return result === null ? null : triedIn(request, result, rollouts);
      }),
    );
    for (const [at, { index, rollouts }] of round.entries()) allocation.learn(index, rollouts, tried[at] ?? null);
  }
  const { given } = allocation;
  return requests.map((request, index) => ({ ...request, k: given[index] ?? request.k, k0: null }));
}

/** Rollouts of an issue: at most, at first and then at once. */
export function sizeOf({ k, k0, agents }: RunRequest): Pick<IssueState, 'most' | 'first' | 'step'> {
  return { most: k, first: Math.min(k, Math.max(k0 ?? 1, agents?.length ?? 1)), step: k0 ?? 1 };
}

/** Of the same rollouts as the whole request: samples of an issue do not depend on how many are asked for. */
function samplingOf(request: RunRequest, k: number): RunRequest {
  return { ...request, k, k0: null, refine: 0, branch: 0, verifiers: [] };
}

/** By votes alone: nothing is verified yet. */
function triedIn({ issue, agents, k }: RunRequest, { rollouts, usage }: RunResult, given: number): Tried {
  const submissions = rollouts.filter(({ exit_reason }) => submitted(exit_reason)).map(candidateOf);
  const described = describeCandidates(submissions, [], issue.problem_statement, { rollouts });
  const entries = described.map(({ entry }) => entry).filter(isEligible);
  const next = turnsOf(agents, k)
    .slice(given)
    .map(({ agent }) => madeBy(agent));
  return { standing: standingOf(entries, next), tokens: tokensOfRun(usage), usd: usage.cost_usd };
}

/** Of the runs that sample the issues of a benchmark. */
export function allocationTag(benchmark: string): string {
  return `allocation:${benchmark}`;
}

/** Those runs, whether or not they have ended. */
export async function samplingRunsOf(
  benchmark: string,
  runs: Pick<RunService, 'list'>,
): Promise<readonly { readonly id: string }[]> {
  const found: { readonly id: string }[] = [];
  let before: string | null = null;
  do {
    const page: RunPage = await runs.list(RUNS_A_PAGE, before, { tag: allocationTag(benchmark) });
    found.push(...page.runs);
    before = page.next;
  } while (before !== null);
  return found;
}
