import type { Preset } from '../../verifiers/hybrid/stage.js';
import { bestAtK, type BestCurve, type BestOptions } from './best-at-k.js';
import { real } from './cells.js';
import { pairsOf } from './comparisons.js';
import { passAtK } from './pass-at-k.js';
import { picksRight } from './picks.js';
import { countRight, type ScoredIssue } from './scored-issue.js';

/** Everything the curves need of one issue. */
export interface IssueNumbers {
  readonly n: number;
  readonly right: number;
  /** By preset. */
  readonly curves: readonly BestCurve[];
  /** By preset: Best@n, from all candidates. */
  readonly full: readonly number[];
  /** By preset: whether the patch really returned from all candidates is right. */
  readonly picks: readonly boolean[];
}

export function numbersOf(
  issue: ScoredIssue,
  presets: readonly Preset[],
  ks: readonly number[],
  options: BestOptions,
): IssueNumbers {
  const n = issue.candidates.length;
  const curves = presets.map((preset) => bestAtK(issue, preset, ks, options));
  const asksForAll = n === 0 || (ks.at(-1) ?? 0) >= n;
  const full = presets.map((preset, index) =>
    asksForAll ? (curves[index]?.values.at(-1) ?? 0) : (bestAtK(issue, preset, [n], options).values[0] ?? 0),
  );
  const picks = presets.map((preset, index) => picksRight(issue, preset, full[index] ?? 0));
  return { n, right: countRight(issue), curves, full, picks };
}

/** Columns: Pass@k by k; by preset, Best@k by k; by pair of presets, the difference of their Best@n; Pass@1. */
export class Columns {
  private readonly pairs: readonly (readonly [number, number])[];

  constructor(
    private readonly ks: readonly number[],
    private readonly presets: number,
  ) {
    this.pairs = pairsOf(presets);
  }

  get width(): number {
    return this.ks.length * (1 + this.presets) + this.pairs.length + 1;
  }

  pass(kIndex: number): number {
    return kIndex;
  }

  best(preset: number, kIndex: number): number {
    return this.ks.length * (1 + preset) + kIndex;
  }

  difference(pair: number): number {
    return this.ks.length * (1 + this.presets) + pair;
  }

  /** Pass@1, whether it was asked for or not. */
  passOne(): number {
    return this.width - 1;
  }

  row({ n, right, curves, full }: IssueNumbers): Float64Array {
    const row = new Float64Array(this.width);
    for (const [index, k] of this.ks.entries()) {
      row[this.pass(index)] = n === 0 ? 0 : passAtK(n, right, Math.min(k, n));
      for (const [preset, { values }] of curves.entries()) row[this.best(preset, index)] = real(values, index);
    }
    row[this.passOne()] = n === 0 ? 0 : right / n;
    for (const [pair, [a, b]] of this.pairs.entries()) row[this.difference(pair)] = (full[a] ?? 0) - (full[b] ?? 0);
    return row;
  }
}
