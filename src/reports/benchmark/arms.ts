import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { requestedRule } from '../../../verifiers/hybrid/presets.js';
import type { RunRequest } from '../../core/run/run-request.js';
import { type RunResult, tokensOfRun } from '../../core/run/run-result.js';
import { readRecords, readTextNow } from '../../io/records/records.js';
import type { GradedRun } from '../../ports/benchmark-store.js';
import type { BenchmarkCurve } from '../../runs/benchmark-service.js';
import { poolOfRun } from '../../runs/entries.js';
import { bestAtK, passAtK } from '../../statistics/curves/best-at-k.js';
import { splitByLabel } from '../../statistics/curves/scored-issue.js';
import { type Interval, wilson, wilsonInterval } from '../../statistics/intervals/binomial.js';
import { holm, mcnemar } from '../../statistics/intervals/paired-tests.js';
import { type Labels, type LabelsByInstance, readAllLabels } from '../label-book.js';
import { isQuick } from './presets.js';
import { readAll } from './read-benchmark.js';
import { isReplaced } from '../../io/saved-runs/saved-files.js';
import type { ReportedRun } from './reported-run.js';

/** Outcome of one issue in one arm. */
export interface Outcome {
  readonly state: 'selected' | 'none' | 'failed' | 'waiting';
  /** Why there is no selection. */
  readonly code: string | null;
  readonly reason: string | null;
  readonly candidate_id: string | null;
  /** Whether the selected patch resolves the issue; false if none is returned. Null = unknown, or not graded. */
  readonly right: boolean | null;
  /** Why the selected patch's label is unknown; null = it is known, there is none, or the reason is not at hand. */
  readonly unknown_because: string | null;
  readonly confidence: number | null;
  readonly stage: string | null;
  readonly k: number | null;
  readonly distinct_patches: number | null;
  /** Number of test executions on patches. */
  readonly executions: number | null;
  /** Number of candidates with a known label, and how many of them are right. */
  readonly graded: number;
  readonly right_candidates: number;
  /** Number of candidates whose label is unknown although they were graded. */
  readonly unknown: number;
  readonly tokens: number | null;
  readonly usd: number | null;
  /** Folder of the run's report, relative to the benchmark's folder. */
  readonly folder: string | null;
}

/** An arm's current outcomes, by instance. */
export interface ArmOutcomes {
  readonly name: string;
  readonly outcomes: ReadonlyMap<string, Outcome>;
}

/** An arm as read from its folder. */
export interface ArmRuns extends ArmOutcomes {
  readonly runs: readonly ReportedRun[];
  readonly labels: LabelsByInstance;
}

const SkippedLine = z.object({ instance_id: z.string(), reason: z.string(), code: z.string() });

/**
 * Reads an arm's results for some instances, finished or not.
 * @throws BadInputError naming a damaged file
 */
export async function readArm(out: string, name: string, instances: readonly string[]): Promise<ArmRuns> {
  const folder = join(out, 'arms', name);
  const wanted = new Set(instances);
  const folders = existsSync(folder)
    ? readdirSync(folder)
        .sort()
        .map((each) => join(folder, each))
    : [];
  const all = readAll(folders.filter((each) => existsSync(join(each, 'selection.json'))));
  const runs = all.filter(({ request: { issue }, folder: own }) => {
    return wanted.has(issue.instance_id) && !isReplaced(own, issue.instance_id);
  });
  const labelFile = join(folder, 'graded', 'labels.jsonl');
  const labels = existsSync(labelFile) ? await readAllLabels(labelFile) : new Map<string, Labels>();
  const outcomes = new Map<string, Outcome>(instances.map((id) => [id, WAITING]));
  for await (const { instance_id, reason, code } of skippedLines(join(folder, 'skipped.jsonl'))) {
    if (wanted.has(instance_id))
      outcomes.set(instance_id, { ...WAITING, state: code === 'not-begun' ? 'waiting' : 'failed', code, reason });
  }
  for (const run of runs) {
    const id = run.request.issue.instance_id;
    outcomes.set(id, outcomeOf(run, labels.get(id) ?? null, relative(out, run.folder)));
  }
  return { name, runs, labels, outcomes };
}

async function* skippedLines(file: string): AsyncGenerator<z.infer<typeof SkippedLine>> {
  if (!existsSync(file) || (await readFile(file, 'utf8')) === '') return;
  for await (const { value } of readRecords(file)) yield SkippedLine.parse(value);
}

/** Outcome of an issue without any result yet. */
export const WAITING: Outcome = {
  state: 'waiting',
  ...{ code: null, reason: null, candidate_id: null, right: null, unknown_because: null },
  ...{ confidence: null, stage: null, k: null },
  ...{
    distinct_patches: null,
    executions: null,
    graded: 0,
    right_candidates: 0,
    unknown: 0,
    tokens: null,
    usd: null,
    folder: null,
  },
};

