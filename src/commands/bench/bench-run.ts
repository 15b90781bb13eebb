import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { armOf, type Gradable, gradedIn, namedByArm } from '../../benchmarks/grade-arms.js';
import { reasonToStop, type Tally } from '../../benchmarks/plan.js';
import { armRequest, type SavedInput } from '../../benchmarks/requests.js';
import { BadInputError, EXIT } from '../../core/errors/errors.js';
import { contentKey } from '../../core/fingerprint.js';
import type { Candidate } from '../../core/run/candidate.js';
import { visibleLine } from '../../core/visible.js';
import type { GradeBook } from '../../grading/grade-candidates.js';
import { hiddenTests, readAnswers, type SealedRows } from '../../grading/hidden-tests.js';
import { type DataSetInstance, readDataSet } from '../../io/datasets/data-set.js';
import { filtered } from '../../io/datasets/filter.js';
import { imageTemplates } from '../../io/datasets/images.js';
import { ImportedFolder } from '../../io/saved-runs/imported-folder.js';
import { exportSource } from '../../reports/exports/export-source.js';
import type { ArmsReport } from '../../reports/benchmark/arms-report.js';
import { GradeFiles, type GradedInstance } from '../../reports/grade-files.js';
import { prepareFolder } from '../../reports/write-run.js';
import { writeImport } from '../../reports/write-import.js';
import { printProgress } from '../answer.js';
import type { App, OpenApp } from '../app.js';
import { gradeSet } from '../grade-set.js';
import { givenTests, readRule } from '../run-options.js';
import { exitOfSet, runSet, type SetItem, type SetTold } from '../run-set.js';
import { type Arm, armFolder, type BenchPlan, type BenchState, newState, readState, writeState } from './bench-plan.js';
import { reportBench } from './bench-report.js';

/** What became of an arm. */
export type ArmTold = SetTold & { readonly arm: string; graded: number; ungraded: number };

/**
 * Runs every arm over the instances, then grades what was selected and the other candidates, then reports. What was done
 * already in this folder is taken as it is. @returns what became of the arms, and the exit code
 * @throws BadInputError, InterruptedError
 */
export async function runBench(
  plan: BenchPlan,
  out: string,
  openApp: OpenApp,
): Promise<{ readonly told: readonly ArmTold[]; readonly report: ArmsReport; readonly code: number }> {
  // A wrong rule is told before anything is run.
  for (const arm of plan.arms) await ruleOf(arm);
  const instances = await chosenInstances(plan);
  await prepareFolder(out);
  const ids = instances.map(({ issue }) => issue.instance_id);
  const state: BenchState = { ...((await readState(out)) ?? newState()), plan, instances: ids };
  const told: ArmTold[] = [];
  for (const arm of plan.arms) {
    printProgress(`Arm ${arm.name}: ${instances.length} instances`);
    const set = await runArm({ plan, out, instances, state, before: told }, arm, openApp);
    told.push({ ...set, arm: arm.name, graded: 0, ungraded: 0 });
  }
  // Not before the selections of all arms are stored: no label exists while anything may still be selected.
  await gradeArms(plan, out, { instances, told }, openApp);
  const report = await reportBench(out, state);
  const codes = told.map((each) => (each.ungraded > 0 ? EXIT.unavailable : exitOfSet(each)));
  return { told, report, code: Math.max(...codes) };
}

/** The instances that are meant; rows that cannot be used are told. @throws BadInputError when none is left */
export async function chosenInstances({
  dataset,
  split,
  image,
  filter,
}: BenchPlan): Promise<readonly DataSetInstance[]> {
  const all: DataSetInstance[] = [];
  for await (const read of readDataSet(dataset, { split, images: imageTemplates(image) })) {
    if ('problem' in read) printProgress(`Left out: ${visibleLine(read.problem.message)}`);
    else all.push(read);
  }
  const instances = filtered(all, filter);
  if (instances.length > 0) return instances;
  throw new BadInputError(
    'holds no instance that is asked for.',
    { file: dataset },
    '`bestk datasets show` says what it holds.',
  );
}

