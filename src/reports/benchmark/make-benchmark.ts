import { basename } from 'node:path';
import { type Knowledge, NOTHING_LEARNED } from '../../../verifiers/hybrid/pool.js';
import { requestedRule } from '../../../verifiers/hybrid/presets.js';
import { decideWithConfidence } from '../../../verifiers/hybrid/select.js';
import { grouped } from '../../core/grouped.js';
import type { Preset } from '../../core/run/preset.js';
import { bestAtK, DEFAULT_BEST, passAtK } from '../../statistics/curves/best-at-k.js';
import { Curves, picksRight } from '../../statistics/curves/curves.js';
import { countRight, entriesOf, isUngraded, type ScoredIssue } from '../../statistics/curves/scored-issue.js';
import { unknownLabelsIn } from '../../statistics/curves/unknown-labels.js';
import { wilson } from '../../statistics/intervals/binomial.js';
import { ByRepository } from '../../statistics/intervals/bootstrap.js';
import { type PairedIssue, pairedRuns } from '../../statistics/intervals/paired-tests.js';
import { type Against, type BenchmarkReport, type Returned, headlineOf } from './headline.js';
import { gapsOf, poolOf, type ReportedRun } from './reported-run.js';
import { originsOf, spendingOf } from './spending.js';

/** The input of a report. */
export interface Benchmarked {
  readonly title: string;
  /** Issues with labels, known or unknown. */
  readonly issues: readonly ScoredIssue[];
  readonly unlabelled: number;
  /** Empty for a score matrix. */
  readonly runs: readonly ReportedRun[];
  /** Folders of runs that were unfinished when they were read. */
  readonly unfinished: readonly string[];
}

export interface BenchmarkOptions {
  readonly presets: readonly Preset[];
  /** Names of presets to compare the others with; absent = compare every pair. */
  readonly references?: readonly string[] | undefined;
  /** The preset listed first; it need not be among `presets`. */
  readonly own?: string | null | undefined;
  /** Ascending; null = 1, 2, 4, 8 … and the largest number of candidates of any issue. */
  readonly ks: readonly number[] | null;
  readonly resamples: number;
  readonly seed: number;
  readonly draws: number;
}

/**
 * Makes the whole report. Deterministic: depends only on the input, not on a clock, randomness or the order of files.
 * @throws BadInputError
 */
export function makeBenchmark(
  benchmarked: Benchmarked,
  other: Benchmarked | null,
  options: BenchmarkOptions,
): BenchmarkReport {
  const { title, runs, unlabelled } = benchmarked;
  const issues = benchmarked.issues.toSorted((a, b) => (a.instanceId < b.instanceId ? -1 : 1));
  const counted = count(issues, knowledgeOf(runs), options);
  const curves = counted?.curves.report() ?? null;
  const spending = runs.length === 0 ? null : spendingOf(runs);
  return {
    kind: 'bestk-report',
    schema: 1,
    title,
    headline: headlineOf(curves, spending, options.own),
    issues_without_labels: unlabelled,
    unknown_labels: unknownLabelsIn(issues),
    unfinished: benchmarked.unfinished.map((folder) => basename(folder)).sort(),
    curves,
    repositories: counted?.repositories.report() ?? [],
    agents: agentsIn(issues),
    returned: runs.length === 0 ? null : returnedBy(runs, issues),
    spending,
    gaps: runs.length === 0 ? null : gapsOf(runs),
    origins: runs.length === 0 ? null : originsOf(runs),
    against: other === null ? null : against({ issues, runs }, other, options),
  };
}

type KnowledgeOf = (instanceId: string) => Knowledge;

/** What each instance's run was decided with. */
function knowledgeOf(runs: readonly ReportedRun[]): KnowledgeOf {
  const known = new Map(
    runs.map(({ request: { issue, combiner, calibration } }) => [issue.instance_id, { combiner, calibration }]),
  );
  return (instanceId) => known.get(instanceId) ?? NOTHING_LEARNED;
}

function count(
  issues: readonly ScoredIssue[],
  knowledge: KnowledgeOf,
  { presets, references, ks, resamples, seed, draws }: BenchmarkOptions,
): { readonly curves: Curves; readonly repositories: ByRepository } | null {
  if (issues.every(isUngraded)) return null;
  const best = { ...DEFAULT_BEST, seed, draws, enumerateUpTo: draws, knowledge };
  const curves = new Curves({ ks: ks ?? doubling(issues), presets, references, axes: [], resamples, best });
  const repositories = new ByRepository(presets.map(({ name }) => name));
  for (const issue of issues) {
    const numbers = curves.add(issue);
    if (numbers !== null) repositories.add(issue, numbers.picks);
  }
  return { curves, repositories };
}

/** Powers of two below the largest number of candidates of any issue, and that number. */
function doubling(issues: readonly ScoredIssue[]): readonly number[] {
  return doublingTo(Math.max(1, ...issues.map(({ candidates }) => candidates.length)));
}

