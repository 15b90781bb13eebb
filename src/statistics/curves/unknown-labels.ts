import { isUngraded, type ScoredIssue } from './scored-issue.js';

/** Candidates whose label is neither right nor wrong; they are excluded from every rate. */
export interface UnknownLabelsReport {
  readonly candidates: number;
  /** Issues of which no candidate has a known label. */
  readonly issues: number;
  /** The most frequent reasons, most candidates first; null = not stated, or one of the rarer reasons. */
  readonly reasons: readonly UnknownReason[];
  /** The first of `issues`, by id, each with its most frequent reason. */
  readonly issues_without_known_label: readonly {
    readonly instance_id: string;
    readonly candidates: number;
    readonly reason: string | null;
  }[];
}

interface UnknownReason {
  readonly reason: string | null;
  readonly candidates: number;
  readonly issues: number;
}

/** Reasons shown; messages that differ in a number would fill a report. */
const SHOWN_REASONS = 20;
/** Bounds the memory for hostile files; rarer reasons count as not stated. */
const MAX_REASONS = 1_000;
const MAX_ISSUES = 100;

/** Counts unknown labels issue by issue, in bounded memory. */
export class UnknownLabels {
  private readonly reasons = new Map<string | null, { candidates: number; issues: number }>();
  private readonly ungraded: UnknownLabelsReport['issues_without_known_label'][number][] = [];
  private candidates = 0;
  private issues = 0;

  add(issue: ScoredIssue): void {
    const { instanceId: instance_id, unknownLabels } = issue;
    const own = new Map<string | null, number>();
    for (const reason of unknownLabels) own.set(reason, (own.get(reason) ?? 0) + 1);
    for (const [reason, candidates] of own) this.count(reason, candidates);
    this.candidates += unknownLabels.length;
    if (!isUngraded(issue)) return;
    this.issues += 1;
    if (this.ungraded.length >= MAX_ISSUES) return;
    const [[reason] = [null]] = [...own].sort(([, a], [, b]) => b - a);
    this.ungraded.push({ instance_id, candidates: unknownLabels.length, reason });
  }

  private count(given: string | null, candidates: number): void {
    const reason = this.reasons.has(given) || this.reasons.size < MAX_REASONS ? given : null;
    const known = this.reasons.get(reason) ?? { candidates: 0, issues: 0 };
    this.reasons.set(reason, { candidates: known.candidates + candidates, issues: known.issues + 1 });
  }

  report(): UnknownLabelsReport {
    const reasons = [...this.reasons]
      .map(([reason, counts]) => ({ reason, ...counts }))
      .sort((a, b) => b.candidates - a.candidates || ((a.reason ?? '') < (b.reason ?? '') ? -1 : 1));
    return {
      ...{ candidates: this.candidates, issues: this.issues },
      reasons: reasons.slice(0, SHOWN_REASONS),
      issues_without_known_label: this.ungraded.toSorted((a, b) => (a.instance_id < b.instance_id ? -1 : 1)),
    };
  }
}

/** The unknown labels of some issues. */
export function unknownLabelsIn(issues: readonly ScoredIssue[]): UnknownLabelsReport {
  const unknown = new UnknownLabels();
  for (const issue of issues) unknown.add(issue);
  return unknown.report();
}
