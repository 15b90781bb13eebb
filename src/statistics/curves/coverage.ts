import { UNKNOWN } from '../../../verifiers/hybrid/entry.js';
import type { Preset } from '../../core/run/preset.js';
import { bestAtK, type BestOptions, passAtK } from './best-at-k.js';
import { countRight, type LabelledEntry, type ScoredIssue } from './scored-issue.js';
import { UnknownLabels, type UnknownLabelsReport } from './unknown-labels.js';

/** Entry columns that may be unknown; other measures are counted in addition. */
const COLUMNS = [
  'execution_free',
  'regression',
  'reproduction',
  'patch_size',
  'fingerprint',
  'change',
  'syntax',
  'behaviour',
  'solved',
  'observed',
  'beats',
  'steps',
  'learned',
] as const;

/** The data behind the numbers. Issues and candidates count in the denominators, except the ungraded ones. */
export interface CoverageReport {
  readonly issues: number;
  readonly repos: number;
  readonly candidates: number;
  /** Counted as not resolved. */
  readonly issues_without_candidates: number;
  /** Issues with fewer candidates than the largest k; for them, k is capped at their number. */
  readonly issues_below_largest_k: number;
  /** Candidates without a known label; excluded from every rate and from every other count here. */
  readonly ungraded_candidates: number;
  /** Issues of which no candidate has a known label; excluded likewise. */
  readonly ungraded_issues: number;
  /** The same with their reasons. */
  readonly unknown_labels: UnknownLabelsReport;
  /** Candidates without a usable patch. */
  readonly without_patch: number;
  /** Number of candidates for which each column or measure is known. */
  readonly known: Readonly<Record<string, number>>;
}

export class Coverage {
  private readonly repos = new Set<string>();
  private readonly sizes = new Map<number, number>();
  private readonly known = new Map<string, number>(COLUMNS.map((column) => [column, 0]));
  private issues = 0;
  private readonly unknown = new UnknownLabels();
  private withoutPatch = 0;

  /** Counts an issue of which no candidate has a known label. */
  ungraded(issue: ScoredIssue): void {
    this.unknown.add(issue);
  }

  add(issue: ScoredIssue): void {
    const { repo, candidates } = issue;
    this.issues += 1;
    this.unknown.add(issue);
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

  /** Largest number of candidates of any issue. */
  get largest(): number {
    return Math.max(0, ...this.sizes.keys());
  }

  report(largestK: number): CoverageReport {
    const sizes = [...this.sizes];
    const unknown_labels = this.unknown.report();
    return {
      issues: this.issues,
      repos: this.repos.size,
      candidates: sizes.reduce((sum, [size, issues]) => sum + size * issues, 0),
      issues_without_candidates: this.sizes.get(0) ?? 0,
      issues_below_largest_k: sizes.reduce((sum, [size, issues]) => sum + (size < largestK ? issues : 0), 0),
      ungraded_candidates: unknown_labels.candidates,
      ungraded_issues: unknown_labels.issues,
      unknown_labels,
      without_patch: this.withoutPatch,
      known: Object.fromEntries(this.known),
    };
  }
}

/** A numeric column and the limits to try, e.g. context tokens with 16384 and 32768. */
export interface Axis {
  readonly name: string;
  readonly limits: readonly number[];
}

interface AxisRow {
  readonly limit: number;
  /** Share of candidates within the limit. */
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

/** Pass@K and Best@K as if every run that exceeded a limit had returned no patch. */
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
      const limited = { ...issue, candidates: cutOff(issue.candidates, name, sum.limit) };
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

/** Runs over the limit return nothing: they have no verdicts, cast no vote and were not compared with. */
function cutOff(candidates: readonly LabelledEntry[], axis: string, limit: number): readonly LabelledEntry[] {
  const isOver = ({ axes }: LabelledEntry): boolean => !isWithin(axes[axis], limit);
  const over = new Set(candidates.filter(isOver).map(({ entry }) => entry.id));
  return candidates.map((each) => {
    const { entry } = each;
    if (isOver(each))
      return { ...each, resolved: false, entry: { ...UNKNOWN, id: entry.id, has_source_change: false } };
    const beats = entry.beats?.filter((id) => !over.has(id)) ?? null;
    return { ...each, entry: { ...entry, beats } };
  });
}