const NOT_SELECTED = { candidate_id: null, confidence: null, deciding_stage: null };

function outcomeOf(
  { folder, entries, statistics, usage, selected }: ReportedRun,
  labels: Labels | null,
  place: string,
): Outcome {
  const matrix = join(folder, 'matrix.jsonl');
  const { candidate_id, confidence, deciding_stage: stage } = selected ?? NOT_SELECTED;
  return {
    state: candidate_id === null ? 'none' : 'selected',
    ...{ code: null, reason: null, candidate_id, confidence, stage, folder: place },
    ...labelledOutcome(entries, candidate_id, labels ?? NO_LABELS),
    k: entries.length,
    distinct_patches: statistics?.distinct_patches ?? null,
    executions: existsSync(matrix)
      ? readTextNow(matrix)
          .split('\n')
          .filter((line) => line !== '').length
      : 0,
    tokens: tokensOfRun(usage),
    usd: usage.cost_usd,
  };
}

const NO_LABELS: Labels = new Map();

function labelledOutcome(entries: ReportedRun['entries'], selected: string | null, labels: Labels) {
  const given = entries.flatMap(({ id }) => labels.get(id) ?? []);
  const known = given.filter(({ resolved }) => resolved !== null);
  const none = { resolved: known.length === 0 ? null : false, reason: null };
  const label = selected === null ? none : labels.get(selected);
  return {
    right: label?.resolved ?? null,
    unknown_because: label?.reason ?? null,
    graded: known.length,
    right_candidates: known.filter(({ resolved }) => resolved).length,
    unknown: given.length - known.length,
  };
}

/** Summary statistics of an arm. */
export interface ArmSummary {
  readonly arm: string;
  readonly issues: number;
  readonly selected: number;
  readonly without_patch: number;
  readonly failed: number;
  readonly waiting: number;
  /** Over the issues with a known outcome. */
  readonly right: ({ readonly resolved: number; readonly issues: number; readonly rate: number } & Interval) | null;
  /** Over issues with a graded candidate: mean share of right ones, and share of issues with any. */
  readonly pass_at_1: number | null;
  readonly pass_at_all: number | null;
  /** Candidates without a known label, and those among them whose label is unknown although they were graded. */
  readonly ungraded_candidates: number;
  readonly unknown_candidates: number;
  /** Issues whose selected patch was graded and has an unknown label. */
  readonly unknown: number;
  readonly executions: number;
  readonly tokens: number;
  /** Null if no prices are known. */
  readonly usd: number | null;
}

/** Whether the selected patch was graded, without telling whether it is right. */
export function isUnknown({ state, right, unknown, unknown_because }: Outcome): boolean {
  return state === 'selected' && right === null && (unknown_because !== null || unknown > 0);
}

export function summaryOf({ name, outcomes }: ArmOutcomes): ArmSummary {
  const all = [...outcomes.values()];
  const of = (state: Outcome['state']): number => all.filter((each) => each.state === state).length;
  const sum = (value: (outcome: Outcome) => number): number => all.reduce((total, each) => total + value(each), 0);
  const known = all.filter(({ right }) => right !== null);
  const resolved = known.filter(({ right }) => right === true).length;
  const graded = all.filter(({ graded: count }) => count > 0);
  const rate = (value: (outcome: Outcome) => number): number | null =>
    graded.length === 0 ? null : graded.reduce((total, each) => total + value(each), 0) / graded.length;
  return {
    ...{ arm: name, issues: all.length, selected: of('selected'), without_patch: of('none') },
    ...{ failed: of('failed'), waiting: of('waiting') },
    right:
      known.length === 0
        ? null
        : { resolved, issues: known.length, rate: resolved / known.length, ...wilson(resolved, known.length) },
    pass_at_1: rate(({ right_candidates, graded: count }) => right_candidates / count),
    pass_at_all: rate(({ right_candidates }) => Number(right_candidates > 0)),
    ungraded_candidates: sum(({ k, graded: count }) => (k ?? 0) - count),
    unknown_candidates: sum(({ unknown }) => unknown),
    unknown: all.filter(isUnknown).length,
    executions: sum(({ executions }) => executions ?? 0),
    tokens: sum(({ tokens }) => tokens ?? 0),
    usd: all.every(({ usd }) => usd === null) ? null : sum(({ usd }) => usd ?? 0),
  };
}

/** The first arm against another, over the issues whose outcome is known in both. */
interface ArmComparison {
  readonly arm: string;
  readonly issues_in_both: number;
  /** Share right in the first arm minus share right in the other, over those issues. */
  readonly difference: number;
  readonly only_first: number;
  readonly only_other: number;
  /** Exact McNemar test; `p_holm` is Holm-adjusted over the comparisons of this report. */
  readonly p: number;
  readonly p_holm: number;
}

