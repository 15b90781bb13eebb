import { basename, join } from 'node:path';
import { armsReport, type ArmsReport, writeArmsReport } from '../../reports/benchmark/arms-report.js';
import { type ArmRuns, readArm } from '../../reports/benchmark/arms.js';
import { makeBenchmark } from '../../reports/benchmark/make-benchmark.js';
import { defaultPresets, REFERENCES } from '../../reports/benchmark/presets.js';
import { benchmarkOf } from '../../reports/benchmark/read-benchmark.js';
import { writeBenchmark } from '../../reports/benchmark/write-benchmark.js';
import type { BenchState } from './bench-plan.js';

const DEFAULTS = { ks: null, resamples: 2000, seed: 1, draws: 100, references: REFERENCES };

/** What the arms left so far, as a report. @throws BadInputError naming a damaged file */
export async function readBench(
  out: string,
  { plan, instances }: BenchState,
): Promise<{ readonly arms: readonly ArmRuns[]; readonly report: ArmsReport }> {
  const arms: ArmRuns[] = [];
  for (const { name } of plan.arms) arms.push(await readArm(out, name, instances));
  return { arms, report: armsReport(titleOf(plan), arms, instances) };
}

function titleOf({ title, dataset }: BenchState['plan']): string {
  return title ?? basename(dataset);
}

/** Writes the report of all arms into `report/`, and one of each arm into a folder of its name there. */
export async function reportBench(out: string, state: BenchState): Promise<ArmsReport> {
  const { arms, report } = await readBench(out, state);
  for (const { name, runs, labels } of arms) {
    if (runs.length === 0) continue;
    const benchmarked = benchmarkOf(runs, labels, `${report.title}: ${name}`);
    const options = { ...DEFAULTS, presets: defaultPresets(benchmarked.issues) };
    await writeBenchmark(join(out, 'report', name), makeBenchmark(benchmarked, null, options));
  }
  await writeArmsReport(join(out, 'report'), report);
  return report;
}
