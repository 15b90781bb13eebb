import { grouped } from '../../src/core/grouped.js';
import type { Beta, Rates } from '../../src/core/run/fitted.js';

/** The outcomes of one test, or of another pass/fail check. */
export interface TestColumn {
  /** Per patch: true = passed, false = failed, null = unknown. */
  readonly outcomes: readonly (boolean | null)[];
  /** Exponent of its likelihood, 0..1: tests by one author repeat each other (docs/posterior.md). */
  readonly weight: number;
  /** Pass rates if the test is telling. */
  readonly rates: Rates;
}

/** Observations of a test without expectation: patches with equal observations form a class; which class is right is unknown. */
export interface ObservedColumn {
  /** Class of each patch; null = no observation. */
  readonly classes: readonly (number | null)[];
  /** As in TestColumn. */
  readonly weight: number;
  readonly rates: Rates;
}

/** Log-likelihoods of one test's outcomes, by a state that depends on which patches are good. */
export interface OutcomeTable {
  /** By state, tempered by the weight. */
  readonly logs: Float64Array;
  /** P(telling), P(indifferent), P(toxic), given how likely each state is. @param weights by state, summing to `total` */
  kindsUnder(weights: Float64Array, total: number): [number, number, number];
}

/** A toxic test passes wrong patches more often than right ones (R2E-Gym, arXiv 2504.07164, appendix C.3). */
const TOXIC: Rates = { right: [1, 6], wrong: [2, 1] };
/** An indifferent test passes or fails nearly all patches, right or wrong. */
const INDIFFERENT: Beta = [0.5, 0.5];

const KINDS = 3;
/** Prior of P(telling), P(indifferent), P(toxic): of 86 admitted tests of real issues none was toxic. */
const LOG_SHARES = [0.5, 0.49, 0.01].map(Math.log);

/**
 * Log-likelihoods of one test, for every assignment of its patches to right and wrong. They depend on two numbers: how many of
 * the passing patches are right, and how many of the failing ones. A state is `passedRight × (failed + 1) + failedRight`. Pass
 * rates are integrated out under each kind; kinds are summed out.
 */
export class TestTable implements OutcomeTable {
  /** By state, tempered by the weight. */
  readonly logs: Float64Array;
  /** P(kind | state), row-major by state. */
  private readonly kinds: Float64Array;

  /** Cached by its parameters: the pools of a benchmark often repeat them. */
  static of({ outcomes, weight, rates }: TestColumn): TestTable {
    const passed = outcomes.filter((outcome) => outcome === true).length;
    const failed = outcomes.filter((outcome) => outcome === false).length;
    const key = [passed, failed, weight, ...rates.right, ...rates.wrong].join(' ');
    let table = made.get(key);
    if (table === undefined) {
      if (made.size >= MOST_KEPT) made.clear();
      made.set(key, (table = new TestTable(passed, failed, weight, rates)));
    }
    return table;
  }

  private constructor(
    readonly passed: number,
    readonly failed: number,
    weight: number,
    rates: Rates,
  ) {
    const states = (this.passed + 1) * (this.failed + 1);
    this.logs = new Float64Array(states);
    this.kinds = new Float64Array(states * KINDS);
    const most = this.passed + this.failed;
    const [right, wrong] = [new BetaTable(rates.right, most), new BetaTable(rates.wrong, most)];
    const toxic = { right: new BetaTable(TOXIC.right, most), wrong: new BetaTable(TOXIC.wrong, most) };
    const indifferent = new BetaTable(INDIFFERENT, most).log(this.passed, this.failed);
    const logs = new Float64Array(KINDS);
    for (let state = 0; state < states; state += 1) {
      const [p, f] = [Math.floor(state / this.stride), state % this.stride];
      const [wrongPassed, wrongFailed] = [this.passed - p, this.failed - f];
      logs[0] = (LOG_SHARES[0] ?? 0) + right.log(p, f) + wrong.log(wrongPassed, wrongFailed);
      logs[1] = (LOG_SHARES[1] ?? 0) + indifferent;
      logs[2] = (LOG_SHARES[2] ?? 0) + toxic.right.log(p, f) + toxic.wrong.log(wrongPassed, wrongFailed);
      const all = logSum(logs);
      this.logs[state] = weight * all;
      for (let kind = 0; kind < KINDS; kind += 1) this.kinds[state * KINDS + kind] = Math.exp((logs[kind] ?? 0) - all);
    }
  }

  /** Change of the state when one more passing patch is right; for a failing one it is 1. */
  get stride(): number {
    return this.failed + 1;
  }

  kindsUnder(weights: Float64Array, total: number): [number, number, number] {
    const of = (kind: number): number => {
      let sum = 0;
      for (let state = 0; state < weights.length; state += 1) {
        sum += (weights[state] ?? 0) * (this.kinds[state * KINDS + kind] ?? 0);
      }
      return sum / total;
    };
    return [of(0), of(1), of(2)];
  }
}

/** The n-th patch that misbehaves on an input does so in a new way with CHANCE_OF_OWN / (CHANCE_OF_OWN + n − 1). */
const CHANCE_OF_OWN = 1;
/** Prior of an observing test to be telling, and to be indifferent. */
const LOG_HALF = Math.log(0.5);
/** Limit on states; above it, patches of the smallest classes count as singletons. */
const MOST_STATES = 20_000;

