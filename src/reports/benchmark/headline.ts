import type { CurvesReport, PresetReport } from '../../statistics/curves/curves-report.js';
import type { PairedReport, Comparison } from '../../statistics/intervals/paired-tests.js';
import type { RepositoryRow } from '../../statistics/intervals/bootstrap.js';
import type { UnknownLabelsReport } from '../../statistics/curves/unknown-labels.js';
import type { Interval } from '../../statistics/intervals/binomial.js';
import type { Gaps } from './reported-run.js';
import type { Origins, Spending } from './spending.js';
import { linesByBest } from './presets.js';

/** A benchmark report as stored in `report.json`; all other formats are rendered from it. */
export interface BenchmarkReport {
  readonly kind: 'bestk-report';
  readonly schema: 1;
  readonly title: string;
  readonly headline: Headline;
  /** Issues for which no label was given, not even an unknown one; they are excluded from every rate. */
  readonly issues_without_labels: number;
  /** Candidates of the other issues without a known label; they are excluded from every rate, too. */
  readonly unknown_labels: UnknownLabelsReport;
  /** Folders of unfinished runs, sorted by name; they are excluded from everything else here. */
  readonly unfinished: readonly string[];
  /** Null without a known label. */
  readonly curves: CurvesReport | null;
  readonly repositories: readonly RepositoryRow[];
  /** Per agent, over issues sampled with several agents; empty if there are none. */
  readonly agents: readonly AgentRow[];
  /** What the runs returned, by the presets they were run with; null for a score matrix. */
  readonly returned: Returned | null;
  /** Null for a score matrix, as are the next two: it holds no such data. */
  readonly spending: Spending | null;
  readonly gaps: Gaps | null;
  readonly origins: Origins | null;
  /** Comparison with another set of runs; null if none was requested. */
  readonly against: Against | null;
}

/** Pass@K of one of several agents, from its labelled candidates. */
export interface AgentRow {
  readonly agent: string;
  /** Issues with a candidate of this agent. */
  readonly issues: number;
  readonly candidates: number;
  /** Means over these issues; an issue with fewer than k candidates counts with all of them. */
  readonly pass_at_k: Readonly<Record<string, number>>;
}

export interface Against {
  readonly title: string;
  /** Null if no issue is in both. */
  readonly paired: PairedReport | null;
}

/** The patches returned by the runs. */
export interface Returned {
  readonly runs: number;
  /** Runs that returned no patch because none was worth returning. */
  readonly without_patch: number;
  /** Returned patches without a known label, neither right nor wrong. */
  readonly unknown_labels: number;
  /** Over the runs whose returned patch has a known label, and those that returned none of an issue with one. */
  readonly right: ({ readonly resolved: number; readonly issues: number; readonly rate: number } & Interval) | null;
  /** Returned patches with a confidence and a known outcome, most confident first. */
  readonly confidences: readonly { readonly confidence: number; readonly right: boolean }[];
  /** Number of runs decided by each stage, most first; `none` = there was nothing to decide. */
  readonly deciding_stages: readonly { readonly stage: string; readonly runs: number }[];
}

/** An adjusted p below this counts as more than chance. */
const SIGNIFICANT = 0.05;

/** The report's main findings, for reading in ten seconds. */
export interface Headline {
  /** The user's own preset; null if there is none. */
  readonly own: Own | null;
  /** The preset with the highest Best@K over all candidates, excluding `random`; null without labels or presets. */
  readonly winner: string | null;
  readonly best_at_k: PresetReport['best_at_k'][string] | null;
  readonly k: number | null;
  /** The next best preset that differs from the winner on some issue, and whether the lead may be chance. */
  readonly runner_up: Lead | null;
  readonly over_random: Lead | null;
  readonly pass_at_1: number | null;
  readonly pass_at_k: number | null;
  readonly recovered_headroom: number | null;
  readonly usd_per_issue: number | null;
  readonly tokens_per_issue: number | null;
}

export interface Own {
  readonly preset: string;
  /** Null if it is not among the report's rules, or without labels. */
  readonly best_at_k: PresetReport['best_at_k'][string] | null;
  readonly recovered_headroom: number | null;
  readonly over_random: Lead | null;
  /** Its lead over the winner; null if it is the winner or the two were not compared. */
  readonly over_winner: Lead | null;
}

export interface Lead {
  readonly preset: string;
  readonly difference: number;
  readonly low: number | null;
  readonly high: number | null;
  /** Exact McNemar test of this comparison, unadjusted. */
  readonly p: number;
  /** The same, Holm-adjusted for all comparisons of the report. */
  readonly p_holm: number;
  /** Number of these comparisons. */
  readonly comparisons: number;
  readonly may_be_chance: boolean;
  readonly minimum_detectable: number;
}

export function headlineOf(
  curves: CurvesReport | null,
  spending: Spending | null,
  own: string | null = null,
): Headline {
  const selection = selectionOf(curves);
  return { own: own === null ? null : ownOf(curves, own, selection), ...selection, ...costOf(spending) };
}

type Best = Omit<Headline, 'own' | 'usd_per_issue' | 'tokens_per_issue'>;

function ownOf(curves: CurvesReport | null, preset: string, { winner, k }: Best): Own {
  const found = curves?.presets.find((each) => each.preset === preset);
  if (curves === null || found === undefined) {
    return { preset, best_at_k: null, recovered_headroom: null, over_random: null, over_winner: null };
  }
  return {
    preset,
    best_at_k: found.best_at_k[String(k ?? 1)] ?? null,
    recovered_headroom: found.recovered_headroom?.value ?? null,
    over_random: lead(curves, preset, 'random'),
    over_winner: winner === null || winner === preset ? null : lead(curves, preset, winner),
  };
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

function selectionOf(curves: CurvesReport | null): Best {
  if (curves === null) return NOTHING;
  const k = curves.settings.ks.at(-1) ?? 1;
  const [winner, second] = linesByBest(curves, null).filter(({ preset }) => preset !== 'random');
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

/** The user's own rule, if the report has numbers for it. */
export function ownRule({ own }: Headline): string | null {
  return own === null || own.best_at_k === null ? null : own.preset;
}

/** The lead of `preset` over `other`; null if they were not compared. */
function lead({ comparisons }: CurvesReport, preset: string, other: string): Lead | null {
  const isPair = ({ a, b }: Comparison): boolean => (a === preset && b === other) || (a === other && b === preset);
  const found = comparisons.find(isPair);
  if (found === undefined) return null;
  const { difference, p, p_holm, minimum_detectable } = found;
  const turned = found.a === preset ? 1 : -1;
  const ends = [difference.low, difference.high].map((end) => (end === null ? null : turned * end));
  const [low = null, high = null] = turned === 1 ? ends : ends.toReversed();
  const rest = { p, p_holm, comparisons: comparisons.length, may_be_chance: p_holm >= SIGNIFICANT, minimum_detectable };
  return { preset: other, difference: turned * difference.value, low, high, ...rest };
}