interface Bench {
  readonly plan: BenchPlan;
  readonly out: string;
  readonly instances: readonly DataSetInstance[];
  readonly state: BenchState;
  /** Arms that ran before. */
  readonly before: readonly ArmTold[];
}

async function runArm(bench: Bench, arm: Arm, openApp: OpenApp): Promise<SetTold> {
  const { plan, out, state, before } = bench;
  const app = await openApp(settingsOf(arm));
  const folder = armFolder(out, arm.name);
  const { setup, items } = await preparedArm(bench, arm, app).catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  const command = `bench:${state.id}:${setup}`;
  const stop = (told: SetTold): string | null => reasonToStop(plan, tallyOf([...before, told]));
  const labels = (): Promise<null> => Promise.resolve(null);
  return runSet(app, items, { command, out: folder, parallel: plan.concurrency, once: true, labels, stop });
}

/** What is asked, and the hash of the settings it is asked under; what was made under others is removed. */
async function preparedArm({ plan, out, instances, state }: Bench, arm: Arm, app: App) {
  const folder = armFolder(out, arm.name);
  const setup = await app.setup();
  const key = contentKey([setup, arm, plan.budget.each ?? null]);
  const known = state.keys[arm.name];
  if (known !== undefined && known !== key) {
    const next = 'so it is done again; what they do not touch comes from the store.';
    printProgress(`Arm ${arm.name}: its settings changed, ${next}`);
    await rm(folder, { recursive: true, force: true });
  }
  state.keys[arm.name] = key;
  await writeState(out, state);
  return { setup, items: await itemsOf(plan, arm, instances, folder) };
}

function settingsOf({ agent, settings }: Arm): Readonly<Record<string, string>> {
  return agent === undefined ? settings : { ...settings, BESTK_AGENT_MODEL: agent };
}

export function ruleOf({ preset, combiner, calibration, min_confidence }: Arm): ReturnType<typeof readRule> {
  const files = { ...(preset === undefined ? {} : { preset }), ...(combiner === undefined ? {} : { combiner }) };
  const fitted = calibration === undefined ? {} : { calibration };
  return readRule({ ...files, ...fitted, ...(min_confidence === undefined ? {} : { minConfidence: min_confidence }) });
}

/** What an arm has of each instance. @throws BadInputError for one without candidates in an arm of saved ones */
export async function savedInputs(
  arm: Arm,
  ids: readonly string[],
  folder: string,
): Promise<(id: string) => Promise<SavedInput>> {
  const saved = arm.candidates === undefined ? null : await imported(arm.candidates, join(folder, 'imported'));
  const having = new Set(saved?.instances().map(({ instance_id }) => instance_id));
  const tests = await givenTests(arm.tests, ids);
  return async (id) => {
    if (saved !== null && !having.has(id))
      throw new BadInputError('has no candidate.', { file: arm.candidates?.join(', '), field: id });
    return { candidates: saved === null ? null : await saved.candidates(id), tests: tests?.get(id) ?? null };
  };
}

/** What is asked for each instance; one without candidates in an arm of saved ones is told, and skipped. */
async function itemsOf(
  plan: BenchPlan,
  arm: Arm,
  instances: readonly DataSetInstance[],
  folder: string,
): Promise<readonly SetItem[]> {
  const ids = instances.map(({ issue }) => issue.instance_id);
  const inputOf = await savedInputs(arm, ids, folder);
  const rule = await ruleOf(arm);
  return instances.map(({ issue }) => ({
    instance_id: issue.instance_id,
    request: async () => armRequest(plan, arm, rule, { issue, ...(await inputOf(issue.instance_id)) }),
  }));
}

async function imported(paths: readonly string[], folder: string): Promise<ImportedFolder> {
  await writeImport(paths, folder);
  return ImportedFolder.open(folder);
}

function tallyOf(told: readonly SetTold[]): Tally {
  const sum = (value: (each: SetTold) => number): number => told.reduce((total, each) => total + value(each), 0);
  return {
    failed: sum(({ failed }) => failed),
    tokens: sum(({ spent }) => spent.tokens),
    usd: sum(({ spent }) => spent.usd),
  };
}

