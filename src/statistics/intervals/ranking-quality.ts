import { type Interval, wilson } from './binomial.js';

/** Scores 0..1 are told apart to a millionth, so that memory does not grow with their number. */
const RESOLUTION = 1_000_000;
const BINS = 10;

export interface ReliabilityBin extends Interval {
  readonly from: number;
  readonly to: number;
  readonly candidates: number;
  readonly mean_score: number;
  readonly resolved_rate: number;
}

/** How well a probability tells right from wrong, over all candidates it was given for. */
export class ProbabilityQuality {
  private readonly right = new Uint32Array(RESOLUTION + 1);
  private readonly wrong = new Uint32Array(RESOLUTION + 1);
  private readonly bins = Array.from({ length: BINS }, () => ({ candidates: 0, right: 0, score: 0 }));
  private squares = 0;
  private count = 0;

  /** @param score 0..1 */
  add(score: number, resolved: boolean): void {
    const cells = resolved ? this.right : this.wrong;
    const cell = Math.round(score * RESOLUTION);
    cells[cell] = (cells[cell] ?? 0) + 1;
    const bin = this.bins[Math.min(BINS - 1, Math.floor(score * BINS))];
    if (bin !== undefined) {
      bin.candidates += 1;
      bin.right += Number(resolved);
      bin.score += score;
    }
    this.squares += (score - Number(resolved)) ** 2;
    this.count += 1;
  }

  /** P(a right candidate scores above a wrong one), ties half; null when all labels are equal. */
  auc(): number | null {
    let [wins, rightBelow, wrongBelow] = [0, 0, 0];
    for (let cell = 0; cell <= RESOLUTION; cell += 1) {
      const [right, wrong] = [this.right[cell] ?? 0, this.wrong[cell] ?? 0];
      wins += right * (wrongBelow + wrong / 2);
      rightBelow += right;
      wrongBelow += wrong;
    }
    return rightBelow === 0 || wrongBelow === 0 ? null : wins / (rightBelow * wrongBelow);
  }

  /** Mean squared distance to the label (Brier 1950); null without scores. */
  brier(): number | null {
    return this.count === 0 ? null : this.squares / this.count;
  }

  /** Expected calibration error over ten bins of equal width: mean |score − resolved rate|, weighted by candidates. */
  ece(): number | null {
    if (this.count === 0) return null;
    return this.bins.reduce((sum, { score, right }) => sum + Math.abs(score - right), 0) / this.count;
  }

  reliability(): ReliabilityBin[] {
    return this.bins.flatMap(({ candidates, right, score }, index) =>
      candidates === 0
        ? []
        : {
            from: index / BINS,
            to: (index + 1) / BINS,
            candidates,
            mean_score: score / candidates,
            resolved_rate: right / candidates,
            ...wilson(right, candidates),
          },
    );
  }
}

/** The same within one issue, from any score: P(right above wrong), ties half; null when all labels are equal. */
export function aucWithin(scored: readonly { readonly score: number; readonly resolved: boolean }[]): number | null {
  const sorted = scored.toSorted((a, b) => a.score - b.score);
  let [wins, wrongBelow, start] = [0, 0, 0];
  while (start < sorted.length) {
    let end = start;
    let right = 0;
    while (end < sorted.length && sorted[end]?.score === sorted[start]?.score) {
      right += Number(sorted[end]?.resolved === true);
      end += 1;
    }
    const wrong = end - start - right;
    wins += right * (wrongBelow + wrong / 2);
    wrongBelow += wrong;
    start = end;
  }
  const rightAll = sorted.length - wrongBelow;
  return rightAll === 0 || wrongBelow === 0 ? null : wins / (rightAll * wrongBelow);
}

/** Scores 0..1 are told apart to a ten-thousandth; a plot shows no more. */
const ROC_RESOLUTION = 10_000;
/** Points kept of a curve, beside its ends. */
const MOST_POINTS = 64;

/** Everything at or above one score called right: what share of the wrong and of the right ones that takes in, 0..1. */
export interface RocPoint {
  readonly score: number;
  readonly false_positive_rate: number;
  readonly true_positive_rate: number;
}

/** Receiver operating characteristic of one verifier over all candidates together. */
export class RocCurve {
  private readonly right = new Map<number, number>();
  private readonly wrong = new Map<number, number>();

  /** @param score 0..1 */
  add(score: number, resolved: boolean): void {
    const counts = resolved ? this.right : this.wrong;
    const cell = Math.round(score * ROC_RESOLUTION);
    counts.set(cell, (counts.get(cell) ?? 0) + 1);
  }

  /** From (0, 0) to (1, 1), by falling score, at most 64 points evenly between; empty unless both labels occur. */
  points(): RocPoint[] {
    const [rightAll, wrongAll] = [sum(this.right), sum(this.wrong)];
    if (rightAll === 0 || wrongAll === 0) return [];
    const cells = [...new Set([...this.right.keys(), ...this.wrong.keys()])].sort((a, b) => b - a);
    let [right, wrong] = [0, 0];
    const points = cells.map((cell) => {
      right += this.right.get(cell) ?? 0;
      wrong += this.wrong.get(cell) ?? 0;
      return {
        score: cell / ROC_RESOLUTION,
        false_positive_rate: wrong / wrongAll,
        true_positive_rate: right / rightAll,
      };
    });
    return [{ score: 1, false_positive_rate: 0, true_positive_rate: 0 }, ...thinned(points)];
  }
}

function sum(counts: ReadonlyMap<number, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}

/** The last one always stays. */
function thinned(points: readonly RocPoint[]): readonly RocPoint[] {
  const step = Math.max(1, points.length / MOST_POINTS);
  const kept = new Set(
    Array.from({ length: Math.min(points.length, MOST_POINTS) }, (_, index) => Math.ceil((index + 1) * step) - 1),
  );
  return points.filter((_, index) => kept.has(index) || index === points.length - 1);
}
