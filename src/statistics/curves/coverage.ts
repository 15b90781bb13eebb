import type { ScoredIssue } from './scored-issue.js';

const MEASURES = [
  'execution_free',
  'regression',
  'reproduction',
  'patch_size',
  'fingerprint',
  'behaviour',
  'solved',
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
  /** Candidates whose hidden tests could not be run; they count as not right. */
  readonly ungraded_candidates: number;
  /** Candidates without a patch to return. */
  readonly without_patch: number;
  /** Candidates about which each thing is known. */
  readonly known: Readonly<Record<(typeof MEASURES)[number], number>>;
}

export class Coverage {
  private readonly repos = new Set<string>();
  private readonly sizes = new Map<number, number>();
  private readonly known = {
    execution_free: 0,
    regression: 0,
    reproduction: 0,
    patch_size: 0,
    fingerprint: 0,
    behaviour: 0,
    solved: 0,
    steps: 0,
    learned: 0,
  };
  private issues = 0;
  private ungraded = 0;
  private withoutPatch = 0;

  add({ repo, candidates }: ScoredIssue): void {
    this.issues += 1;
    if (this.repos.size < 100_000) this.repos.add(repo);
    this.sizes.set(candidates.length, (this.sizes.get(candidates.length) ?? 0) + 1);
    for (const { entry, resolved } of candidates) {
      this.ungraded += Number(resolved === null);
      this.withoutPatch += Number(!entry.has_source_change || entry.applies === false);
      for (const measure of MEASURES) this.known[measure] += Number((entry[measure] ?? null) !== null);
    }
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
      ungraded_candidates: this.ungraded,
      without_patch: this.withoutPatch,
      known: this.known,
    };
  }
}
