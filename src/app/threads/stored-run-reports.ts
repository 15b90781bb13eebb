import { contentKey } from '../../core/identifier.js';
import { RunConflictError } from '../../core/errors/errors.js';
import { RunRequest } from '../../core/run/run-request.js';
import { RunResult } from '../../core/run/run-result.js';
import { poolOfRun } from '../../runs/entries.js';
import type { ReportMade, ReportWish } from '../../runs/run-intake.js';
import type { RunService } from '../../runs/run-service.js';
import type { ReportStore } from '../../ports/benchmark-store.js';
import type { Run } from '../../ports/run-store.js';
import type { BenchmarkReport } from '../../reports/benchmark/headline.js';
import type { Benchmarked } from '../../reports/benchmark/make-benchmark.js';
import type { Place } from '../../reports/figures.js';
import type { ReportedRun } from '../../reports/benchmark/reported-run.js';
import type { ReportLines } from './threaded-reports.js';

const RESAMPLES = 2_000;
const DRAWS = 100;
const ID_LENGTH = 32;

/** Links to the viewer's pages. */
const VIEWER: Place = {
  back: { href: '/#/reports', text: 'Reports' },
  run: (id) => `/#/runs/${encodeURIComponent(id)}`,
};

interface ReportTools {
  readonly runs: Pick<RunService, 'get'>;
  readonly store: ReportStore;
}

/**
 * Makes and stores a report on stored runs. The code that computes and draws it is loaded with the first report.
 * @throws RunNotFoundError, RunConflictError for a run that is not done
 */
export async function makeRunReport(
  lines: ReportLines,
  { title, presets }: ReportWish,
  { runs, store }: ReportTools,
): Promise<ReportMade> {
  const here = await benchmarked(lines, lines.runs, title, runs);
  const other = lines.against.size === 0 ? null : await benchmarked(lines, lines.against, 'the others', runs);
  const report = await reportOf(here, other, presets);
  const { benchmarkHtml } = await import('../../reports/benchmark/write-benchmark.js');
  const id = contentKey(report).slice(0, ID_LENGTH);
  await store.put({ id, title, document: JSON.stringify(report), page: await benchmarkHtml(report, VIEWER) });
  const unknown_labels = report.unknown_labels.candidates;
  return { id, title, runs: here.runs.length, labelled: here.issues.length, unknown_labels, notes: [...lines.notes] };
}

async function benchmarked(
  { labels }: ReportLines,
  ids: Iterable<string>,
  title: string,
  from: ReportTools['runs'],
): Promise<Benchmarked> {
  const { benchmarkOf } = await import('../../reports/benchmark/read-benchmark.js');
  const runs: ReportedRun[] = [];
  for (const id of ids) runs.push(reported(await from.get(id)));
  return benchmarkOf(runs, labels, title);
}

async function reportOf(
  here: Benchmarked,
  other: Benchmarked | null,
  presets: string | null,
): Promise<BenchmarkReport> {
  const { makeBenchmark } = await import('../../reports/benchmark/make-benchmark.js');
  const { defaultRules, namedRules } = await import('../../reports/benchmark/presets.js');
  const { findPreset, presetNames } = await import('../../../verifiers/hybrid/presets.js');
  const rules =
    presets === null
      ? defaultRules(here.issues, here.runs)
      : namedRules(presets, presetNames(presets).map(findPreset), here.runs);
  return makeBenchmark(here, other, {
    ...rules,
    ks: null,
    resamples: RESAMPLES,
    seed: 1,
    draws: DRAWS,
  });
}

/** A stored run in the form of its `run.json` and `verdicts.jsonl`. @throws RunConflictError unless it is done */
function reported(run: Run): ReportedRun {
  if (run.result === null)
    throw new RunConflictError(`Run "${run.id}" is ${run.status}.`, 'Report on runs that are done.');
  const request = RunRequest.parse(run.request);
  const result = RunResult.parse(run.result);
  const { entries, authors } = poolOfRun(request, result);
  const about = { id: run.id, created_at: run.created_at, folder: `run ${run.id}` };
  return { ...result, ...about, request, selected: result.selection, entries: [...entries], authors };
}
