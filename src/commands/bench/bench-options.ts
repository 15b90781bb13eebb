import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { SavedInput } from '../../benchmarks/plan.js';
import { BadInputError } from '../../core/errors/errors.js';
import { visibleLine } from '../../core/hostile-text.js';
import { readAnswers, type SealedRows } from '../../grading/hidden-tests.js';
import { type DataSetInstance, readDataSet } from '../../io/datasets/data-set.js';
import { filtered } from '../../io/datasets/filter.js';
import { imageTemplates, type DataRow } from '../../io/datasets/rows.js';
import { ImportedFolder } from '../../io/saved-runs/imported-folder.js';
import { writeImport } from '../../reports/write-import.js';
import { collected, count, positive, seconds, wholeNumber } from '../command.js';
import { printProgress } from '../output.js';
import { givenTests, imageOption, readRule, type RuleOptions, withRuleOptions } from '../run-options.js';
import type { Arm, BenchPlan } from './bench-plan.js';

/** Options of the commands that take a bench file. */
export interface BenchOptions extends RuleOptions {
  readonly out?: string;
  readonly json?: true;
  readonly server?: string;
  readonly apiKey?: string;
  readonly estimate?: true;
  readonly dataset?: string;
  readonly split?: string;
  readonly image: readonly string[];
  readonly where: readonly string[];
  readonly instances?: string;
  readonly slice?: string;
  readonly shard?: string;
  readonly sample?: number;
  readonly seed?: number;
  readonly name?: string;
  readonly k?: number;
  readonly allocate?: 'equal' | 'greedy';
  readonly candidates?: readonly string[];
  readonly tests?: string;
  readonly verifiers?: string;
  readonly budgetTokens?: number;
  readonly budgetUsd?: number;
  readonly maxFailures?: number;
  readonly parallel?: number;
  readonly hiddenTests?: string;
  readonly runScripts?: string;
  readonly timeLimitS?: number;
  readonly grade: boolean;
}

const EXAMPLE = `
Example:
  $ bestk bench run bench.yaml --out out/
  $ bestk bench run --dataset SWE-bench_Verified/ -k 8 --sample 50 --out out/
  $ bestk bench run --dataset rows.jsonl --candidates runs/ --verifiers eb --out out/
  $ bestk bench run bench.yaml --server https://bestk.example --out out/
  $ bestk bench gold bench.yaml --out gold/
  $ bestk bench status out/

docs/bench.md describes the bench file. Options override the file; those of an arm (--name, -k,
--candidates, --tests, --verifiers, --preset and the like) define one arm that replaces the file's. The folder gets arms/NAME/ (a folder
per instance, predictions.jsonl, candidates.jsonl, graded/labels.jsonl) and report/ (report.html, .json, .md, issues.csv, and a report
of each arm). Ctrl-C lets running instances finish and starts no new ones; a second Ctrl-C stops at once.

Exit: 0 done, 2 bad input or nothing done, 3 Docker or a model was not available for some instance, 130 interrupted (the
same command, or resume, continues).`;

/** Adds the options that can replace a bench file. */
export function withPlanOptions(command: Command): Command {
  return withRuleOptions(command)
    .argument('[file]', 'bench.yaml')
    .option('--dataset <path>', 'data set (see bestk datasets show)')
    .option('--split <name>', 'split of a data set folder (default: test)')
    .addOption(imageOption())
    .option('--where <condition>', 'column=value or column!=value; comma-separated values; repeatable', collected, [])
    .option('--instances <list>', 'comma-separated ids')
    .option('--slice <from:to>', 'by position, from 0')
    .option('--shard <part/of>', 'such as 2/8')
    .option('--sample <n>', 'random sample of this size', count)
    .option('--seed <n>', 'seed of the sample', wholeNumber)
    .option('--name <name>', 'name of the arm that the options below define')
    .option('-k, --k <number>', 'trajectories of each issue', count)
    .addOption(
      new Option('--allocate <policy>', 'how further trajectories are shared: equally, or by expected gain').choices([
        'equal',
        'greedy',
      ]),
    )
    .option('--candidates <path...>', 'saved candidates in any format that import reads, instead of sampling')
    .option('--tests <file>', 'saved generated tests')
    .option('--verifiers <list>', 'as for bestk select')
    .option('--budget-tokens <number>', 'tokens for everything together', count)
    .option('--budget-usd <number>', 'US dollars for everything together', positive)
    .option('--max-failures <n>', 'start nothing new after this many failures', count)
    .option('--parallel <n>', 'instances to process at the same time', count)
    .option('--hidden-tests <path>', "rows with the hidden tests, instead of the data set's own")
    .option('--run-scripts <dir>', "run_scripts/ of SWE-bench Pro's repository, for its rows")
    .option(
      '--time-limit-s <seconds>',
      'CPU time of one run of the hidden tests; four times as long by the clock',
      seconds,
    )
    .option('--no-grade', 'select only')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE);
}