/**
 * Log-likelihoods of the classes that a test without expectation splits patches into. If the test is telling, one class or none
 * is the behaviour of right patches: good patches are in it at the rate at which they pass tests, others at theirs, and patches
 * outside it join the other classes as in a Chinese restaurant process (Aldous 1985), so a large class is unlikely to be one
 * mistake made many times by chance. If it is indifferent, all patches join classes by that process. A state counts the good
 * patches of each class; singletons are counted together.
 */
export class ObservedTable implements OutcomeTable {
  readonly logs: Float64Array;
  /** Per patch, the change of the state when it is good. */
  readonly steps: Int32Array;
  private readonly telling: Float64Array;
  /** Sizes of the classes of two or more, and the number of singletons. */
  private readonly sizes: readonly number[];
  private readonly alone: number;

  constructor({ classes, weight, rates }: ObservedColumn) {
    const known = classes.flatMap((own, patch) => (own === null ? [] : [{ own, patch }]));
    const members = [...grouped(known, ({ own }) => own).values()].sort((a, b) => b.length - a.length);
    const large = members.filter(({ length }) => length > 1);
    let alone = members.length - large.length;
    const count = (): number => large.reduce((product, { length }) => product * (length + 1), alone + 1);
    while (count() > MOST_STATES) alone += large.pop()?.length ?? 0;
    [this.sizes, this.alone] = [large.map(({ length }) => length), alone];
    this.steps = new Int32Array(classes.length);
    for (const { patch } of known) this.steps[patch] = 1;
    let stride = alone + 1;
    for (const own of large) {
      for (const { patch } of own) this.steps[patch] = stride;
      stride *= own.length + 1;
    }
    this.logs = new Float64Array(stride);
    this.telling = new Float64Array(stride);
    const [right, wrong] = [new BetaTable(rates.right, known.length), new BetaTable(rates.wrong, known.length)];
    const indifferent = LOG_HALF + mistakes(this.sizes, alone);
    for (let state = 0; state < stride; state += 1) {
      const told = LOG_HALF + this.logIfTelling(state, right, wrong);
      const all = logSum(Float64Array.of(told, indifferent));
      this.logs[state] = weight * all;
      this.telling[state] = Math.exp(told - all);
    }
  }

  kindsUnder(weights: Float64Array, total: number): [number, number, number] {
    const telling = weights.reduce((sum, weight, state) => sum + weight * (this.telling[state] ?? 0), 0) / total;
    return [telling, 1 - telling, 0];
  }

  private logIfTelling(state: number, right: BetaTable, wrong: BetaTable): number {
    const { sizes, alone } = this;
    const goodAlone = state % (alone + 1);
    let rest = Math.floor(state / (alone + 1));
    const good = sizes.map((size) => {
      const own = rest % (size + 1);
      rest = Math.floor(rest / (size + 1));
      return own;
    });
    const allGood = goodAlone + good.reduce((sum, own) => sum + own, 0);
    const allBad = alone + sizes.reduce((sum, size) => sum + size, 0) - allGood;
    // Right class: g good and b bad patches; the other patches are outside it.
    const split = (g: number, b: number): number => right.log(g, allGood - g) + wrong.log(b, allBad - b);
    const logs = [mistakes(sizes, alone) + split(0, 0)];
    for (const [index, size] of sizes.entries()) {
      const own = good[index] ?? 0;
      logs.push(mistakes(sizes.toSpliced(index, 1), alone) + split(own, size - own));
    }
    if (goodAlone > 0) logs.push(Math.log(goodAlone) + mistakes(sizes, alone - 1) + split(1, 0));
    if (alone > goodAlone) logs.push(Math.log(alone - goodAlone) + mistakes(sizes, alone - 1) + split(0, 1));
    return logSum(Float64Array.from(logs));
  }
}

/** Log probability that misbehaving patches form classes of these sizes, plus `alone` classes of one. */
function mistakes(sizes: readonly number[], alone: number): number {
  let log = (sizes.length + alone) * Math.log(CHANCE_OF_OWN);
  for (const size of sizes) for (let n = 1; n < size; n += 1) log += Math.log(n);
  const all = sizes.reduce((sum, size) => sum + size, alone);
  for (let n = 0; n < all; n += 1) log -= Math.log(CHANCE_OF_OWN + n);
  return log;
}

/** Log of ∫ p^x (1−p)^y Beta(p; a, b) dp, for up to `most` outcomes. */
export class BetaTable {
  private readonly a: Float64Array;
  private readonly b: Float64Array;
  private readonly both: Float64Array;

  constructor([a, b]: Beta, most: number) {
    this.a = risingLogs(a, most);
    this.b = risingLogs(b, most);
    this.both = risingLogs(a + b, most);
  }

  log(x: number, y: number): number {
    return (this.a[x] ?? NaN) + (this.b[y] ?? NaN) - (this.both[x + y] ?? NaN);
  }
}

/** Entry k is the log of the rising product c (c+1) … (c+k−1). */
function risingLogs(c: number, most: number): Float64Array {
  const logs = new Float64Array(most + 1);
  for (let k = 1; k <= most; k += 1) logs[k] = (logs[k - 1] ?? 0) + Math.log(c + k - 1);
  return logs;
}

/** log Σ exp. */
export function logSum(values: Float64Array): number {
  let most = -Infinity;
  for (const value of values) if (value > most) most = value;
  if (most === -Infinity) return most;
  let sum = 0;
  for (const value of values) sum += Math.exp(value - most);
  return most + Math.log(sum);
}

/** Maximum number of cached tables: at most 10 MB with 32 patches. */
const MOST_KEPT = 1_000;
const made = new Map<string, TestTable>();
