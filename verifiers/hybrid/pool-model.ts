import { grouped } from '../../src/core/grouped.js';
import type { Beta, Rates } from '../../src/core/run/fitted.js';

/** What is known of the distinct patches of a pool, as far as it bears on which of them are good. */
export interface PoolModel {
  /** Log of how much likelier each patch is to be good than not, by all that speaks of it alone. */
  readonly leanings: Float64Array;
  readonly columns: readonly TestColumn[];
  /** Of the share of good patches, before anything is seen. */
  readonly share: Beta;
  /** Log of P(patch is wrong), by patch, if it is good and if it is not. */
  readonly wrong: { readonly ifGood: Float64Array; readonly ifNot: Float64Array };
  /** Whether the tests' kinds are asked for, too. */
  readonly kinds: boolean;
}

export interface Assignments {
  /** P(good) by patch, 0..1. */
  readonly good: Float64Array;
  /** P(every patch is wrong). */
  readonly allWrong: number;
  /** P(telling), P(indifferent), P(toxic) by column; empty unless asked for. */
  readonly kinds: readonly (readonly [number, number, number])[];
  /** Every assignment was gone through, or Markov chains were. */
  readonly method: 'enumerated' | 'sampled';
  /** Largest difference between the chains in any P(good); 0 when enumerated. */
  readonly spread: number;
}

/** Patches with the same outcomes. */
export interface Group {
  readonly members: readonly number[];
  /** By column, how far its state moves when one more of the group is good. */
  readonly steps: Int32Array;
}

/** A model, ready for its assignments to be gone through. */
export class PoolState {
  readonly groups: readonly Group[];
  readonly tables: readonly TestTable[];
  /** Log of the prior of an assignment, by how many it calls good. */
  readonly share: Float64Array;

  constructor(readonly model: PoolModel) {
    const patches = Array.from(model.leanings, (_, patch) => patch);
    this.tables = model.columns.map((column) => TestTable.of(column));
    const beta = new BetaTable(model.share, patches.length);
    this.share = Float64Array.from({ length: patches.length + 1 }, (_, good) => beta.log(good, patches.length - good));
    const rowOf = (patch: number): string =>
      model.columns.map(({ outcomes }) => SIGN.get(outcomes[patch] ?? null)).join('');
    this.groups = [...grouped(patches, rowOf).values()].map((members) => ({
      members,
      steps: this.stepsOf(members[0] ?? 0),
    }));
  }

  stepsOf(patch: number): Int32Array {
    return Int32Array.from(this.tables, ({ stride }, test) => {
      const outcome = this.model.columns[test]?.outcomes[patch] ?? null;
      return outcome === null ? 0 : outcome ? stride : 1;
    });
  }
}

const SIGN: ReadonlyMap<boolean | null, string> = new Map([
  [true, '+'],
  [false, '-'],
  [null, '?'],
]);

/**
 * Sums over the subsets of some patches by their size: Σ_{|S| = k} Π_{i ∈ S} e^{leaning i}, the elementary symmetric
 * polynomials, as logarithms. Built patch by patch: F_j(k) = F_{j−1}(k) + e^{leaning j} F_{j−1}(k−1).
 */
export class SubsetSums {
  private readonly prefixes: readonly Float64Array[];

  constructor(private readonly leanings: readonly number[]) {
    const prefixes = [Float64Array.of(0)];
    for (const [j, leaning] of leanings.entries()) {
      const before = prefixes[j] as Float64Array;
      const without = (k: number): number => before[k] ?? -Infinity;
      prefixes.push(Float64Array.from({ length: j + 2 }, (_, k) => logAdd(without(k), without(k - 1) + leaning)));
    }
    this.prefixes = prefixes;
  }

  /** Logs of the sums for sizes 0 to all. */
  get bySize(): Float64Array {
    return this.prefixes[this.leanings.length] as Float64Array;
  }

  /**
   * P(a patch is in the subset), by patch; equal leanings get the very same number. Backwards over the patches: given how
   * likely each size is among the first j, was the j-th one of them?
   * @param sizes P(size), 0 to all
   */
  marginals(sizes: Float64Array): number[] {
    const marginals = new Array<number>(this.leanings.length).fill(0);
    let left = sizes;
    for (let j = this.leanings.length; j > 0; j -= 1) {
      const next = new Float64Array(j);
      for (let k = 0; k <= j; k += 1) {
        const weight = left[k] as number;
        const chosen = k === 0 ? 0 : weight * this.chanceOfLast(j, k);
        marginals[j - 1] = (marginals[j - 1] as number) + chosen;
        if (k > 0) next[k - 1] = (next[k - 1] as number) + chosen;
        if (k < j) next[k] = (next[k] as number) + weight - chosen;
      }
      left = next;
    }
    const byLeaning = new Map(marginals.map((marginal, index) => [this.leanings[index], marginal]));
    return this.leanings.map((leaning) => byLeaning.get(leaning) ?? 0);
  }

  /** P(the j-th is in the subset), given that it has k of the first j. */
  private chanceOfLast(j: number, k: number): number {
    const [here, before] = [this.prefixes[j] as Float64Array, this.prefixes[j - 1] as Float64Array];
    return Math.exp((this.leanings[j - 1] as number) + (before[k - 1] as number) - (here[k] as number));
  }
}

function logAdd(a: number, b: number): number {
  const [most, least] = a > b ? [a, b] : [b, a];
  return most === -Infinity ? most : most + Math.log1p(Math.exp(least - most));
}

/** The outcomes of one test, or of any other check that passes or fails. */
export interface TestColumn {
  /** By patch: true = passed, false = did not, null = unknown. */
  readonly outcomes: readonly (boolean | null)[];
  /** Power that its likelihood is raised to, 0..1: tests of one author repeat each other (docs/posterior.md). */
  readonly weight: number;
  /** What it does if it is telling. */
  readonly rates: Rates;
}

/** A toxic test passes wrong patches rather than right ones (R2E-Gym, arXiv 2504.07164, appendix C.3). */
const TOXIC: Rates = { right: [1, 6], wrong: [2, 1] };
/** An indifferent test passes or fails nearly everybody, whoever is right. */
const INDIFFERENT: Beta = [0.5, 0.5];

export const KINDS = 3;
/** P(telling), P(indifferent), P(toxic) before anything is seen: of 86 admitted tests of real issues none was toxic. */
const LOG_SHARES = [0.5, 0.49, 0.01].map(Math.log);

/**
 * Log-likelihoods of one test, ready for every assignment of its patches to right and wrong. They depend on two numbers:
 * how many of those that passed are right, and how many of those that did not. A state is `passedRight × (failed + 1) +
 * failedRight`. Pass rates are integrated out under each kind; the kinds are summed up.
 */
export class TestTable {
  /** By state, tempered. */
  readonly logs: Float64Array;
  /** P(kind | state), row-major by state. */
  private readonly kinds: Float64Array;

  /** One that was made for equal numbers before, where it is still known: the pools of a benchmark are alike. */
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

  /** How far the state moves when one more patch that passed is right; 1 for one that failed. */
  get stride(): number {
    return this.failed + 1;
  }

  /** P(telling), P(indifferent), P(toxic), given how likely each state is. @param weights by state, adding up to `total` */
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

/** log(c), log(c (c+1)), …: entry k is the log of the k-fold rising product. */
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

/** Tables that are kept: with 32 patches at most 10 MB. */
const MOST_KEPT = 1_000;
const made = new Map<string, TestTable>();
