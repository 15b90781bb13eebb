import type { ScoredIssue } from './scored-issue.js';
import { wilson, type Interval } from './wilson.js';

export interface DistinctRow {
  /** Distinct patches among the issue's candidates, empty ones not counted. */
  readonly distinct: number;
  readonly issues: number;
  /** Mean share of right candidates. */
  readonly pass_at_1: number;
  /** Of the patches that the presets return; Wilson intervals. */
  readonly picked: readonly ({ readonly preset: string; readonly rate: number } & Interval)[];
}

/** Resolve rate by how many different patches the candidates hold: agreement is a confidence that costs nothing. */
export class DistinctPatches {
  private readonly rows = new Map<number, { issues: number; pass: number; right: number[] }>();

  constructor(private readonly presets: readonly string[]) {}

  /** @param picks whether each preset's pick is right, in the presets' order */
  add({ candidates }: ScoredIssue, passAt1: number, picks: readonly boolean[]): void {
    const known = candidates.flatMap(({ entry }) => entry.fingerprint ?? []);
    if (known.length === 0) return;
    const distinct = new Set(known).size;
    const row = this.rows.get(distinct) ?? { issues: 0, pass: 0, right: this.presets.map(() => 0) };
    row.issues += 1;
    row.pass += passAt1;
    row.right = row.right.map((right, index) => right + Number(picks[index] === true));
    this.rows.set(distinct, row);
  }

  report(): DistinctRow[] {
    return [...this.rows]
      .sort(([a], [b]) => a - b)
      .map(([distinct, { issues, pass, right }]) => ({
        distinct,
        issues,
        pass_at_1: pass / issues,
        picked: this.presets.map((preset, index) => {
          const resolved = right[index] ?? 0;
          return { preset, rate: resolved / issues, ...wilson(resolved, issues) };
        }),
      }));
  }
}
