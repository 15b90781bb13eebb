import type { CurvesReport, PresetReport } from '../../statistics/curves/curves-report.js';
import type { PairedReport, Comparison } from '../../statistics/intervals/paired-tests.js';
import type { RepositoryRow } from '../../statistics/intervals/bootstrap.js';
import type { Interval } from '../../statistics/intervals/binomial.js';
import type { Gaps } from './reported-run.js';
import type { Origins, Spending } from './spending.js';
import { linesByBest } from './presets.js';

/** A benchmark report as `report.json` holds it; every other form of it is made from this alone. */
export interface BenchmarkReport {
  readonly kind: 'bestk-report';
  readonly schema: 1;
  readonly title: string;
  readonly headline: Headline;
  /** Issues of which no candidate has a label; they are in no rate. */
  readonly issues_without_labels: number;
  /** Folders of runs that had not ended, in order of their names; nothing else here counts them. */
  readonly unfinished: readonly string[];
  /** Null without labels: then nothing is known of right and wrong. */
  readonly curves: CurvesReport | null;
  readonly repositories: readonly RepositoryRow[];
  /** Of issues with several agents, each agent by itself; empty where there are none. */
  readonly agents: readonly AgentRow[];
  /** What the runs themselves returned, by the presets they were made with; null for a score matrix. */
  readonly returned: Returned | null;
  /** Null for a score matrix, which says nothing of them. */
  readonly spending: Spending | null;
  readonly gaps: Gaps | null;
  readonly origins: Origins | null;
  /** Against the runs named to compare with; null when none were. */
  readonly against: Against | null;
}

/** The labelled candidates of one of several agents. */
export interface AgentRow {
  readonly agent: string;
  /** Those with a candidate of it. */
  readonly issues: number;
  readonly candidates: number;
  /** Means over these issues; an issue with fewer candidates than k counts with all it has. */
  readonly pass_at_k: Readonly<Record<string, number>>;
}

export interface Against {
  readonly title: string;
  /** Null when no issue is in both. */
  readonly paired: PairedReport | null;
}

/** The patches that the runs returned. */
export interface Returned {
  readonly runs: number;
  /** Runs that returned no patch, since none was worth returning. */
  readonly without_patch: number;
  /** Of the runs whose issue has labels; null when none has. */
  readonly right: ({ readonly resolved: number; readonly issues: number; readonly rate: number } & Interval) | null;
  /** What is known to be right or wrong of the patches that came with a confidence, the surest first. */
  readonly confidences: readonly { readonly confidence: number; readonly right: boolean }[];
  /** How many runs each stage decided, the most first; `none` = there was nothing to decide. */
  readonly deciding_stages: readonly { readonly stage: string; readonly runs: number }[];
}

/** Differences with a smaller adjusted p are taken to be more than chance. */
const SIGNIFICANT = 0.05;

/** What a reader wants to know in ten seconds. */
export interface Headline {
  /** The user's own preset; null where there is none. */
  readonly own: Own | null;
  /** The preset with the highest Best@K of all candidates, `random` apart; null without labels or presets. */
  readonly winner: string | null;
  readonly best_at_k: PresetReport['best_at_k'][string] | null;
  readonly k: number | null;
  /** The next best one that does not come out the same everywhere, and whether the difference between both can be chance. */
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
  /** Null when it is not among the report's rules, or without labels. */
  readonly best_at_k: PresetReport['best_at_k'][string] | null;
  readonly recovered_headroom: number | null;
  readonly over_random: Lead | null;
  /** How far it is ahead of the winner, where it is another and both were compared. */
  readonly over_winner: Lead | null;
}

export interface Lead {
  readonly preset: string;
  readonly difference: number;
  readonly low: number | null;
  readonly high: number | null;
  /** Exact McNemar of this comparison alone. */
  readonly p: number;
  /** The same, adjusted for all comparisons of the report (Holm). */
  readonly p_holm: number;
  /** How many these are. */
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

/** The user's own rule, where the report has numbers of it. */
export function ownRule({ own }: Headline): string | null {
  return own === null || own.best_at_k === null ? null : own.preset;
}

/** How far `preset` is ahead of `other`; null when they were not compared. */
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
