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

/** The outcomes of one test: a table, which tests with equal counts share, and where each patch stands in it. */
interface Outcomes {
  readonly table: OutcomeTable;
  /** Per patch, the change of the state when it is good; 0 without an outcome. */
  readonly steps: Int32Array;
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

  static of({ outcomes, weight, rates }: TestColumn): Outcomes {
    const passed = outcomes.filter((outcome) => outcome === true).length;
    const failed = outcomes.filter((outcome) => outcome === false).length;
    const key = ['test', passed, failed, weight, ...rates.right, ...rates.wrong].join(' ');
    return {
      table: cached(key, () => new TestTable(passed, failed, weight, rates)),
      steps: Int32Array.from(outcomes, (outcome) => (outcome === null ? 0 : outcome ? failed + 1 : 1)),
    };
  }

  private constructor(passed: number, failed: number, weight: number, rates: Rates) {
    const states = (passed + 1) * (failed + 1);
    this.logs = new Float64Array(states);
    this.kinds = new Float64Array(states * KINDS);
    const most = passed + failed;
    const [right, wrong] = [new BetaTable(rates.right, most), new BetaTable(rates.wrong, most)];
    const toxic = { right: new BetaTable(TOXIC.right, most), wrong: new BetaTable(TOXIC.wrong, most) };
    const indifferent = new BetaTable(INDIFFERENT, most).log(passed, failed);
    const logs = new Float64Array(KINDS);
    for (let state = 0; state < states; state += 1) {
      const [p, f] = [Math.floor(state / (failed + 1)), state % (failed + 1)];
      const [wrongPassed, wrongFailed] = [passed - p, failed - f];
      logs[0] = (LOG_SHARES[0] ?? 0) + right.log(p, f) + wrong.log(wrongPassed, wrongFailed);
      logs[1] = (LOG_SHARES[1] ?? 0) + indifferent;
      logs[2] = (LOG_SHARES[2] ?? 0) + toxic.right.log(p, f) + toxic.wrong.log(wrongPassed, wrongFailed);
      const all = logSum(logs);
      this.logs[state] = weight * all;
      for (let kind = 0; kind < KINDS; kind += 1) this.kinds[state * KINDS + kind] = Math.exp((logs[kind] ?? 0) - all);
    }
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
  /** P(telling) by state. */
  private readonly telling: Float64Array;

  static of({ classes, weight, rates }: ObservedColumn): Outcomes {
    const known = classes.flatMap((own, patch) => (own === null ? [] : [{ own, patch }]));
    const members = [...grouped(known, ({ own }) => own).values()].sort((a, b) => b.length - a.length);
    const large = members.filter(({ length }) => length > 1);
    let alone = members.length - large.length;
    const count = (): number => large.reduce((product, { length }) => product * (length + 1), alone + 1);
    while (count() > MOST_STATES) alone += large.pop()?.length ?? 0;
    const steps = new Int32Array(classes.length);
    let stride = 1;
    for (const own of large) {
      for (const { patch } of own) steps[patch] = stride;
      stride *= own.length + 1;
    }
    for (const { patch } of members.slice(large.length).flat()) steps[patch] = stride;
    const sizes = large.map(({ length }) => length);
    const key = ['observed', alone, weight, ...rates.right, ...rates.wrong, ...sizes].join(' ');
    return { table: cached(key, () => new ObservedTable(sizes, alone, weight, rates)), steps };
  }

  /** @param sizes of the classes of two or more @param alone the number of singletons */
  private constructor(sizes: readonly number[], alone: number, weight: number, rates: Rates) {
    const all = sizes.reduce((sum, size) => sum + size, alone);
    const states = sizes.reduce((product, size) => product * (size + 1), alone + 1);
    this.logs = new Float64Array(states);
    this.telling = new Float64Array(states);
    const [right, wrong] = [new BetaTable(rates.right, all), new BetaTable(rates.wrong, all)];
    // Of the patches outside the right class, if that is none, each of the large classes, or a singleton.
    const byChance = mistakes(sizes, alone);
    const outside = sizes.map((_, index) => mistakes(sizes.toSpliced(index, 1), alone));
    const outsideSingleton = alone === 0 ? -Infinity : mistakes(sizes, alone - 1);
    const counts = [...sizes, alone];
    const good = new Int32Array(counts.length);
    const logs = new Float64Array(sizes.length + 3);
    for (let state = 0; state < states; state += 1) {
      const allGood = goodOf(state, counts, good);
      const goodAlone = good[sizes.length] ?? 0;
      // Right class: g good and b bad patches; the other patches are outside it.
      const split = (g: number, b: number): number => right.log(g, allGood - g) + wrong.log(b, all - allGood - b);
      for (let c = 0; c < sizes.length; c += 1) {
        const own = good[c] ?? 0;
        logs[c] = (outside[c] ?? 0) + split(own, (sizes[c] ?? 0) - own);
      }
      logs[sizes.length] = byChance + split(0, 0);
      logs[sizes.length + 1] = goodAlone === 0 ? -Infinity : Math.log(goodAlone) + outsideSingleton + split(1, 0);
      logs[sizes.length + 2] =
        goodAlone === alone ? -Infinity : Math.log(alone - goodAlone) + outsideSingleton + split(0, 1);
      const [told, indifferent] = [LOG_HALF + logSum(logs), LOG_HALF + byChance];
      const both = logSum(Float64Array.of(told, indifferent));
      this.logs[state] = weight * both;
      this.telling[state] = Math.exp(told - both);
    }
  }

  kindsUnder(weights: Float64Array, total: number): [number, number, number] {
    const telling = weights.reduce((sum, weight, state) => sum + weight * (this.telling[state] ?? 0), 0) / total;
    return [telling, 1 - telling, 0];
  }
}

/** Number of good patches in a state, whose digits are the good ones of each class. @param good receives the digits */
function goodOf(state: number, counts: readonly number[], good: Int32Array): number {
  let [rest, all] = [state, 0];
  for (let c = 0; c < counts.length; c += 1) {
    const radix = (counts[c] ?? 0) + 1;
    good[c] = rest % radix;
    all += rest % radix;
    rest = Math.floor(rest / radix);
  }
  return all;
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

/** The table with these parameters: the pools of a benchmark, and the steps of one selection, often repeat them. */
function cached(key: string, make: () => OutcomeTable): OutcomeTable {
  const known = made.get(key);
  if (known !== undefined) return known;
  const table = make();
  kept += table.logs.length;
  if (kept > MOST_KEPT) {
    made.clear();
    kept = table.logs.length;
  }
  made.set(key, table);
  return table;
}

/** Maximum number of states in cached tables: at most 32 MB. */
const MOST_KEPT = 1_000_000;
const made = new Map<string, OutcomeTable>();
let kept = 0;
