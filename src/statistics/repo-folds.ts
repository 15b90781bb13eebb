import type { ScoredIssue } from './scored-issue.js';

/**
 * Issues in up to `most` parts of about equal size, a repository never in two: largest repositories first, each to the
 * smallest part so far. Does not depend on the order of the issues.
 */
export function foldsByRepo(issues: readonly ScoredIssue[], most: number): readonly (readonly ScoredIssue[])[] {
  const repos = new Map<string, ScoredIssue[]>();
  for (const issue of issues) {
    const known = repos.get(issue.repo);
    if (known === undefined) repos.set(issue.repo, [issue]);
    else known.push(issue);
  }
  const largestFirst = [...repos].sort(([a, x], [b, y]) => y.length - x.length || (a < b ? -1 : 1));
  const folds: ScoredIssue[][] = Array.from({ length: Math.min(most, repos.size) }, () => []);
  for (const [, own] of largestFirst) {
    const smallest = folds.reduce((a, b) => (b.length < a.length ? b : a), folds[0] ?? []);
    smallest.push(...own);
  }
  return folds.map((fold) => fold.toSorted((a, b) => (a.instanceId < b.instanceId ? -1 : 1)));
}
