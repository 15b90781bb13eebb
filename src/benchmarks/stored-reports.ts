import { z } from 'zod';
import { BadInputError, RunNotFoundError } from '../core/errors/errors.js';
import { grouped } from '../core/grouped.js';
import { RunRequest } from '../core/run/run-request.js';
import { RunResult } from '../core/run/run-result.js';
import type { BenchmarkRun, BenchmarkStore, RunEffort } from '../ports/benchmark-store.js';
import type { RunStore } from '../ports/run-store.js';
import { armCurve, type Outcome, WAITING } from '../reports/benchmark/arms.js';
import { armsCsv, armsDrawings, armsPage, armsReport, armsText } from '../reports/benchmark/arms-report.js';
import type { Place } from '../reports/figures.js';
import { selectedPrediction } from '../reports/write-run.js';
import { type BenchmarkCurves, BenchmarkReports, type ReportFormat } from '../runs/benchmark-service.js';
import { BenchmarkPlan } from './plan.js';

/** Number of benchmarks whose drawings are cached, about 100 kB each. */
const MOST_DRAWINGS = 16;

/** Reports of benchmarks in the store, with the same figures as for a folder. */
export class StoredBenchmarkReports extends BenchmarkReports {
  /** By benchmark, least recently used first. */
  private readonly drawings = new Map<string, { readonly key: string; readonly made: Promise<string> }>();

  constructor(
    private readonly store: BenchmarkStore,
    private readonly runs: RunStore,
  ) {
    super();
  }

  override async predictions(id: string, arm: string | undefined): Promise<AsyncIterable<string>> {
    const { arms } = await this.planOf(id);
    const name = arm ?? arms[0]?.name;
    if (!arms.some((each) => each.name === name)) {
      const next = `Its arms are ${arms.map((each) => each.name).join(', ')}.`;
      throw new BadInputError(`The benchmark has no arm "${name ?? ''}".`, { field: 'arm' }, next);
    }
    return this.linesOf(await this.store.runs(id, { arm: name, statuses: ['done'] }));
  }

  /** One run at a time: each may be megabytes. */
  private async *linesOf(runs: readonly BenchmarkRun[]): AsyncGenerator<string> {
    for (const { id } of runs) {
      const ended = Predicted.safeParse(await this.runs.get(id));
      if (!ended.success) continue;
      const { request, result } = ended.data;
      yield `${JSON.stringify(selectedPrediction(request.preset, result))}\n`;
    }
  }

  override async curves(id: string): Promise<BenchmarkCurves> {
    const { arms } = await this.planOf(id);
    const byArm = grouped(await this.store.graded(id), ({ arm }) => arm);
    return { arms: arms.map(({ name }) => armCurve(name, byArm.get(name) ?? [])) };
  }

  protected async planOf(id: string): Promise<BenchmarkPlan & { readonly title: string }> {
    const benchmark = await this.store.get(id);
    if (benchmark === null || benchmark.plan === null) {
      throw new RunNotFoundError(`There is no benchmark "${id}".`, 'List the benchmarks to see which exist.');
    }
    return { ...BenchmarkPlan.parse(benchmark.plan), title: benchmark.title };
  }

  override async plots(id: string): Promise<string> {
    // The drawings depend only on these counts.
    const key = JSON.stringify(await this.store.counts(id));
    const known = this.drawings.get(id);
    this.drawings.delete(id);
    const made = known?.key === key ? known.made : this.make(id, 'plots');
    this.drawings.set(id, { key, made });
    for (const oldest of [...this.drawings.keys()].slice(0, -MOST_DRAWINGS)) this.drawings.delete(oldest);
    made.catch(() => this.drawings.delete(id));
    return made;
  }

  override async make(id: string, format: ReportFormat): Promise<string> {
    const { title, arms, instances, skipped } = await this.planOf(id);
    const [runs, efforts] = await Promise.all([this.store.runs(id), this.store.efforts(id)]);
    const outcomes = arms.map(({ name }) => {
      const of = new Map<string, Outcome>(instances.map((instance) => [instance, WAITING]));
      for (const { arm, instance_id, reason } of skipped)
        if (arm === name) of.set(instance_id, { ...WAITING, state: 'failed', code: 'bad-input', reason });
      for (const run of runs) if (run.arm === name) of.set(run.instance_id, outcomeOf(run, efforts.get(run.id)));
      return { name, outcomes: of };
    });
    const report = armsReport(title, outcomes, instances);
    if (format === 'json') return `${JSON.stringify(report)}\n`;
    if (format === 'text') return `${armsText(report)}\n`;
    if (format === 'csv') return armsCsv(report);
    const curves = (await this.curves(id)).arms;
    if (format === 'plots') return JSON.stringify(await armsDrawings(report, curves));
    return armsPage(report, placeOf(id), curves);
  }
}

/** The viewer's pages of the benchmark and of its runs, which link back to it. */
function placeOf(id: string): Place {
  const benchmark = encodeURIComponent(id);
  const back = { href: `/#/benchmarks/${benchmark}`, text: 'Benchmark' };
  return { back, run: (run) => `/#/runs/${encodeURIComponent(run)}?benchmark=${benchmark}` };
}

/** A run that has ended; one that was deleted meanwhile is skipped. */
const Predicted = z.object({
  request: RunRequest,
  result: RunResult.pick({ selection: true, patch: true }),
});

const NO_EFFORT = { distinct_patches: null, executions: null };

function failedWith({ code, message: reason }: { readonly code: string; readonly message: string }): Outcome {
  return { ...WAITING, state: 'failed', code, reason };
}

function outcomeOf(run: BenchmarkRun, effort: RunEffort | undefined): Outcome {
  const { status, failure, candidate_id, right, confidence, deciding_stage: stage, k, tokens, cost_usd: usd } = run;
  if (status === 'cancelled') return failedWith({ code: 'cancelled', message: 'It was cancelled.' });
  if (failure !== null) return failedWith(failure);
  if (status !== 'done') return WAITING;
  return {
    state: candidate_id === null ? 'none' : 'selected',
    ...{ code: null, reason: null, candidate_id, right, confidence, stage, k, tokens, usd },
    // The list of runs has no reasons; the page of the run has.
    unknown_because: null,
    unknown: run.ungraded ?? 0,
    ...(effort ?? NO_EFFORT),
    graded: run.graded ?? 0,
    right_candidates: run.right_candidates ?? 0,
    folder: `/#/runs/${run.id}`,
  };
}
