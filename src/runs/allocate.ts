import { z } from 'zod';
import { isEligible } from '../../verifiers/hybrid/entry.js';
import { type Standing, standingOf } from '../../verifiers/hybrid/look-ahead.js';
import type { Amount, Spent } from '../core/budget/budget.js';
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

/** Limits on the rollouts of all issues together, of which each gets its first ones in any case; null = no limit. */
export interface AllocationBudget {
  readonly rollouts: number | null;
  readonly tokens: number | null;
  readonly usd: number | null;
}

/** Results of an issue's rollouts so far. `usd` is null if a price is unknown. */
export interface Tried extends Spent {
  readonly standing: Standing;
}

interface IssueState {
  readonly most: number;
  readonly first: number;
  readonly step: number;
  /** It gets no more than was decided before. */
  readonly isCancelled: boolean;
  /** Number of rollouts granted so far. */
  given: number;
  /** Null = no results yet, or sampling failed. */
  tried: Tried | null;
  /** By its rollouts so far, including those of a run that failed. */
  paid: Spent;
  isOver: boolean;
}

/** Issues by position, each with its new total number of rollouts. */
export const Round = z.array(z.object({ index: z.int().min(0), rollouts: z.int().positive() })).readonly();
export type Round = z.infer<typeof Round>;

const NOTHING: Spent = { tokens: 0, usd: 0 };

/**
 * Decides which issues get the next rollouts: after each has its first ones, those with the highest expected gain per dollar
 * (per token if a price is unknown). Works in rounds of `atOnce` issues and depends only on what was learned so far, so that
 * repeating it from stored results gives the same decisions.
 */
export class Allocation {
  private readonly issues: readonly IssueState[];

  constructor(
    sizes: readonly (Pick<IssueState, 'most' | 'first' | 'step'> & Partial<Pick<IssueState, 'isCancelled'>>)[],
    private readonly atOnce: number,
    private readonly budget: AllocationBudget,
  ) {
    this.issues = sizes.map((size) => ({
      isCancelled: false,
      ...size,
      given: 0,
      tried: null,
      paid: NOTHING,
      isOver: false,
    }));
  }

  /** Number of rollouts of each issue; one not sampled yet gets its first ones. */
  get given(): readonly number[] {
    return this.issues.map(({ given, first }) => Math.max(given, first));
  }

  /** By the rollouts of each issue. */
  get paid(): readonly Spent[] {
    return this.issues.map(({ paid }) => paid);
  }

  get spent(): Amount {
    const sum = (value: (paid: Spent) => number): number => this.paid.reduce((total, paid) => total + value(paid), 0);
    return { tokens: sum(({ tokens }) => tokens), usd: sum(({ usd }) => usd ?? 0) };
  }

  /** Empty = allocation is finished. */
  next(): Round {
    const { rollouts: most } = this.budget;
    const costOf = this.costs();
    const worth = this.issues.map((issue) => worthOf(issue, costOf));
    const ranked = worth
      .flatMap((value, index) => (value > 0 ? [{ index, value }] : []))
      .sort((a, b) => (a.value === b.value ? a.index - b.index : b.value - a.value));
    let left = (most ?? Infinity) - this.issues.reduce((sum, { given }) => sum + given, 0);
    return ranked.slice(0, this.isSpent() ? 0 : this.atOnce).flatMap(({ index }) => {
      const issue = this.issues[index];
      // Its first rollouts count in the limit, but are made whatever it is: without them the issue would have no patch.
      if (issue === undefined || (issue.given > 0 && left < 1)) return [];
      const more = issue.given === 0 ? issue.first : Math.min(issue.step, issue.most - issue.given, left);
      left -= more;
      return [{ index, rollouts: issue.given + more }];
    });
  }

  /**
   * @param tried null = sampling failed and the issue gets no more
   * @param paid for these rollouts
   */
  learn(index: number, rollouts: number, tried: Tried | null, paid: Spent = tried ?? NOTHING): void {
    const issue = this.issues[index];
    if (issue === undefined) throw new Error(`There is no issue ${index}.`);
    issue.given = rollouts;
    issue.tried = tried ?? issue.tried;
    // A run that failed may have ended before it counted what was stored.
    if (paid.tokens >= issue.paid.tokens) issue.paid = { tokens: paid.tokens, usd: paid.usd };
    issue.isOver = tried === null || rollouts >= issue.most;
  }

  private isSpent(): boolean {
    const { tokens, usd } = this.budget;
    const { spent } = this;
    return (tokens !== null && spent.tokens >= tokens) || (usd !== null && spent.usd >= usd);
  }

  /** One unit for all issues: dollars if known for all, otherwise tokens, otherwise rollouts. */
  private costs(): (tried: Tried) => number {
    const known = this.issues.flatMap(({ tried }) => tried ?? []);
    if (known.every(({ usd }) => (usd ?? 0) > 0)) return ({ usd }) => usd ?? 0;
    return known.every(({ tokens }) => tokens > 0) ? ({ tokens }) => tokens : () => 0;
  }
}