export function comparisonsOf([own, ...others]: readonly ArmOutcomes[]): readonly ArmComparison[] {
  if (own === undefined) return [];
  const found = others.flatMap(({ name: arm, outcomes }) => {
    const pairs = [...own.outcomes].flatMap(([id, { right: a }]) => {
      const b = outcomes.get(id)?.right ?? null;
      return a === null || b === null ? [] : [[a, b] as const];
    });
    if (pairs.length === 0) return [];
    const only_first = pairs.filter(([a, b]) => a && !b).length;
    const only_other = pairs.filter(([a, b]) => !a && b).length;
    const difference = (only_first - only_other) / pairs.length;
    const p = mcnemar(only_first, only_other);
    return [{ arm, issues_in_both: pairs.length, difference, only_first, only_other, p }];
  });
  const adjusted = holm(found.map(({ p }) => p));
  return found.map((each, index) => ({ ...each, p_holm: adjusted[index] ?? 1 }));
}

/** A benchmark of several arms, as stored in `report.json`. */
export interface ArmsReport {
  readonly kind: 'bestk-bench-report';
  readonly schema: 1;
  readonly title: string;
  /** The user's own arm first. */
  readonly arms: readonly ArmSummary[];
  readonly comparisons: readonly ArmComparison[];
  readonly issues: readonly { readonly instance_id: string; readonly arms: Readonly<Record<string, Outcome>> }[];
  readonly failures: readonly {
    readonly arm: string;
    readonly code: string;
    readonly issues: number;
    readonly example: string;
  }[];
}

/** Small enough for milliseconds per run; the sampling error averages out over a benchmark's issues. */
const SUBSETS = { enumerateUpTo: 1_000, draws: 1_000, seed: 1 };
/** Up to this many candidates, every k is computed. */
const EACH_K = 8;

/**
 * The ks computed for `n` candidates: all up to 8, otherwise powers of two and n. For m < n, those below m are in ksOf(m).
 */
export function ksOf(n: number): readonly number[] {
  if (n <= EACH_K) return Array.from({ length: n }, (_, index) => index + 1);
  const powers = Array.from({ length: Math.ceil(Math.log2(n)) }, (_, index) => 2 ** index);
  return [...powers, n];
}

/**
 * Best@k of a run's graded candidates by the rule that decided the run, ties averaged, for {@link ksOf}. Null without a
 * graded candidate, and for rules that would take minutes or that may return nothing because of a minimum confidence.
 */
export function runCurve(
  request: RunRequest,
  result: RunResult,
  labels: ReadonlyMap<string, boolean>,
): readonly number[] | null {
  const { preset, minConfidence, combiner, calibration } = requestedRule(request);
  const { entries, authors } = poolOfRun(request, result);
  const own = splitByLabel(
    entries.map((entry) => ({ entry, resolved: labels.get(entry.id) ?? null, cost: null, axes: {} })),
  );
  if (own.candidates.length === 0 || minConfidence !== null || !preset.stages.every(isQuick)) return null;
  const issue = { instanceId: request.issue.instance_id, repo: '', authors, ...own };
  const knowledge = () => ({ combiner, calibration });
  return [...bestAtK(issue, preset, ksOf(own.candidates.length), { ...SUBSETS, knowledge }).values];
}

/** Curves of an arm over its graded issues; an issue with fewer than k candidates counts with all of them. */
export function armCurve(arm: string, runs: readonly GradedRun[]): BenchmarkCurve {
  const known = runs.filter(({ right }) => right !== null);
  const graded = runs.filter((run) => run.graded > 0);
  const knowsBest = graded.every(({ best }) => best !== null);
  return {
    arm,
    issues: graded.length,
    unknown: runs.length - known.length,
    selected: known.length === 0 ? null : { ...meanOf(known.map(({ right }) => Number(right))), issues: known.length },
    points: ksOf(Math.max(0, ...graded.map((run) => run.graded))).map((k) => ({
      k,
      pass_at_k: meanOf(graded.map((run) => passAtK(run.graded, run.right_candidates, Math.min(k, run.graded)))),
      best_at_k: knowsBest ? meanOf(graded.map((run) => bestOf(run, k))) : null,
    })),
  };
}

function bestOf({ graded, best }: GradedRun, k: number): number {
  return best?.[ksOf(graded).indexOf(Math.min(k, graded))] ?? 0;
}

/** For chances, Wilson's interval is conservative: they vary at most as much as binary outcomes. */
function meanOf(chances: readonly number[]): { value: number; low: number; high: number } {
  const sum = chances.reduce((total, chance) => total + chance, 0);
  return { value: sum / chances.length, ...wilsonInterval(sum, chances.length) };
}
