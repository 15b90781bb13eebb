import type { Entry } from '../../../verifiers/hybrid/entry.js';
import { rateOf } from '../../../verifiers/hybrid/pool.js';
import { type Measure, measureNamed } from '../../core/run/verdict.js';
import { type Interval, wilson } from './binomial.js';

/** Scores 0..1 are counted at this resolution, so that memory does not grow with their number. */
const RESOLUTION = 1_000_000;
const BINS = 10;

export interface ReliabilityBin extends Interval {
  readonly from: number;
  readonly to: number;
  readonly candidates: number;
  readonly mean_score: number;
  readonly resolved_rate: number;
}

/** How well a probability separates right from wrong, over all candidates that have it. */
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

  /** P(a right candidate scores above a wrong one), ties count half; null if all labels are equal. */
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

/** AUC within one issue, for scores of any range: P(right above wrong), ties count half; null if all labels are equal. */
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

/** Scores 0..1 are counted at this resolution; a plot shows no more. */
const ROC_RESOLUTION = 10_000;
/** Points kept per curve, in addition to its start. */
const MOST_POINTS = 64;

/** Share of the wrong and of the right candidates, 0..1, with a score at or above this one. */
interface RocPoint {
  readonly score: number;
  readonly false_positive_rate: number;
  readonly true_positive_rate: number;
}

/** Receiver operating characteristic of one verifier over all candidates pooled. */
class RocCurve {
  private readonly right = new Map<number, number>();
  private readonly wrong = new Map<number, number>();

  /** @param score 0..1 */
  add(score: number, resolved: boolean): void {
    const counts = resolved ? this.right : this.wrong;
    const cell = Math.round(score * ROC_RESOLUTION);
    counts.set(cell, (counts.get(cell) ?? 0) + 1);
  }

  /**
   * From (0, 0) to (1, 1) by descending score, thinned evenly to at most 64 points after (0, 0); empty unless both labels
   * occur.
   */
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

/** Thins evenly; always keeps the last point. */
function thinned(points: readonly RocPoint[]): readonly RocPoint[] {
  const step = Math.max(1, points.length / MOST_POINTS);
  const kept = new Set(
    Array.from({ length: Math.min(points.length, MOST_POINTS) }, (_, index) => Math.ceil((index + 1) * step) - 1),
  );
  return points.filter((_, index) => kept.has(index) || index === points.length - 1);
}

/** Reported first, in this order; further measures follow as they occur. */
const FIRST = ['execution_free', 'regression', 'reproduction', 'learned'];

export interface VerifierReport {
  /** Name of the measure. */
  readonly verifier: string;
  readonly scored: number;
  readonly abstained: number;
  /**
   * P(right ranked before wrong) within an issue, by the measure's declared direction, averaged over issues with both labels.
   */
  readonly auc_within_issue: number | null;
  readonly issues_with_both: number;
  /** This and the following only for probabilities, over all candidates pooled. */
  readonly auc: number | null;
  readonly brier: number | null;
  readonly ece: number | null;
  readonly reliability: readonly ReliabilityBin[];
  /** Over all candidates pooled; test counts as the share passed, if the total is known. */
  readonly roc: readonly RocPoint[];
}

/** An issue's candidates with their labels, and the measures declared by the verifiers, if known. */
interface Scored {
  readonly candidates: readonly { readonly entry: Entry; readonly resolved: boolean }[];
  readonly measures?: readonly Measure[] | undefined;
}

/** How well each measure separates right candidates from wrong ones, independent of presets. */
export class VerifierQuality {
  private readonly verifiers = new Map(FIRST.map((name) => [name, new Tally()]));
  private candidates = 0;

  add({ candidates, measures }: Scored): void {
    this.candidates += candidates.length;
    for (const { entry } of candidates) {
      for (const name of Object.keys(entry.measures ?? {})) {
        if (!this.verifiers.has(name)) this.verifiers.set(name, new Tally());
      }
    }
    for (const [name, tally] of this.verifiers) tally.add(measureNamed(name, measures), candidates);
  }

  /** Only measures that scored a candidate. */
  report(): VerifierReport[] {
    return [...this.verifiers]
      .filter(([, { scored }]) => scored > 0)
      .map(([verifier, { scored, sum, issues, probability, roc }]) => ({
        verifier,
        scored,
        abstained: this.candidates - scored,
        auc_within_issue: issues === 0 ? null : sum / issues,
        issues_with_both: issues,
        auc: probability?.auc() ?? null,
        brier: probability?.brier() ?? null,
        ece: probability?.ece() ?? null,
        reliability: probability?.reliability() ?? [],
        roc: roc.points(),
      }));
  }
}

class Tally {
  scored = 0;
  /** Sum of the AUC within an issue, over the issues that have one. */
  sum = 0;
  issues = 0;
  /** Null if the measure is not a probability. */
  probability: ProbabilityQuality | null = null;
  readonly roc = new RocCurve();

  add({ name, unit, better }: Pick<Measure, 'name' | 'unit' | 'better'>, candidates: Scored['candidates']): void {
    const isProbability = name === 'learned' || unit === 'probability';
    const scored = candidates.flatMap(({ entry, resolved }) => {
      const score = scoreOf(entry, name);
      if (score === null) return [];
      return { score, share: isProbability ? score : shareOf(entry, name), resolved };
    });
    if (scored.length === 0) return;
    this.scored += scored.length;
    if (isProbability) this.probability ??= new ProbabilityQuality();
    for (const { score, share, resolved } of scored) {
      this.probability?.add(score, resolved);
      if (share !== null) this.roc.add(share, resolved);
    }
    const auc = aucWithin(scored);
    if (auc === null) return;
    this.sum += better === 'higher' ? auc : 1 - auc;
    this.issues += 1;
  }
}

function scoreOf(entry: Entry, measure: string): number | null {
  if (measure === 'execution_free' || measure === 'learned') return entry[measure] ?? null;
  if (measure === 'regression' || measure === 'reproduction') return entry[measure];
  return entry.measures?.[measure] ?? null;
}

/** A count as a share of its maximum; null if that is unknown, and for other units. */
function shareOf(entry: Entry, measure: string): number | null {
  if (measureNamed(measure).unit !== 'count') return null;
  const share = rateOf(entry, measure);
  return share === null ? null : Math.min(1, share);
}