/** Expected gain of another rollout divided by the mean cost of one; infinite for an issue without rollouts yet. */
function worthOf({ given, tried, isOver, isCancelled }: IssueState, costOf: (tried: Tried) => number): number {
  if (isOver || isCancelled) return 0;
  if (tried === null) return Infinity;
  const { right, gain } = tried.standing;
  if ((right ?? 0) >= SURE) return 0;
  const cost = costOf(tried);
  return cost === 0 ? gain : (gain * given) / cost;
}

/**
 * Returns the round of this number if it was decided before, or else keeps what `decide` says.
 * @param spent by the rounds before
 */
export type Keep = (number: number, spent: Allocation['spent'], decide: () => Round) => Promise<Round>;

/** The result of a run that only samples, or what it came to until it failed; absent = unknown. */
export type Sampled = Pick<RunResult, 'rollouts' | 'usage'> | { readonly spent: Spent | undefined };

export interface AllocateOptions {
  readonly atOnce: number;
  readonly budget: AllocationBudget;
  /** Executes a run that only samples. */
  readonly sample: (request: RunRequest) => Promise<Sampled>;
  /**
   * Whether to start nothing more.
   * @param spent by the issues' rollouts so far
   */
  readonly stop: (spent: Allocation['spent']) => boolean;
  /** Absent = decisions are not kept. */
  readonly keep?: Keep;
  /** By position; absent = none is. */
  readonly isCancelled?: readonly boolean[];
}

/**
 * Samples where the expected gain is highest.
 * @param requests of the issues; `k` is the most rollouts that each may get
 * @returns the final requests: verify and select among as many rollouts as the issue got, which are stored and paid
 */
export async function allocate(
  requests: readonly RunRequest[],
  options: AllocateOptions,
): Promise<{ readonly request: RunRequest; readonly paid: Spent }[]> {
  const sizes = requests.map((request, index) => ({
    ...sizeOf(request),
    isCancelled: options.isCancelled?.[index] ?? false,
  }));
  const allocation = new Allocation(sizes, options.atOnce, options.budget);
  const keep: Keep = options.keep ?? ((_number, _spent, decide) => Promise.resolve(decide()));
  for (let number = 1; ; number += 1) {
    const { spent } = allocation;
    const round = await keep(number, spent, () => (options.stop(spent) ? [] : allocation.next()));
    if (round.length === 0) break;
    const learned = await Promise.all(
      // Bounded by the size of a round; the job queue limits how many run at once.
      round.map(async ({ index, rollouts }) => {
        const request = requests[index];
        if (request === undefined) throw new Error(`There is no issue ${index}.`);
        const sampled = await options.sample(samplingOf(request, rollouts));
        if ('spent' in sampled) return { index, rollouts, tried: null, paid: sampled.spent ?? NOTHING };
        const tried = triedIn(request, sampled, rollouts);
        return { index, rollouts, tried, paid: tried };
      }),
    );
    for (const { index, rollouts, tried, paid } of learned) allocation.learn(index, rollouts, tried, paid);
  }
  const { given, paid } = allocation;
  return requests.map((request, index) => ({
    request: { ...request, k: given[index] ?? request.k, k0: null },
    paid: paid[index] ?? NOTHING,
  }));
}

/** Rollouts of an issue: in total at most, at first, and per further round. */
export function sizeOf({ k, k0, agents }: RunRequest): Pick<IssueState, 'most' | 'first' | 'step'> {
  return { most: k, first: Math.min(k, Math.max(k0 ?? 1, agents?.length ?? 1)), step: k0 ?? 1 };
}

/** Samples the same rollouts as the whole request: they do not depend on how many are requested. */
function samplingOf(request: RunRequest, k: number): RunRequest {
  return { ...request, k, k0: null, refine: 0, branch: 0, verifiers: [] };
}

/** From votes only, as nothing is verified yet. */
function triedIn(
  { issue, agents, k }: RunRequest,
  { rollouts, usage }: Pick<RunResult, 'rollouts' | 'usage'>,
  given: number,
): Tried {
  const submissions = rollouts.filter(({ exit_reason }) => submitted(exit_reason)).map(candidateOf);
  const described = describeCandidates(submissions, [], issue.problem_statement, { rollouts });
  const entries = described.map(({ entry }) => entry).filter(isEligible);
  const next = turnsOf(agents, k)
    .slice(given)
    .map(({ agent }) => madeBy(agent));
  return { standing: standingOf(entries, next), tokens: tokensOfRun(usage), usd: usage.cost_usd };
}

/** Tag of the runs that sample issues of a benchmark. */
export function allocationTag(benchmark: string): string {
  return `allocation:${benchmark}`;
}

/** These runs, including those that have ended. */
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
