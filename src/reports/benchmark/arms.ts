import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { tokensOfRun } from '../../core/run/run-result.js';
import { readRecords, readTextNow } from '../../io/records/records.js';
import { type Interval, wilson } from '../../statistics/intervals/binomial.js';
import { holm, mcnemar } from '../../statistics/intervals/paired-tests.js';
import { type LabelsByInstance, readAllLabels } from '../labels.js';
import { readAll, runFolders } from './read-benchmark.js';
import type { ReportedRun } from './reported-run.js';

/** What became of one issue in one arm. */
export interface Outcome {
  readonly state: 'selected' | 'none' | 'failed' | 'waiting';
  /** Why there is no selection. */
  readonly code: string | null;
  readonly reason: string | null;
  readonly candidate_id: string | null;
  /** Whether the selected patch resolves the issue; to return none is not right. Null = not graded. */
  readonly right: boolean | null;
  readonly confidence: number | null;
  readonly stage: string | null;
  readonly k: number | null;
  readonly distinct_patches: number | null;
  /** Executions of a test on a patch. */
  readonly executions: number | null;
  /** Of its candidates: those with a label, and of them those that are right. */
  readonly graded: number;
  readonly right_candidates: number;
  readonly tokens: number | null;
  readonly usd: number | null;
  /** Of the run's report, from the benchmark's folder. */
  readonly folder: string | null;
}

/** An arm as it stands. */
export interface ArmOutcomes {
  readonly name: string;
  readonly outcomes: ReadonlyMap<string, Outcome>;
}

/** An arm as a folder has it. */
export interface ArmRuns extends ArmOutcomes {
  readonly runs: readonly ReportedRun[];
  readonly labels: LabelsByInstance;
}

const SkippedLine = z.object({ instance_id: z.string(), reason: z.string(), code: z.string() });

/** Reads what an arm left of some instances, finished or not. @throws BadInputError naming a damaged file */
export async function readArm(out: string, name: string, instances: readonly string[]): Promise<ArmRuns> {
  const folder = join(out, 'arms', name);
  const wanted = new Set(instances);
  const folders = existsSync(folder) ? await runFolders([folder], true) : [];
  const all = readAll(folders.filter((each) => existsSync(join(each, 'selection.json'))));
  const runs = all.filter(({ request }) => wanted.has(request.issue.instance_id));
  const labelFile = join(folder, 'graded', 'labels.jsonl');
  const labels = existsSync(labelFile) ? await readAllLabels(labelFile) : new Map<string, Map<string, boolean>>();
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

/** Of an issue that nothing is known of. */
export const WAITING: Outcome = {
  state: 'waiting',
  ...{ code: null, reason: null, candidate_id: null, right: null, confidence: null, stage: null, k: null },
  ...{
    distinct_patches: null,
    executions: null,
    graded: 0,
    right_candidates: 0,
    tokens: null,
    usd: null,
    folder: null,
  },
};

const NOT_SELECTED = { candidate_id: null, confidence: null, deciding_stage: null };

function outcomeOf(
  { folder, entries, statistics, usage, selected }: ReportedRun,
  labels: ReadonlyMap<string, boolean> | null,
  place: string,
): Outcome {
  const matrix = join(folder, 'matrix.jsonl');
  const { candidate_id, confidence, deciding_stage: stage } = selected ?? NOT_SELECTED;
  const known = entries.flatMap(({ id }) => labels?.get(id) ?? []);
  const nothing = labels === null ? null : false;
  return {
    state: candidate_id === null ? 'none' : 'selected',
    ...{ code: null, reason: null, candidate_id, confidence, stage, folder: place },
    right: candidate_id === null ? nothing : (labels?.get(candidate_id) ?? null),
    k: entries.length,
    distinct_patches: statistics?.distinct_patches ?? null,
    executions: existsSync(matrix)
      ? readTextNow(matrix)
          .split('\n')
          .filter((line) => line !== '').length
      : 0,
    graded: known.length,
    right_candidates: known.filter(Boolean).length,
    tokens: tokensOfRun(usage),
    usd: usage.cost_usd,
  };
}

/** An arm in numbers. */
export interface ArmSummary {
  readonly arm: string;
  readonly issues: number;
  readonly selected: number;
  readonly without_patch: number;
  readonly failed: number;
  readonly waiting: number;
  /** Of the issues of which it is known. */
  readonly right: ({ readonly resolved: number; readonly issues: number; readonly rate: number } & Interval) | null;
  /** Over issues with a graded candidate: the share that is right, and whether any is. */
  readonly pass_at_1: number | null;
  readonly pass_at_all: number | null;
  readonly ungraded_candidates: number;
  readonly executions: number;
  readonly tokens: number;
  /** Null while no prices are known. */
  readonly usd: number | null;
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
    executions: sum(({ executions }) => executions ?? 0),
    tokens: sum(({ tokens }) => tokens ?? 0),
    usd: all.every(({ usd }) => usd === null) ? null : sum(({ usd }) => usd ?? 0),
  };
}

/** The first arm against another, over the issues of which both are known to be right or wrong. */
export interface ArmComparison {
  readonly arm: string;
  readonly issues_in_both: number;
  /** Right in the first minus right in the other, as a share of those issues. */
  readonly difference: number;
  readonly only_first: number;
  readonly only_other: number;
  /** Exact McNemar; Holm over the comparisons of this report. */
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

/** A benchmark of several arms as `report.json` holds it. */
export interface ArmsReport {
  readonly kind: 'bestk-bench-report';
  readonly schema: 1;
  readonly title: string;
  /** The user's own first. */
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
