import { changeOf } from '../../../verifiers/hybrid/entry.js';
import { type Interval, wilson } from '../intervals/binomial.js';
import type { BestCurve } from './best-at-k.js';
import type { ScoredIssue } from './scored-issue.js';

interface EqualBestRow {
  readonly preset: string;
  /** The smallest requested k whose Best@k reaches the target; null if none does. */
  readonly k: number | null;
  /** k times the mean cost of a candidate; null without costs. */
  readonly cost: number | null;
}

export interface EqualBestReport {
  /** Best@K of the weakest preset other than `random` at the largest k. */
  readonly target: number;
  readonly reached_by: string;
  readonly mean_candidate_cost: number | null;
  readonly presets: readonly EqualBestRow[];
}

interface PresetCurve {
  readonly preset: string;
  /** Best@k, in the order of the requested ks. */
  readonly best: readonly number[];
}

/** How many candidates each preset needs, and at what cost, to reach the same Best@K; null without a preset to compare. */
export function costAtEqualBest(
  curves: readonly PresetCurve[],
  ks: readonly number[],
  meanCost: number | null,
): EqualBestReport | null {
  const last = ({ best }: PresetCurve): number => best.at(-1) ?? 0;
  const weakest = curves.filter(({ preset }) => preset !== 'random').sort((a, b) => last(a) - last(b))[0];
  if (weakest === undefined) return null;
  const target = last(weakest);
  return {
    target,
    reached_by: weakest.preset,
    mean_candidate_cost: meanCost,
    presets: curves.map(({ preset, best }) => {
      const index = best.findIndex((value) => value >= target - 1e-12);
      const k = ks[index] ?? null;
      return { preset, k, cost: k === null || meanCost === null ? null : k * meanCost };
    }),
  };
}

export interface DistinctRow {
  /** Distinct patches among the issue's candidates, not counting empty ones. */
  readonly distinct: number;
  readonly issues: number;
  /** Mean share of right candidates. */
  readonly pass_at_1: number;
  /** Patches returned by each preset; Wilson intervals. */
  readonly picked: readonly ({ readonly preset: string; readonly rate: number } & Interval)[];
}

/**
 * Resolve rate by the number of distinct patches among the candidates: agreement between them is a free confidence signal.
 */
export class DistinctPatches {
  private readonly rows = new Map<number, { issues: number; pass: number; right: number[] }>();

  constructor(private readonly presets: readonly string[]) {}

  /** @param picks whether each preset's pick is right, in the presets' order */
  add({ candidates }: ScoredIssue, passAt1: number, picks: readonly boolean[]): void {
    const known = candidates.flatMap(({ entry }) => changeOf(entry) ?? []);
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

/** Chances that differ by less are the same value computed in two ways. */
const ROUNDING = 1e-9;

/** Finds presets that no issue distinguishes: equal Best@K at every K, and equally right picks from all candidates. */
export class Alike {
  /** Groups of indices into `presets`; groups of one are dropped. */
  private groups: readonly (readonly number[])[];

  constructor(private readonly presets: readonly string[]) {
    this.groups = [presets.map((_, index) => index)];
  }

  /**
   * @param curves of one issue
   * @param picks whether each preset's pick is right; both in the presets' order
   */
  add(curves: readonly BestCurve[], picks: readonly boolean[]): void {
    const isSame = (a: number, b: number): boolean =>
      picks[a] === picks[b] && areEqual(curves[a]?.values, curves[b]?.values);
    this.groups = this.groups.flatMap((group) => split(group, isSame));
  }

  report(): string[][] {
    return this.groups
      .filter((group) => group.length > 1)
      .map((group) => group.map((index) => this.presets[index] ?? ''));
  }
}

function split(group: readonly number[], isSame: (a: number, b: number) => boolean): readonly (readonly number[])[] {
  const [first, ...others] = group;
  if (first === undefined || others.length === 0) return [];
  const same = others.filter((other) => isSame(first, other));
  if (same.length === others.length) return [group];
  return [
    [first, ...same],
    ...split(
      others.filter((other) => !isSame(first, other)),
      isSame,
    ),
  ];
}

function areEqual(a: Float64Array | undefined, b: Float64Array | undefined): boolean {
  if (a === b) return true;
  return a?.every((value, index) => Math.abs(value - (b?.[index] ?? NaN)) < ROUNDING) === true;
}
