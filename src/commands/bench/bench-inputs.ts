import { join } from 'node:path';
import type { SavedInput } from '../../benchmarks/requests.js';
import { BadInputError } from '../../core/errors/errors.js';
import { visibleLine } from '../../core/visible.js';
import { readAnswers, type SealedRows } from '../../grading/hidden-tests.js';
import { type DataSetInstance, readDataSet } from '../../io/datasets/data-set.js';
import { filtered } from '../../io/datasets/filter.js';
import { imageTemplates } from '../../io/datasets/images.js';
import type { DataRow } from '../../io/datasets/rows.js';
import { ImportedFolder } from '../../io/saved-runs/imported-folder.js';
import { writeImport } from '../../reports/write-import.js';
import { printProgress } from '../answer.js';
import { givenTests, readRule } from '../run-options.js';
import type { Arm, BenchPlan } from './bench-plan.js';

/** An instance of the benchmark, and the row that it was read from. */
export interface ChosenInstance extends DataSetInstance {
  readonly row: DataRow;
}

/** The instances that are meant; rows that cannot be used are told. @throws BadInputError when none is left */
export async function chosenInstances({
  dataset,
  split,
  image,
  filter,
}: BenchPlan): Promise<readonly ChosenInstance[]> {
  const all: ChosenInstance[] = [];
  const rows: DataRow[] = [];
  const seen = (row: DataRow): number => rows.push(row);
  for await (const read of readDataSet(dataset, { split, images: imageTemplates(image), seen })) {
    const row = rows.pop();
    if ('problem' in read) printProgress(`Left out: ${visibleLine(read.problem.message)}`);
    else if (row !== undefined) all.push({ ...read, row });
  }
  const instances = filtered(all, filter);
  if (instances.length > 0) return instances;
  throw new BadInputError(
    'holds no instance that is asked for.',
    { file: dataset },
    '`bestk datasets show` says what it holds.',
  );
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
  const tests = await givenTests(arm.tests, ids);
  return async (id) => {
    if (saved?.has(id) === false)
      throw new BadInputError('has no candidate.', { file: arm.candidates?.join(', '), field: id });
    return { candidates: saved === null ? null : await saved.candidates(id), tests: tests?.get(id) ?? null };
  };
}

async function imported(paths: readonly string[], folder: string): Promise<ImportedFolder> {
  await writeImport(paths, folder);
  return ImportedFolder.open(folder);
}

/** What tells the answers: the data set's own, or what a file says. */
export async function answersOf(plan: BenchPlan, instances: readonly DataSetInstance[]): Promise<SealedRows> {
  const file = plan.grade === false ? undefined : plan.grade.hidden_tests;
  if (file === undefined) return new Map(instances.map(({ issue, sealed }) => [issue.instance_id, sealed.open()]));
  return readAnswers(file, new Set(instances.map(({ issue }) => issue.instance_id)));
}
