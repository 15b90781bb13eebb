import { contentKey } from '../../core/identifier.js';
import { RunConflictError } from '../../core/errors/errors.js';
import { RunRequest } from '../../core/run/run-request.js';
import { RunResult } from '../../core/run/run-result.js';
import { poolOfRun } from '../../runs/entries.js';
import { type ReportMade, ReportMaker, type ReportWish } from '../../runs/run-intake.js';
import type { RunService } from '../../runs/run-service.js';
import type { ReportStore } from '../../ports/benchmark-store.js';
import type { Run } from '../../ports/run-store.js';
import type { BenchmarkReport } from '../../reports/benchmark/headline.js';
import type { Benchmarked } from '../../reports/benchmark/make-benchmark.js';
import type { Place } from '../../reports/figures.js';
import type { ReportedRun } from '../../reports/benchmark/reported-run.js';
import { reportLines, type ReportLines } from './threaded-reports.js';

const RESAMPLES = 2_000;
const DRAWS = 100;
const ID_LENGTH = 32;

/** Links to the viewer's pages. */
const VIEWER: Place = {
  back: { href: '/#/reports', text: 'Reports' },
  run: (id) => `/#/runs/${encodeURIComponent(id)}`,
};

/** Reports on runs in the store. The code that computes and draws them is loaded with the first report. */
export class StoredRunReports extends ReportMaker {
  constructor(
    private readonly runs: Pick<RunService, 'get'>,
    private readonly store: ReportStore,
  ) {
    super();
  }

  override async make(upload: AsyncIterable<Uint8Array>, wish: ReportWish): Promise<ReportMade> {
    return this.makeOf(await reportLines(upload), wish);
  }

  /** `make`, for lines that have been read. @throws as `make` */
  async makeOf(lines: ReportLines, { title, presets }: ReportWish): Promise<ReportMade> {
    const here = await this.benchmarked([...lines.runs], lines.labels, title);
    const other =
      lines.against.size === 0 ? null : await this.benchmarked([...lines.against], lines.labels, 'the others');
    const report = await reportOf(here, other, presets);
    const { benchmarkHtml } = await import('../../reports/benchmark/write-benchmark.js');
    const id = contentKey(report).slice(0, ID_LENGTH);
    await this.store.put({ id, title, document: JSON.stringify(report), page: await benchmarkHtml(report, VIEWER) });
    return { id, title, runs: here.runs.length, labelled: here.issues.length };
  }

  private async benchmarked(
    ids: readonly string[],
    labels: ReportLines['labels'],
    title: string,
  ): Promise<Benchmarked> {
    const { benchmarkOf } = await import('../../reports/benchmark/read-benchmark.js');
    const runs: ReportedRun[] = [];
    for (const id of ids) runs.push(reported(await this.runs.get(id)));
    return benchmarkOf(runs, labels, title);
  }
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