interface Ran {
  readonly instances: readonly DataSetInstance[];
  readonly told: readonly ArmTold[];
}

async function gradeArms(plan: BenchPlan, out: string, { instances, told }: Ran, openApp: OpenApp): Promise<void> {
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
  const set = await graded(plan, gradable, book, openApp);
  for (const each of told) {
    const own = set.map(({ instance_id, graded }) => ({ instance_id, graded: gradedIn(each.arm, graded) }));
    await files.get(each.arm)?.close(own);
    each.graded = own.reduce((sum, { graded }) => sum + graded.grades.length, 0);
    each.ungraded = own.reduce((sum, { graded }) => sum + graded.ungraded.length, 0);
  }
}

async function graded(
  { grade, concurrency: parallel }: BenchPlan,
  gradable: readonly Gradable[],
  book: GradeBook,
  openApp: () => Promise<App>,
): Promise<readonly GradedInstance[]> {
  if (gradable.length === 0) return [];
  const { test_command: command = null, time_limit_s: timeLimitS = 300 } = grade === false ? {} : grade;
  return gradeSet(await openApp(), gradable, { parallel, command, timeLimitS, book });
}

/** What tells the answers: the data set's own, or what a file says. */
export async function answersOf(plan: BenchPlan, instances: readonly DataSetInstance[]): Promise<SealedRows> {
  const file = plan.grade === false ? undefined : plan.grade.hidden_tests;
  if (file === undefined) return new Map(instances.map(({ issue, sealed }) => [issue.instance_id, sealed.open()]));
  return readAnswers(file, new Set(instances.map(({ issue }) => issue.instance_id)));
}

async function gradableOf(
  scripts: string | undefined,
  out: string,
  { instances, told }: Ran,
  answers: SealedRows,
): Promise<readonly Gradable[]> {
  const candidates = new Map<string, Candidate[]>();
  for (const { arm } of told) {
    for await (const { instance_id, candidates: own } of exportSource(armFolder(out, arm))) {
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

/** What is wrong with an instance of a data set. */
export interface Wrong {
  readonly instance_id: string;
  readonly reason: string;
}

/**
 * Grades the gold patches, before money is spent: the images are there, the hidden tests run, and the authors' patch resolves
 * its issue. @returns what is wrong by instance; empty when all is as it should be
 */
export async function checkGold(
  plan: BenchPlan,
  out: string,
  openApp: () => Promise<App>,
): Promise<{ readonly checked: number; readonly wrong: readonly Wrong[] }> {
  const instances = await chosenInstances(plan);
  const answers = await answersOf(plan, instances);
  const scripts = plan.grade === false ? undefined : plan.grade.run_scripts;
  const wrong: Wrong[] = [];
  const gradable: Gradable[] = [];
  for (const { issue } of instances) {
    const { instance_id } = issue;
    const tests = await hiddenTests(answers, instance_id, scripts);
    const gold = answers.get(instance_id)?.gold ?? null;
    if (tests === null || gold === null) {
      wrong.push({ instance_id, reason: `has no ${tests === null ? 'hidden tests' : 'gold patch'}` });
      continue;
    }
    gradable.push({ issue, candidates: [{ instance_id, candidate_id: 'gold', patch: gold, trajectory: null }], tests });
  }
  const book = await GradeFiles.open(out);
  const set = await graded(plan, gradable, book, openApp);
  await book.close(set);
  return { checked: instances.length, wrong: [...wrong, ...set.flatMap(wrongWithGold)] };
}

function wrongWithGold({ instance_id, graded }: GradedInstance): readonly Wrong[] {
  return [
    ...graded.grades.filter(({ resolved }) => !resolved),
    ...graded.ungraded,
    ...graded.leftOut.map(({ name, on_base }) => ({ reason: `${name} does not pass on base (${on_base})` })),
  ].map(({ reason }) => ({ instance_id, reason }));
}