function doublingTo(most: number): readonly number[] {
  const below = Array.from({ length: 10 }, (_, power) => 2 ** power).filter((k) => k < most);
  return [...below, most];
}

function agentsIn(issues: readonly ScoredIssue[]): BenchmarkReport['agents'] {
  const counts = issues.flatMap(({ candidates }) =>
    [...grouped(candidates, ({ entry }) => entry.agent)].flatMap(([agent, own]) =>
      agent === undefined ? [] : [{ agent, n: own.length, c: own.filter(({ resolved }) => resolved).length }],
    ),
  );
  return [...grouped(counts, ({ agent }) => agent)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([agent, own]) => {
      const rate = (k: number): number => own.reduce((sum, { n, c }) => sum + passAtK(n, c, Math.min(k, n)), 0);
      const ks = doublingTo(Math.max(...own.map(({ n }) => n)));
      return {
        agent,
        issues: own.length,
        candidates: own.reduce((sum, { n }) => sum + n, 0),
        pass_at_k: Object.fromEntries(ks.map((k) => [String(k), rate(k) / own.length])),
      };
    });
}

type Scored = Pick<Benchmarked, 'issues' | 'runs'>;

function against(here: Scored, other: Benchmarked, options: BenchmarkOptions): Against {
  const issues = other.issues.toSorted((a, b) => (a.instanceId < b.instanceId ? -1 : 1));
  const there = pairable({ issues, runs: other.runs }, options.presets);
  return { title: other.title, paired: pairedRuns(pairable(here, options.presets), there, options) };
}

function pairable({ issues, runs }: Scored, presets: readonly Preset[]): readonly PairedIssue[] {
  const knowledge = knowledgeOf(runs);
  const options = { ...DEFAULT_BEST, knowledge };
  return issues.flatMap((issue) => {
    if (isUngraded(issue)) return [];
    const { instanceId, repo, candidates } = issue;
    const entries = entriesOf(issue);
    const best = presets.map((preset): [Preset, number] => {
      return [preset, bestAtK(issue, preset, [Math.max(1, candidates.length)], options).values[0] ?? 0];
    });
    return {
      instanceId,
      repo,
      any: countRight(issue) > 0,
      best: new Map(best.map(([{ name }, chance]) => [name, chance])),
      picks: new Map(
        best.map(([preset, chance]) => [preset.name, picksRight({ issue, entries }, preset, chance, knowledge)]),
      ),
    };
  });
}

/** What each run's own preset selects from the saved evidence, and how often that is right. */
function returnedBy(runs: readonly ReportedRun[], issues: readonly ScoredIssue[]): Returned {
  const labels: Labels = new Map(
    issues
      .filter((issue) => !isUngraded(issue))
      .map(({ instanceId, candidates }) => [
        instanceId,
        new Map(candidates.map(({ entry, resolved }) => [entry.id, resolved])),
      ]),
  );
  const stages = new Map<string, number>();
  const made = runs.map((run) => pickOf(run, labels));
  for (const { stage } of made) stages.set(stage, (stages.get(stage) ?? 0) + 1);
  const known = made.filter(({ right }) => right !== undefined);
  const resolved = known.filter(({ right }) => right === true).length;
  return {
    runs: runs.length,
    without_patch: made.filter(({ returns }) => !returns).length,
    unknown_labels: made.filter(({ returns, right }) => returns && right === undefined).length,
    right:
      known.length === 0
        ? null
        : { resolved, issues: known.length, rate: resolved / known.length, ...wilson(resolved, known.length) },
    confidences: known
      .flatMap(({ right, confidence }) => (confidence === null ? [] : [{ confidence, right: right === true }]))
      .sort((a, b) => b.confidence - a.confidence || Number(b.right) - Number(a.right)),
    deciding_stages: [...stages]
      .sort(([a, ofA], [b, ofB]) => ofB - ofA || (a < b ? -1 : 1))
      .map(([stage, of]) => ({ stage, runs: of })),
  };
}

type Labels = ReadonlyMap<string, ReadonlyMap<string, boolean>>;

/** What one run returned. A patch without a label is neither right nor wrong; returning none counts as not right. */
function pickOf(run: ReportedRun, labels: Labels) {
  const rule = requestedRule(run.request);
  const { candidate_id, deciding_stage, confidence: worked } = decideWithConfidence(poolOf(run), rule);
  const known = labels.get(run.request.issue.instance_id);
  const stage = deciding_stage ?? 'none';
  if (candidate_id === null) return { stage, returns: false, right: known && false, confidence: null };
  const right = known?.get(candidate_id);
  // The stored confidence if the run returned this patch; otherwise computed, which is slower than deciding, so only if
  // labelled.
  const said = run.selected?.candidate_id === candidate_id ? run.selected.confidence : null;
  const confidence = right === undefined ? null : (said ?? worked());
  return { stage, returns: true, right, confidence };
}
