import { basename, join } from 'node:path';
import { reportArms } from '../../benchmarks/arm-reports.js';
import { armOf, type Gradable, gradedIn, namedByArm } from '../../benchmarks/grade-arms.js';
import type { Candidate } from '../../core/run/candidate.js';
import { countLabels, type GradeBook } from '../../grading/grade-candidates.js';
import { hiddenTests, type SealedRows } from '../../grading/hidden-tests.js';
import type { DataSetInstance } from '../../io/datasets/data-set.js';
import { armsReport, writeArmsReport } from '../../reports/benchmark/arms-report.js';
import type { ArmOutcomes, ArmsReport } from '../../reports/benchmark/arms.js';
import { exportSource } from '../../reports/exports/export-formats.js';
import { GradeFiles, type GradedInstance } from '../../reports/grades.js';
import type { App } from '../command.js';
import { printProgress } from '../output.js';
import { gradeSet } from '../grade.js';
import { answersOf } from './bench-options.js';
import { armFolder, type BenchPlan, type BenchState } from './bench-plan.js';

/** Number of candidates of an arm with a label, with an unknown one, and those that could not be graded. */
export interface GradedArm {
  readonly arm: string;
  graded: number;
  unknown: number;
  ungraded: number;
}

interface Ran {
  readonly instances: readonly DataSetInstance[];
  readonly told: readonly GradedArm[];
}

/** Grades all candidates of all arms, each patch once. @throws BadInputError, InterruptedError */
export async function gradeArms(
  plan: BenchPlan,
  out: string,
  { instances, told }: Ran,
  openApp: () => Promise<App>,
): Promise<void> {
  const { grade } = plan;
  if (grade === false) return;
  const answers = await answersOf(plan, instances);
  if (![...answers.values()].some(({ tests }) => tests !== null)) {
    printProgress('Nothing is graded: the data set has no hidden tests (grade.hidden_tests names others).');
    return;
  }
  const files = new Map<string, GradeFiles>();
  for (const { arm } of told) files.set(arm, await GradeFiles.open(join(armFolder(out, arm), 'graded')));
  const book: GradeBook = {
    known: (key) => [...files.values()].map((each) => each.known(key)).find((grade) => grade !== null) ?? null,
    enter: async (grade) => {
      const { arm, candidate_id } = armOf(grade.candidate_id);
      await files.get(arm)?.enter({ ...grade, candidate_id });
    },
  };
  const gradable = await gradableOf(grade.run_scripts, out, { instances, told }, answers);
  const set = await gradeByPlan(plan, gradable, { book }, openApp);
  for (const each of told) {
    const own = set.map(({ instance_id, graded }) => ({ instance_id, graded: gradedIn(each.arm, graded) }));
    await files.get(each.arm)?.close(own);
    const { graded, unknown } = countLabels(own.flatMap((instance) => instance.graded.grades));
    each.graded = graded;
    each.unknown = unknown;
    each.ungraded = own.reduce((sum, instance) => sum + instance.graded.ungraded.length, 0);
  }
}

export async function gradeByPlan(
  { grade, concurrency: parallel }: BenchPlan,
  gradable: readonly Gradable[],
  how: { readonly book: GradeBook; readonly repeats?: boolean },
  openApp: () => Promise<App>,
): Promise<readonly GradedInstance[]> {
  if (gradable.length === 0) return [];
  const { test_command: command = null, time_limit_s: timeLimitS = 300 } = grade === false ? {} : grade;
  return gradeSet(await openApp(), gradable, { parallel, command, timeLimitS, ...how });
}

async function gradableOf(
  scripts: string | undefined,
  out: string,
  { instances, told }: Ran,
  answers: SealedRows,
): Promise<readonly Gradable[]> {
  const candidates = new Map<string, Candidate[]>();
  for (const { arm } of told) {
    for await (const { instance_id, candidates: own } of exportSource(armFolder(out, arm), true)) {
      candidates.set(instance_id, [...(candidates.get(instance_id) ?? []), ...namedByArm(arm, own)]);
    }
  }
  const all = instances.map(async ({ issue }) => {
    const own = candidates.get(issue.instance_id) ?? [];
    const tests = await hiddenTests(answers, issue.instance_id, scripts);
    return tests === null || own.length === 0 ? [] : [{ issue, candidates: own, tests }];
  });
  return (await Promise.all(all)).flat();
}

/** Outcomes and report of the arms so far. @throws BadInputError naming a damaged file */
export async function readBench(
  out: string,
  state: BenchState,
): Promise<{ readonly arms: readonly ArmOutcomes[]; readonly report: ArmsReport }> {
  return read(out, state, false);
}

/** Writes the report of all arms into `report/`, and one per arm into a subfolder of that name. */
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
