import type { Entry } from '../../../verifiers/hybrid/entry.js';
import { aucWithin, ProbabilityQuality, type ReliabilityBin } from './ranking-quality.js';
import { RocCurve, type RocPoint } from './ranking-quality.js';
import type { ScoredIssue } from '../curves/scored-issue.js';

const MEASURES = ['execution_free', 'regression', 'reproduction', 'learned'] as const;

export interface VerifierReport {
  readonly verifier: (typeof MEASURES)[number];
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
  private readonly verifiers = MEASURES.map((verifier) => ({
    verifier,
    scored: 0,
    abstained: 0,
    sum: 0,
    issues: 0,
    probability: null as ProbabilityQuality | null,
    roc: new RocCurve(),
  }));

  add({ candidates }: ScoredIssue): void {
    for (const each of this.verifiers) {
      const scored = candidates.flatMap(({ entry, resolved }) => {
        const score = entry[each.verifier] ?? null;
        return score === null ? [] : { score, resolved: resolved === true };
      });
      for (const { entry, resolved } of candidates) {
        const share = shareOf(entry, each.verifier);
        if (share !== null) each.roc.add(share, resolved === true);
      }
      each.scored += scored.length;
      each.abstained += candidates.length - scored.length;
      const auc = aucWithin(scored);
      if (auc !== null) {
        each.sum += auc;
        each.issues += 1;
      }
      if (scored.length === 0 || each.verifier === 'regression' || each.verifier === 'reproduction') continue;
      each.probability ??= new ProbabilityQuality();
      for (const { score, resolved } of scored) each.probability.add(score, resolved);
    }
  }

  /** Those that scored anybody. */
  report(): VerifierReport[] {
    return this.verifiers
      .filter(({ scored }) => scored > 0)
      .map(({ verifier, scored, abstained, sum, issues, probability, roc }) => ({
        verifier,
        scored,
        abstained,
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

/** A score as a number 0..1; null when it is unknown, or unknown of how many. */
function shareOf(entry: Entry, measure: VerifierReport['verifier']): number | null {
  const score = entry[measure] ?? null;
  if (score === null || measure === 'execution_free' || measure === 'learned') return score;
  const outOf = entry[`${measure}_out_of`] ?? null;
  return outOf === null ? null : Math.min(1, score / outOf);
}
