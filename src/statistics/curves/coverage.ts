import type { ScoredIssue } from './scored-issue.js';

/** Columns of an entry that may be unknown; further measures are counted beside them. */
const COLUMNS = [
  'execution_free',
  'regression',
  'reproduction',
  'patch_size',
  'fingerprint',
  'syntax',
  'behaviour',
  'solved',
  'beats',
  'steps',
  'learned',
] as const;

/** What the numbers rest on. Every issue and candidate counted here is in the denominators. */
export interface CoverageReport {
  readonly issues: number;
  readonly repos: number;
  readonly candidates: number;
  /** Count as not resolved. */
  readonly issues_without_candidates: number;
  /** Issues with fewer candidates than the largest k; there, k means all they have. */
  readonly issues_below_largest_k: number;
  /** Candidates without a label; they are in no rate, and nowhere else counted here. */
  readonly ungraded_candidates: number;
  /** Issues none of whose candidates has a label; likewise. */
  readonly ungraded_issues: number;
  /** Candidates without a patch to return. */
  readonly without_patch: number;
  /** Candidates about which each thing is known. */
  readonly known: Readonly<Record<string, number>>;
}

export class Coverage {
  private readonly repos = new Set<string>();
  private readonly sizes = new Map<number, number>();
  private readonly known = new Map<string, number>(COLUMNS.map((column) => [column, 0]));
  private issues = 0;
  private without = { candidates: 0, issues: 0 };
  private withoutPatch = 0;

  /** An issue none of whose candidates has a label. */
  ungraded({ ungraded }: ScoredIssue): void {
    this.without.issues += 1;
    this.without.candidates += ungraded;
  }

  add({ repo, candidates, ungraded }: ScoredIssue): void {
    this.issues += 1;
    this.without.candidates += ungraded;
    if (this.repos.size < 100_000) this.repos.add(repo);
    this.sizes.set(candidates.length, (this.sizes.get(candidates.length) ?? 0) + 1);
    for (const { entry } of candidates) {
      this.withoutPatch += Number(!entry.has_source_change || entry.applies === false);
      for (const column of COLUMNS) this.count(column, entry[column]);
      for (const [measure, score] of Object.entries(entry.measures ?? {})) this.count(measure, score);
    }
  }

  private count(what: string, value: unknown): void {
    this.known.set(what, (this.known.get(what) ?? 0) + Number((value ?? null) !== null));
  }

  /** The most candidates any issue has. */
  get largest(): number {
    return Math.max(0, ...this.sizes.keys());
  }

  report(largestK: number): CoverageReport {
    const sizes = [...this.sizes];
    return {
      issues: this.issues,
      repos: this.repos.size,
      candidates: sizes.reduce((sum, [size, issues]) => sum + size * issues, 0),
      issues_without_candidates: this.sizes.get(0) ?? 0,
      issues_below_largest_k: sizes.reduce((sum, [size, issues]) => sum + (size < largestK ? issues : 0), 0),
      ungraded_candidates: this.without.candidates,
      ungraded_issues: this.without.issues,
      without_patch: this.withoutPatch,
      known: Object.fromEntries(this.known),
    };
  }
}
