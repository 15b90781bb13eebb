import type { CurvesReport } from '../../statistics/curves/curves-report.js';
import type { PairedReport } from '../../statistics/intervals/paired-tests.js';
import type { RepositoryRow } from '../../statistics/intervals/bootstrap.js';
import type { Interval } from '../../statistics/intervals/binomial.js';
import type { Gaps } from './reported-run.js';
import type { Headline } from './headline.js';
import type { Origins, Spending } from './spending.js';

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
