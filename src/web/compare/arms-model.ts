import type { BenchmarkStanding, CurvesOfArms } from '../../http/benchmarks/benchmarks.controller.js';
import { type BenchmarkRun, type IssueRow, OUTCOMES } from '../benchmarks/benchmark-model.js';
import { count, money, percent, seconds, short } from '../format.js';

type Standing = BenchmarkStanding['arms'][number];

/** All that is known of an arm. */
export interface ArmKnown {
  readonly standing: Standing;
  readonly curve: CurvesOfArms['arms'][number] | undefined;
  /** Those that have ended with an answer. */
  readonly done: readonly BenchmarkRun[];
}

export function armsOf(
  names: readonly string[],
  standing: BenchmarkStanding,
  curves: CurvesOfArms,
  runs: readonly BenchmarkRun[],
): readonly ArmKnown[] {
  return names.flatMap((name) => {
    const own = standing.arms.find(({ arm }) => arm === name);
    if (own === undefined) return [];
    const curve = curves.arms.find(({ arm }) => arm === name);
    return [{ standing: own, curve, done: runs.filter(({ arm, status }) => arm === name && status === 'done') }];
  });
}

type Share = { readonly value: number; readonly low: number; readonly high: number } | null | undefined;

function withInterval(share: Share): string {
  if (share == null) return 'not graded';
  return `${percent(share.value)} (${(share.low * 100).toFixed(1)} to ${(share.high * 100).toFixed(1)})`;
}

function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle)] ?? 0)) / 2;
}

function timeOf(runs: readonly BenchmarkRun[]): string {
  const known = runs.flatMap(({ seconds: spent }) => spent ?? []);
  const middle = median(known);
  if (middle === null) return '–';
  return `${seconds(middle)} (${seconds(known.reduce((sum, each) => sum + each, 0))} in all)`;
}

function costOf({ standing: { cost_usd, tokens, selected, none } }: ArmKnown): string {
  const ended = selected + none;
  if (ended === 0) return '–';
  if (cost_usd === null) return `${short(Math.round(tokens / ended))} tokens (${short(tokens)} in all)`;
  return `${money(cost_usd / ended)} (${money(cost_usd)} in all)`;
}

/** What stands in a line for each arm. */
export const ARM_FACTS: readonly (readonly [string, (arm: ArmKnown) => string])[] = [
  ['Best@K: selected right', ({ curve }) => withInterval(curve?.selected)],
  ['Pass@1: a random candidate', ({ curve }) => withInterval(curve?.points[0]?.pass_at_k)],
  ['Pass@K: a perfect selector', ({ curve }) => withInterval(curve?.points.at(-1)?.pass_at_k)],
  ['Largest K', ({ curve }) => String(curve?.points.at(-1)?.k ?? '–')],
  ['Cost an issue', costOf],
  ['Time an issue, median', ({ done }) => timeOf(done)],
  ['Graded', ({ standing }) => count(standing.graded)],
  ['Right', ({ standing }) => count(standing.right)],
  ['Wrong', ({ standing }) => count(standing.wrong)],
  ['Selected', ({ standing }) => count(standing.selected)],
  ['No patch worth returning', ({ standing }) => count(standing.none)],
  ['Failed', ({ standing: { failed, cancelled, skipped } }) => count(failed + cancelled + skipped)],
  ['Under way', ({ standing: { queued, running } }) => count(queued + running)],
  ['Waiting', ({ standing }) => count(standing.waiting)],
];

/** Issues on which some of these arms is right and another wrong. */
export function disagreed(rows: readonly IssueRow[]): readonly IssueRow[] {
  const disagree = OUTCOMES['arms disagree'];
  return rows.filter(({ runs }) => disagree?.(runs.filter((run) => run !== undefined)) === true);
}

/** Issues that are right in the arm of the row and wrong in that of the column. */
export function winsOf(rows: readonly IssueRow[], arms: number): readonly (readonly number[])[] {
  const each = Array.from({ length: arms }, (_, arm) => arm);
  const wins = (own: number, other: number): number =>
    rows.filter(({ runs }) => runs[own]?.right === true && runs[other]?.right === false).length;
  return each.map((own) => each.map((other) => wins(own, other)));
}

/** Issues of which every one of these arms is known to be right or wrong. */
export function gradedInAll(rows: readonly IssueRow[]): number {
  return rows.filter(({ runs }) => runs.every((run) => (run?.right ?? null) !== null)).length;
}
