import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { readTextNow } from '../../io/records/records.js';
import { Admission } from '../../core/run/verifier.js';
import { Measure } from '../../core/run/verdict.js';
import { Provenance, RunStatistics, Sampling, Selection, Usage } from '../../core/run/run-result.js';
import { TestQuality } from '../../core/run/generated-test.js';
import { GivenRule, ruleFields } from '../../core/run/run-request.js';
import { Entry } from '../../../verifiers/hybrid/entry.js';
import type { PoolInput } from '../../../verifiers/hybrid/pool.js';
import { notExecuted } from '../../runs/score.js';

const RunFile = z.object({
  id: z.string(),
  created_at: z.string(),
  provenance: Provenance,
  sampling: Sampling.nullable().default(null),
  usage: Usage,
  statistics: RunStatistics.nullable().default(null),
  admissions: z.array(Admission),
  test_quality: z.array(TestQuality).default([]),
  entries: z.array(Entry),
  /** As declared by the verifiers; absent in runs of older versions. */
  measures: z.array(Measure).default([]),
  /** Absent in runs of older versions: authors are unknown. */
  test_authors: z.record(z.string(), z.string()).default({}),
  request: z
    .object({
      issue: z.object({ instance_id: z.string(), environment: z.object({ image: z.string() }) }),
      seed: z.int().default(0),
      ...GivenRule.shape,
    })
    .transform((request) => ({ ...request, ...ruleFields(request) })),
});

/** The fields of a verdict that a report counts; scores are in `entries`. */
const VerdictLine = z.object({
  kind: z.enum(['scored', 'abstained']),
  measure: z.string(),
  reason: z.string().optional(),
});

/** The fields of a selection that a report counts. */
const Selected = Selection.pick({ candidate_id: true, deciding_stage: true, confidence: true });
type Selected = z.infer<typeof Selected>;

/** A finished run, read only from its `run.json`, `verdicts.jsonl` and `selection.json`. */
export type ReportedRun = Omit<z.infer<typeof RunFile>, 'test_authors'> & {
  /** What the run selected; null without a `selection.json`. */
  readonly selected: Selected | null;
  /** Author of each generated test, if known. */
  readonly authors: ReadonlyMap<string, string>;
  readonly folder: string;
  readonly verdicts: readonly z.infer<typeof VerdictLine>[];
};

/** The input that the run was decided from. */
export function poolOf({ request, entries, authors }: ReportedRun): PoolInput {
  return { instanceId: request.issue.instance_id, entries, authors };
}

/** @throws BadInputError naming file, line and field if a file is missing, damaged or of an older version */
export function readReportedRun(folder: string): ReportedRun {
  const file = join(folder, 'run.json');
  const run = parsed(RunFile, readTextNow(file), { file });
  const verdictFile = join(folder, 'verdicts.jsonl');
  const verdicts = readTextNow(verdictFile)
    .split('\n')
    .flatMap((line, index) => {
      return line === '' ? [] : [parsed(VerdictLine, line, { file: verdictFile, line: index + 1 })];
    });
  const { test_authors, ...rest } = run;
  const selection = join(folder, 'selection.json');
  const selected = existsSync(selection) ? parsed(Selected, readTextNow(selection), { file: selection }) : null;
  return { ...rest, selected, authors: new Map(Object.entries(test_authors)), folder, verdicts };
}

function parsed<T>(schema: z.ZodType<T>, content: string, place: { readonly file: string; readonly line?: number }): T {
  const again = 'Repeat the command that made it; stored results make this fast.';
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw new BadInputError('is not JSON.', place, again);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [problem] = result.error.issues;
  const field = problem?.path.join('.') ?? '';
  throw new BadInputError(`is damaged or of another version: ${problem?.message ?? ''}.`, { ...place, field }, again);
}

/** Abstention reasons that say nothing about a patch: Docker, a model or a budget failed. */
const INFRASTRUCTURE: ReadonlySet<string> = new Set(['infrastructure', 'model-unavailable', 'budget-spent']);

interface Counted {
  readonly what: string;
  readonly count: number;
}

/** Missing evidence, with reasons. */
export interface Gaps {
  readonly candidates: number;
  /** Number of runs in which no test was executed on any candidate. */
  readonly not_executed: number;
  /** By measure: candidates with a score, and abstentions by reason. */
  readonly measures: readonly {
    readonly measure: string;
    readonly scored: number;
    readonly abstained: readonly (Counted & { readonly infrastructure: boolean })[];
  }[];
  readonly tests: { readonly given: number; readonly admitted: number; readonly refused: readonly Counted[] };
  /** Admitted tests of measured quality that distinguish no candidates. */
  readonly tests_without_information: number;
  /** Rollouts that could not be sampled, by error code. */
  readonly not_sampled: readonly Counted[];
}

export function gapsOf(runs: readonly ReportedRun[]): Gaps {
  const admissions = runs.flatMap((run) => run.admissions);
  const refused = admissions.filter(({ admitted }) => !admitted);
  const quality = runs.flatMap(({ test_quality }) => test_quality);
  return {
    candidates: runs.reduce((sum, { entries }) => sum + entries.length, 0),
    not_executed: runs.filter(({ verdicts }) => notExecuted(verdicts) !== null).length,
    measures: measuresOf(runs),
    tests: {
      given: admissions.length,
      admitted: admissions.length - refused.length,
      refused: most(refused.map(({ reason }) => reason ?? 'was refused')),
    },
    tests_without_information: quality.filter(({ information }) => information === 0).length,
    not_sampled: most(runs.flatMap(({ sampling }) => (sampling?.failed ?? []).map(({ code }) => code))),
  };
}

function measuresOf(runs: readonly ReportedRun[]): Gaps['measures'] {
  const verdicts = runs.flatMap((run) => run.verdicts);
  const measures = [...new Set(verdicts.map(({ measure }) => measure))].sort();
  return measures.map((measure) => {
    const own = verdicts.filter((verdict) => verdict.measure === measure);
    const reasons = own.flatMap((verdict) => (verdict.kind === 'abstained' ? [verdict.reason ?? 'unknown'] : []));
    return {
      measure,
      scored: own.length - reasons.length,
      abstained: most(reasons).map((each) => ({ ...each, infrastructure: INFRASTRUCTURE.has(each.what) })),
    };
  });
}

/** Counts equal strings, most frequent first. */
function most(all: readonly string[]): readonly Counted[] {
  const counts = new Map<string, number>();
  for (const what of all) counts.set(what, (counts.get(what) ?? 0) + 1);
  return [...counts]
    .sort(([a, ofA], [b, ofB]) => ofB - ofA || (a < b ? -1 : 1))
    .map(([what, count]) => ({ what, count }));
}
