import type { Preset } from '../../core/run/preset.js';
import { bestAtK, type BestOptions } from './best-at-k.js';
import { countRight, type LabelledEntry, passAtK, type ScoredIssue } from './scored-issue.js';

/** A numeric column and the limits to try, e.g. context tokens and 16384, 32768. */
export interface Axis {
  readonly name: string;
  readonly limits: readonly number[];
}

export interface AxisRow {
  readonly limit: number;
  /** Share of the candidates within the limit. */
  readonly within: number;
  readonly pass_at_1: number;
  readonly pass_at_k: number;
  readonly presets: readonly { readonly preset: string; readonly best_at_k: number }[];
}

export interface AxisReport {
  readonly axis: string;
  readonly k: number;
  /** Candidates without a value; they count as over every limit. */
  readonly unknown: number;
  readonly rows: readonly AxisRow[];
}

/** Pass@K and Best@K if every run that went over a limit had returned nothing. */
export class AxisCurve {
  private readonly sums;
  private issues = 0;
  private candidates = 0;
  private unknown = 0;

  constructor(
    private readonly axis: Axis,
    private readonly presets: readonly Preset[],
    private readonly k: number,
    private readonly options: BestOptions,
  ) {
    this.sums = axis.limits.map((limit) => ({ limit, within: 0, first: 0, any: 0, best: presets.map(() => 0) }));
  }

  add(issue: ScoredIssue): void {
    this.issues += 1;
    this.candidates += issue.candidates.length;
    const { name } = this.axis;
    this.unknown += issue.candidates.filter(({ axes }) => (axes[name] ?? null) === null).length;
    const n = issue.candidates.length;
    if (n === 0) return;
    const k = Math.min(this.k, n);
    for (const sum of this.sums) {
      const limited = { ...issue, candidates: issue.candidates.map((each) => cutOff(each, name, sum.limit)) };
      const right = countRight(limited);
      sum.within += limited.candidates.filter(({ axes }) => isWithin(axes[name], sum.limit)).length;
      sum.first += right / n;
      sum.any += passAtK(n, right, k);
      const best = this.presets.map((preset) => bestAtK(limited, preset, [k], this.options).values[0] ?? 0);
      sum.best = sum.best.map((total, index) => total + (best[index] ?? 0));
    }
  }

  report(): AxisReport {
    const mean = (sum: number): number => (this.issues === 0 ? 0 : sum / this.issues);
    return {
      axis: this.axis.name,
      k: this.k,
      unknown: this.unknown,
      rows: this.sums.map(({ limit, within, first, any, best }) => ({
        limit,
        within: this.candidates === 0 ? 0 : within / this.candidates,
        pass_at_1: mean(first),
        pass_at_k: mean(any),
        presets: this.presets.map(({ name }, index) => ({ preset: name, best_at_k: mean(best[index] ?? 0) })),
      })),
    };
  }
}

function isWithin(value: number | null | undefined, limit: number): boolean {
  return value !== null && value !== undefined && value <= limit;
}

function cutOff(candidate: LabelledEntry, axis: string, limit: number): LabelledEntry {
  if (isWithin(candidate.axes[axis], limit)) return candidate;
  return { ...candidate, resolved: false, entry: { ...candidate.entry, has_source_change: false } };
}
