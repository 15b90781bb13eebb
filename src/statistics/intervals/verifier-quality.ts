import type { Entry } from '../../../verifiers/hybrid/entry.js';
import { rateOf } from '../../../verifiers/hybrid/pool.js';
import { measureNamed } from '../../core/run/measure.js';
import { aucWithin, ProbabilityQuality, type ReliabilityBin } from './ranking-quality.js';
import { RocCurve, type RocPoint } from './ranking-quality.js';
import type { LabelledEntry, ScoredIssue } from '../curves/scored-issue.js';

/** Reported in this order, then further measures as they come. */
const FIRST = ['execution_free', 'regression', 'reproduction', 'learned'];

export interface VerifierReport {
  /** Name of the measure. */
  readonly verifier: string;
  readonly scored: number;
  readonly abstained: number;
  /** P(right above wrong) within an issue, averaged over the issues that have both. */
  readonly auc_within_issue: number | null;
  readonly issues_with_both: number;
  /** The rest for probabilities only, over all candidates together. */
  readonly auc: number | null;
  readonly brier: number | null;
  readonly ece: number | null;
  readonly reliability: readonly ReliabilityBin[];
  /** Over all candidates together; counts of tests as the share passed, where it is known of how many. */
  readonly roc: readonly RocPoint[];
}

/** How well each measure tells right candidates from wrong ones, presets apart. */
export class VerifierQuality {
  private readonly verifiers = new Map(FIRST.map((name) => [name, new Tally()]));
  private candidates = 0;

  add({ candidates }: ScoredIssue): void {
    this.candidates += candidates.length;
    for (const { entry } of candidates) {
      for (const name of Object.keys(entry.measures ?? {})) {
        if (!this.verifiers.has(name)) this.verifiers.set(name, new Tally());
      }
    }
    for (const [name, tally] of this.verifiers) tally.add(name, candidates);
  }

  /** Those that scored anybody. */
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
  /** Of the AUC within an issue, over the issues that have one. */
  sum = 0;
  issues = 0;
  /** Null for what is no probability. */
  probability: ProbabilityQuality | null = null;
  readonly roc = new RocCurve();

  add(measure: string, candidates: readonly LabelledEntry[]): void {
    const isProbability = measure === 'learned' || measureNamed(measure).unit === 'probability';
    const scored = candidates.flatMap(({ entry, resolved }) => {
      const score = scoreOf(entry, measure);
      if (score === null) return [];
      return { score, share: isProbability ? score : shareOf(entry, measure), resolved };
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
    this.sum += auc;
    this.issues += 1;
  }
}

function scoreOf(entry: Entry, measure: string): number | null {
  if (measure === 'execution_free' || measure === 'learned') return entry[measure] ?? null;
  if (measure === 'regression' || measure === 'reproduction') return entry[measure];
  return entry.measures?.[measure] ?? null;
}

/** A count as a share of what it goes up to; null where that is unknown, and for other scores. */
function shareOf(entry: Entry, measure: string): number | null {
  if (measureNamed(measure).unit !== 'count') return null;
  const share = rateOf(entry, measure);
  return share === null ? null : Math.min(1, share);
}
