import { RunNotFoundError } from '../core/errors/errors.js';
import type { BenchmarkRun, BenchmarkStore, RunEffort } from '../ports/benchmark-store.js';
import { type Outcome, WAITING } from '../reports/benchmark/arms.js';
import { armsCsv, armsPage, armsReport, armsText } from '../reports/benchmark/arms-report.js';
import { BenchmarkReports } from '../runs/benchmark-service.js';
import { BenchmarkPlan } from './plan.js';

/** Reports of benchmarks in the store: the same figures as of a folder. */
export class StoredBenchmarkReports extends BenchmarkReports {
  constructor(private readonly store: BenchmarkStore) {
    super();
  }

  override async make(id: string, format: 'json' | 'html' | 'csv' | 'text'): Promise<string> {
    const benchmark = await this.store.get(id);
    if (benchmark === null || benchmark.plan === null) {
      throw new RunNotFoundError(`There is no benchmark "${id}".`, 'List the benchmarks to see which exist.');
    }
    const { arms, instances, skipped } = BenchmarkPlan.parse(benchmark.plan);
    const [runs, efforts] = await Promise.all([this.store.runs(id), this.store.efforts(id)]);
    const outcomes = arms.map(({ name }) => {
      const of = new Map<string, Outcome>(instances.map((instance) => [instance, WAITING]));
      for (const { arm, instance_id, reason } of skipped)
        if (arm === name) of.set(instance_id, { ...WAITING, state: 'failed', code: 'bad-input', reason });
      for (const run of runs) if (run.arm === name) of.set(run.instance_id, outcomeOf(run, efforts.get(run.id)));
      return { name, outcomes: of };
    });
    const report = armsReport(benchmark.title, outcomes, instances);
    if (format === 'json') return `${JSON.stringify(report)}\n`;
    if (format === 'text') return `${armsText(report)}\n`;
    return format === 'csv' ? armsCsv(report) : armsPage(report);
  }
}

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
    ...(effort ?? NO_EFFORT),
    graded: run.graded ?? 0,
    right_candidates: run.right_candidates ?? 0,
    folder: `/#/runs/${run.id}`,
  };
}
