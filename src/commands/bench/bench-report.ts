import { basename, join } from 'node:path';
import { reportArms } from '../../benchmarks/arm-reports.js';
import type { ArmOutcomes } from '../../reports/benchmark/arms.js';
import type { ArmsReport } from '../../reports/benchmark/arms.js';
import { armsReport, writeArmsReport } from '../../reports/benchmark/arms-report.js';
import type { BenchState } from './bench-plan.js';

/** What the arms left so far, as a report. @throws BadInputError naming a damaged file */
export async function readBench(
  out: string,
  state: BenchState,
): Promise<{ readonly arms: readonly ArmOutcomes[]; readonly report: ArmsReport }> {
  return read(out, state, false);
}

/** Writes the report of all arms into `report/`, and one of each arm into a folder of its name there. */
export async function reportBench(out: string, state: BenchState): Promise<ArmsReport> {
  const { report } = await read(out, state, true);
  await writeArmsReport(join(out, 'report'), report);
  return report;
}

async function read(out: string, { plan, instances }: BenchState, writes: boolean) {
  const title = plan.title ?? basename(plan.dataset);
  const arms = await reportArms({ out, title, names: plan.arms.map(({ name }) => name), instances, writes });
  return { arms, report: armsReport(title, arms, instances) };
}
