import type { Estimated } from '../curves/curve-table.js';
import { holm, mcnemar, minimumDetectable } from './paired-tests.js';

/** Two presets on the same issues, with all candidates. */
export interface Comparison {
  readonly a: string;
  readonly b: string;
  /** Best@K of a minus that of b, ties averaged. */
  readonly difference: Estimated;
  /** Issues that only a's, or only b's, returned patch resolves. */
  readonly only_a: number;
  readonly only_b: number;
  /** Exact McNemar over these. */
  readonly p: number;
  /** The same, adjusted for all comparisons of the report (Holm). */
  readonly p_holm: number;
  /** The smallest true difference that issues like these would show in 80 of 100 such samples. */
  readonly minimum_detectable: number;
}

/** Pairs of places in a list. */
export type Pairs = readonly (readonly [number, number])[];

/** All pairs of names in order, or those with one of the `references`. */
export function pairsOf(names: readonly string[], references: readonly string[] | null): Pairs {
  const isMeant = (a: string, b: string): boolean =>
    references === null || references.includes(a) || references.includes(b);
  return names.flatMap((one, a) =>
    names.flatMap((other, b) => (a < b && isMeant(one, other) ? [[a, b] as const] : [])),
  );
}

/** Counts on which issues two presets' returned patches differ. */
export class Discordance {
  private readonly pairs;

  constructor(
    private readonly presets: readonly string[],
    pairs: Pairs,
  ) {
    this.pairs = pairs.map(([a, b]) => ({ a, b, onlyA: 0, onlyB: 0 }));
  }

  /** @param picks whether each preset's pick is right, in the presets' order */
  add(picks: readonly boolean[]): void {
    for (const pair of this.pairs) {
      const [a, b] = [picks[pair.a] === true, picks[pair.b] === true];
      if (a && !b) pair.onlyA += 1;
      if (b && !a) pair.onlyB += 1;
    }
  }

  /** @param difference of the pair with this index, and its standard deviation over issues */
  report(issues: number, difference: (pair: number) => readonly [Estimated, number]): Comparison[] {
    const pValues = this.pairs.map(({ onlyA, onlyB }) => mcnemar(onlyA, onlyB));
    const adjusted = holm(pValues);
    return this.pairs.map(({ a, b, onlyA, onlyB }, index) => {
      const [estimated, deviation] = difference(index);
      return {
        a: this.presets[a] ?? '',
        b: this.presets[b] ?? '',
        difference: estimated,
        only_a: onlyA,
        only_b: onlyB,
        p: pValues[index] ?? 1,
        p_holm: adjusted[index] ?? 1,
        minimum_detectable: minimumDetectable(deviation, issues),
      };
    });
  }
}
