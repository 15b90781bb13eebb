import type { Comparison } from '../../statistics/intervals/comparisons.js';
import type { CurvesReport, PresetReport } from '../../statistics/curves/curves-report.js';
import { presetsByBest } from './presets.js';
import type { Spending } from './spending.js';

/** Differences with a smaller adjusted p are taken to be more than chance. */
const SIGNIFICANT = 0.05;

/** What a reader wants to know in ten seconds. */
export interface Headline {
  /** The preset with the highest Best@K of all candidates, `random` apart; null without labels or presets. */
  readonly winner: string | null;
  readonly best_at_k: PresetReport['best_at_k'][string] | null;
  readonly k: number | null;
  /** The next best one, and whether the difference between both can be chance. */
  readonly runner_up: Lead | null;
  readonly over_random: Lead | null;
  readonly pass_at_1: number | null;
  readonly pass_at_k: number | null;
  readonly recovered_headroom: number | null;
  readonly usd_per_issue: number | null;
  readonly tokens_per_issue: number | null;
}

export interface Lead {
  readonly preset: string;
  readonly difference: number;
  readonly low: number | null;
  readonly high: number | null;
  /** Exact McNemar, adjusted for all comparisons of the report (Holm). */
  readonly p_holm: number;
  readonly may_be_chance: boolean;
  readonly minimum_detectable: number;
}

export function headlineOf(curves: CurvesReport | null, spending: Spending | null): Headline {
  return { ...selectionOf(curves), ...costOf(spending) };
}

const NOTHING = {
  winner: null,
  best_at_k: null,
  k: null,
  runner_up: null,
  over_random: null,
  pass_at_1: null,
  pass_at_k: null,
  recovered_headroom: null,
};

function costOf(spending: Spending | null): Pick<Headline, 'usd_per_issue' | 'tokens_per_issue'> {
  if (spending === null) return { usd_per_issue: null, tokens_per_issue: null };
  const { cost_usd, runs_with_cost, tokens_per_issue } = spending;
  return { usd_per_issue: cost_usd === null ? null : cost_usd / runs_with_cost, tokens_per_issue };
}

function selectionOf(curves: CurvesReport | null): Omit<Headline, 'usd_per_issue' | 'tokens_per_issue'> {
  if (curves === null) return NOTHING;
  const k = curves.settings.ks.at(-1) ?? 1;
  const [winner, second] = presetsByBest(curves).filter(({ preset }) => preset !== 'random');
  if (winner === undefined) return NOTHING;
  const rate = (of: number): number | null => curves.pass_at_k[String(of)]?.value ?? null;
  return {
    winner: winner.preset,
    best_at_k: winner.best_at_k[String(k)] ?? null,
    k,
    runner_up: second === undefined ? null : lead(curves, winner.preset, second.preset),
    over_random: lead(curves, winner.preset, 'random'),
    pass_at_1: rate(1),
    pass_at_k: rate(k),
    recovered_headroom: winner.recovered_headroom?.value ?? null,
  };
}

/** How far `preset` is ahead of `other`; null when they were not compared. */
function lead({ comparisons }: CurvesReport, preset: string, other: string): Lead | null {
  const isPair = ({ a, b }: Comparison): boolean => (a === preset && b === other) || (a === other && b === preset);
  const found = comparisons.find(isPair);
  if (found === undefined) return null;
  const { difference, p_holm, minimum_detectable } = found;
  const turned = found.a === preset ? 1 : -1;
  const ends = [difference.low, difference.high].map((end) => (end === null ? null : turned * end));
  const [low = null, high = null] = turned === 1 ? ends : ends.toReversed();
  const rest = { p_holm, may_be_chance: p_holm >= SIGNIFICANT, minimum_detectable };
  return { preset: other, difference: turned * difference.value, low, high, ...rest };
}
