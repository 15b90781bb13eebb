import { type Knowledge, NOTHING_LEARNED } from '../../../verifiers/hybrid/pool.js';
import type { Preset } from '../../core/run/preset.js';
import { type Random, seededRandom, shuffle } from '../../core/random.js';
import { choose, LARGEST_TABLE } from '../intervals/binomial.js';
import { bestOfOrder, bestOfTop } from './best-of-order.js';
import { exactPlan, type ExactPlan, meanLabels, sortedBy, type Step, stepsOf } from './exact-plan.js';
import { IssueColumns, requireCount, type ScoredIssue } from './scored-issue.js';
import { MaskRule } from './mask-rule.js';
import { SubsetRule } from './subset-rule.js';

/** How a value was found; `exact` is a closed form, `enumerated` the mean over every subset. */
export type Method = 'exact' | 'enumerated' | 'monte-carlo';

export interface BestOptions {
  /** All subsets are gone through when there are at most so many. */
  readonly enumerateUpTo: number;
  /** Random subsets where there are more. */
  readonly draws: number;
  readonly seed: number;
  /** What was learned for an instance, by its id: from others, so that none grades itself. Absent = nothing. */
  readonly knowledge?: ((instanceId: string) => Knowledge) | undefined;
}

export const DEFAULT_BEST: BestOptions = { enumerateUpTo: 20_000, draws: 1000, seed: 1 };

export interface BestCurve {
  /** Chance that the preset returns a right patch of k random candidates, by k as asked. */
  readonly values: Float64Array;
  /** Variance of each value where it is estimated, else 0. */
  readonly variances: Float64Array;
  /** The least exact method any k needed. */
  readonly method: Method;
}

/**
 * Unbiased Pass@k of one issue: the chance that k of its n candidates, drawn without replacement, hold a right one,
 * 1 − C(n−c, k)/C(n, k) (Chen et al. 2021). Computed as a sum of logarithms: no overflow and no cancellation.
 * @param n candidates, 1 or more
 * @param c right ones among them, 0..n
 * @param k 1..n
 * @throws BadInputError for counts that are not whole or out of range
 */
export function passAtK(n: number, c: number, k: number): number {
  requireCount('n', n, 1, Number.MAX_SAFE_INTEGER);
  requireCount('c', c, 0, n);
  requireCount('k', k, 1, n);
  if (c > n - k) return 1;
  if (c === 0) return 0;
  const [drawn, others] = c < k ? [c, k] : [k, c];
  let logMiss = 0;
  for (let j = 0; j < drawn; j += 1) logMiss += Math.log1p(-others / (n - j));
  return -Math.expm1(logMiss);
}

/**
 * Best@k of one preset on one issue, ties averaged: the expected label of the selected patch over all k-subsets of the
 * issue's candidates. A k above their number is taken as their number; without candidates all is 0.
 * @throws BadInputError for a k that is not a whole number from 1
 */
export function bestAtK(
  issue: ScoredIssue,
  { stages }: Preset,
  ks: readonly number[],
  options: BestOptions = DEFAULT_BEST,
): BestCurve {
  const largest = largestOf(ks);
  const n = issue.candidates.length;
  const variances = new Float64Array(ks.length);
  if (n === 0) return { values: new Float64Array(ks.length), variances, method: 'exact' };
  const { columns, labels } = numbersOf(issue, options.knowledge?.(issue.instanceId) ?? NOTHING_LEARNED);
  if (!labels.includes(1)) return { values: new Float64Array(ks.length), variances, method: 'exact' };
  const steps = stepsOf(columns, stages);
  if (!labels.includes(0) && alwaysReturns(steps)) {
    return { values: new Float64Array(ks.length).fill(1), variances, method: 'exact' };
  }
  const capped = largest <= n ? ks : ks.map((k) => Math.min(k, n));
  const values = exactly(exactPlan(steps, labels, columns.patches !== null), capped);
  if (values !== null) return { values, variances, method: 'exact' };
  const seed = seedOf(issue.instanceId, options.seed);
  return bySubsets(ruleOf(steps, columns, labels), n, capped, { ...options, seed });
}

/** No filter of the steps can leave nobody. */
function alwaysReturns(steps: readonly Step[]): boolean {
  return steps.every((step) => step.op === 'top' || !step.mayEmpty);
}

function largestOf(ks: readonly number[]): number {
  let largest = 0;
  for (const k of ks) {
    requireCount('k', k, 1, Number.MAX_SAFE_INTEGER);
    if (k > largest) largest = k;
  }
  return largest;
}

function exactly(plan: ExactPlan | null, ks: readonly number[]): Float64Array | null {
  if (plan === null) return null;
  if (plan.top !== null) return plan.labels.length > LARGEST_TABLE ? null : bestOfTop(plan, ks);
  const order = sortedBy(plan.before, plan.labels.length);
  return bestOfOrder(meanLabels(plan.before, order, plan.labels), ks);
}