const ARM_OPTIONS = [
  'name',
  'k',
  'allocate',
  'candidates',
  'tests',
  'verifiers',
  'preset',
  'combiner',
  'calibration',
  'minConfidence',
];

/** Merges a bench file with options. @throws BadInputError naming the option or the field of the file */
export async function planOf(file: string | undefined, options: BenchOptions, command: Command): Promise<BenchPlan> {
  if (file === undefined && options.dataset === undefined) {
    throw new BadInputError('is missing: name a bench file, or a data set with --dataset.', { field: '--dataset' });
  }
  const { readPlan } = await import('./bench-plan.js');
  const given = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
  const { where, instances, slice, shard, sample, seed } = options;
  const filter = defined({
    where: where.length === 0 ? undefined : where,
    instances: listed(instances),
    slice,
    shard,
    sample,
    seed,
  });
  const hasArm = ARM_OPTIONS.some(given) || file === undefined;
  const { k, allocate, candidates, tests, preset, combiner, calibration, minConfidence, name = 'mine' } = options;
  const rule = { preset, combiner, calibration, min_confidence: minConfidence };
  const arm = defined({ name, k, allocate, candidates, tests, ...rule, judges: listed(options.verifiers) });
  const budget = defined({ tokens: options.budgetTokens, usd: options.budgetUsd });
  const grading = defined({
    hidden_tests: options.hiddenTests,
    run_scripts: options.runScripts,
    time_limit_s: options.timeLimitS,
  });
  return readPlan(
    file,
    defined({
      ...{
        dataset: options.dataset,
        split: options.split,
        concurrency: options.parallel,
        max_failures: options.maxFailures,
      },
      image: options.image.length === 0 ? undefined : options.image,
      filter: orAbsent(filter),
      arms: hasArm ? [arm] : undefined,
      budget: orAbsent(budget),
      grade: options.grade ? orAbsent(grading) : false,
    }),
  );
}

function listed(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((each) => each.trim());
}

function defined(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function orAbsent(values: Record<string, unknown>): Record<string, unknown> | undefined {
  return Object.keys(values).length === 0 ? undefined : values;
}

/** An instance of the benchmark, with the row it was read from. */
export interface ChosenInstance extends DataSetInstance {
  readonly row: DataRow;
}

/** The instances that pass the filter; unusable rows are reported. @throws BadInputError when none is left */
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
    'has no matching instance.',
    { file: dataset },
    '`bestk datasets show` lists its instances and columns.',
  );
}

export function ruleOf({ preset, combiner, calibration, min_confidence }: Arm): ReturnType<typeof readRule> {
  const files = { ...(preset === undefined ? {} : { preset }), ...(combiner === undefined ? {} : { combiner }) };
  const fitted = calibration === undefined ? {} : { calibration };
  return readRule({ ...files, ...fitted, ...(min_confidence === undefined ? {} : { minConfidence: min_confidence }) });
}

/** Saved candidates and tests of an arm, per instance. @throws BadInputError if an arm of saved candidates has none for it */
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
    return { candidates: saved === null ? null : await saved.candidates(id), tests: tests(id) };
  };
}

async function imported(paths: readonly string[], folder: string): Promise<ImportedFolder> {
  await writeImport(paths, folder);
  return ImportedFolder.open(folder);
}

/** The answers: the data set's own, or those of the `hidden_tests` file. */
export async function answersOf(plan: BenchPlan, instances: readonly DataSetInstance[]): Promise<SealedRows> {
  const file = plan.grade === false ? undefined : plan.grade.hidden_tests;
  if (file === undefined) return new Map(instances.map(({ issue, sealed }) => [issue.instance_id, sealed.open()]));
  return readAnswers(file, new Set(instances.map(({ issue }) => issue.instance_id)));
}
