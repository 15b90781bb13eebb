import { countRight, type ScoredIssue } from '../curves/scored-issue.js';
import { wilson, type Interval } from './binomial.js';

export interface RepositoryRow {
  readonly repo: string;
  readonly issues: number;
  readonly candidates: number;
  /** Mean share of right candidates. */
  readonly pass_at_1: number;
  /** Share of issues with a right candidate among all they have. */
  readonly pass_at_all: number;
  /** The patches really returned from all candidates, by preset in the report's order; Wilson interval. */
  readonly picked: readonly ({
    readonly preset: string;
    readonly resolved: number;
    readonly rate: number;
  } & Interval)[];
}

interface Sums {
  issues: number;
  candidates: number;
  first: number;
  any: number;
  readonly picked: number[];
}

/** What each repository's issues come to. */
export class ByRepository {
  private readonly repos = new Map<string, Sums>();

  constructor(private readonly presets: readonly string[]) {}

  /** @param picks whether each preset's pick is right, in the presets' order */
  add(issue: ScoredIssue, picks: readonly boolean[]): void {
    const { repo, candidates } = issue;
    const sums = this.repos.get(repo) ?? {
      issues: 0,
      candidates: 0,
      first: 0,
      any: 0,
      picked: this.presets.map(() => 0),
    };
    this.repos.set(repo, sums);
    const right = countRight(issue);
    sums.issues += 1;
    sums.candidates += candidates.length;
    sums.first += candidates.length === 0 ? 0 : right / candidates.length;
    sums.any += Number(right > 0);
    for (const [index, isRight] of picks.entries()) sums.picked[index] = (sums.picked[index] ?? 0) + Number(isRight);
  }

  /** Most issues first, then by name. */
  report(): RepositoryRow[] {
    return [...this.repos]
      .sort(([a, { issues: ofA }], [b, { issues: ofB }]) => ofB - ofA || (a < b ? -1 : 1))
      .map(([repo, { issues, candidates, first, any, picked }]) => ({
        repo,
        issues,
        candidates,
        pass_at_1: first / issues,
        pass_at_all: any / issues,
        picked: this.presets.map((preset, index) => {
          const resolved = picked[index] ?? 0;
          return { preset, resolved, rate: resolved / issues, ...wilson(resolved, issues) };
        }),
      }));
  }
}