interface Numbers {
  readonly columns: IssueColumns;
  readonly labels: Float64Array;
}

/** Of the last issue asked about, so that its presets share the columns. */
let last: Numbers | null = null;

function numbersOf(issue: ScoredIssue, knowledge: Knowledge): Numbers {
  const { combiner, calibration } = knowledge;
  if (last?.columns.issue === issue) {
    const known = last.columns.knowledge;
    if (known.combiner === combiner && known.calibration === calibration) return last;
  }
  const labels = Float64Array.from(issue.candidates, ({ resolved }) => Number(resolved));
  last = { columns: new IssueColumns(issue, knowledge), labels };
  return last;
}

function ruleOf(...given: ConstructorParameters<typeof SubsetRule>): MaskRule | SubsetRule {
  return MaskRule.of(...given) ?? new SubsetRule(...given);
}

function bySubsets(rule: MaskRule | SubsetRule, n: number, ks: readonly number[], options: BestOptions): BestCurve {
  const value = (drawn: Int32Array, k: number): number => rule.chance(drawn, k);
  const values = new Float64Array(ks.length);
  const variances = new Float64Array(ks.length);
  const large: number[] = [];
  for (const [index, k] of ks.entries()) {
    if (choose(n, k) <= options.enumerateUpTo) values[index] = meanOverAll(n, k, value);
    else large.push(index);
  }
  if (large.length === 0) return { values, variances, method: 'enumerated' };
  const sampling = ordersOf(n, options);
  const drawnKs = large.map((index) => ks[index] ?? 1);
  for (const [at, { mean, variance }] of meanOverDraws(drawnKs, sampling, value).entries()) {
    values[large[at] ?? 0] = mean;
    variances[large[at] ?? 0] = variance;
  }
  return { values, variances, method: 'monte-carlo' };
}

/** Numbers of shuffled candidates that are kept from one preset of an issue to the next (4 MB). */
const MOST_KEPT = 1_000_000;

/** The last ones that were made. */
let kept: { readonly key: string; readonly orders: readonly Int32Array[] } | null = null;

/** Candidates in as many random orders as there are draws, the same for all presets of an issue. */
function ordersOf(n: number, { draws, seed }: BestOptions): Iterable<Int32Array> {
  if (n * draws > MOST_KEPT) return shuffled(n, draws, seededRandom(seed));
  const key = `${n} ${draws} ${seed}`;
  if (kept?.key !== key) {
    kept = { key, orders: Array.from(shuffled(n, draws, seededRandom(seed)), (order) => order.slice()) };
  }
  return kept.orders;
}

/** One array, shuffled again and again. */
export function* shuffled(n: number, draws: number, random: Random): Generator<Int32Array> {
  const order = Int32Array.from({ length: n }, (_, index) => index);
  for (let draw = 0; draw < draws; draw += 1) {
    shuffle(order, random);
    yield order;
  }
}

/** Draws of an issue do not depend on where it stands in the file (FNV-1a of its id). */
function seedOf(instanceId: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let i = 0; i < instanceId.length; i += 1) hash = Math.imul(hash ^ instanceId.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** What is asked of a subset: the first `k` of `drawn`. */
export type SubsetValue = (drawn: Int32Array, k: number) => number;

/** Mean over every k-subset of n candidates. */
export function meanOverAll(n: number, k: number, value: SubsetValue): number {
  const drawn = Int32Array.from({ length: n }, (_, index) => index);
  let [sum, count] = [0, 0];
  for (;;) {
    sum += value(drawn, k);
    count += 1;
    let at = k - 1;
    while (at >= 0 && drawn[at] === n - k + at) at -= 1;
    if (at < 0) return sum / count;
    drawn[at] = (drawn[at] ?? 0) + 1;
    for (let next = at + 1; next < k; next += 1) drawn[next] = (drawn[next - 1] ?? 0) + 1;
  }
}

export interface Estimate {
  readonly mean: number;
  /** Variance of the mean, from the spread of the draws. */
  readonly variance: number;
}

/** Mean over random k-subsets, for several ks: the first k of each of some random orders. */
export function meanOverDraws(
  ks: readonly number[],
  orders: Iterable<Int32Array>,
  value: SubsetValue,
): readonly Estimate[] {
  let draw = 0;
  const means = new Float64Array(ks.length);
  const squares = new Float64Array(ks.length);
  for (const drawn of orders) {
    draw += 1;
    for (let index = 0; index < ks.length; index += 1) {
      const chance = value(drawn, ks[index] ?? 0);
      const delta = chance - (means[index] ?? 0);
      means[index] = (means[index] ?? 0) + delta / draw;
      squares[index] = (squares[index] ?? 0) + delta * (chance - (means[index] ?? 0));
    }
  }
  return ks.map((_, index) => ({
    mean: means[index] ?? 0,
    variance: (squares[index] ?? 0) / (draw * Math.max(1, draw - 1)),
  }));
}
