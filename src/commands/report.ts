import { basename, dirname, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import type { Benchmarked, BenchmarkOptions } from '../reports/benchmark/make-benchmark.js';
import type { BenchmarkReport } from '../reports/benchmark/headline.js';
import type { Rules } from '../reports/benchmark/presets.js';
import {
  choosePresets,
  type CurveOptions,
  needCandidates,
  parseKs,
  parseReferences,
  possibleKs,
  withCurveOptions,
} from './curves-options.js';
import { printJson, printNote, printProgress, printText } from './output.js';
import { listed, visibleLine } from '../core/hostile-text.js';

interface ReportOptions extends CurveOptions {
  readonly run?: readonly string[];
  readonly scores?: string;
  readonly labels: readonly string[];
  readonly against?: readonly string[];
  readonly title?: string;
  readonly out: string;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk report --run rescored/ --labels rescored/imported/labels.jsonl --out report/
  $ bestk report --run new/ --against old/ --labels labels.jsonl --out report/
  $ bestk report --scores scores.jsonl --presets deepswe,ef-only,random --out report/

--run takes folders of select, solve and rescore, and folders of such folders; of each run, run.json and verdicts.jsonl are
read. Writes report.html (one file, nothing to load), report.json, report.csv, report.md and plots/ (SVG, PNG). The same
input gives the same bytes.

Exit: 0 done, 2 bad input (the message names file, line and field).`;

/** `bestk report`: the benchmark report of finished runs. */
export function registerReport(program: Command): void {
  const presets = new Option(
    '--presets <list>',
    'names, "all", or your own preset files, yours first (default: the rule of the runs and all rules with scores)',
  );
  const command = program
    .command('report')
    .description('benchmark report of finished runs: which selector wins, by how much, at what cost')
    .option('--run <dir...>', 'folders of finished runs')
    .option('--scores <file>', 'instead of --run: a score matrix with labels')
    .option('--labels <path...>', 'labels or harness reports of the candidates', [])
    .option('--against <path...>', 'other runs of the same issues (or, with --scores, another matrix), to compare with')
    .option('--title <text>', 'title of the report (default: the folder)');
  withCurveOptions(command, { k: '1, 2, 4, 8 … and all', presets, draws: 100 })
    .requiredOption('--out <dir>', 'folder for the report')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: ReportOptions) => {
      const report = await makeReport(options);
      const { writeBenchmark } = await import('../reports/benchmark/write-benchmark.js');
      await writeBenchmark(options.out, report);
      if (options.json === true) printJson(report);
      else await printHeadline(report, options.out);
      process.exitCode = EXIT.done;
    });
}

async function makeReport(options: ReportOptions): Promise<BenchmarkReport> {
  const { makeBenchmark } = await import('../reports/benchmark/make-benchmark.js');
  const here = await benchmarked(options, options.run ?? null, options.title);
  const other = options.against === undefined ? null : await benchmarked(options, options.against, undefined);
  if (here.runs.length > 0 && here.issues.length === 0) {
    printProgress('There are no labels (--labels), so there are no rates.');
  }
  return makeBenchmark(here, other, await benchmarkOptions(options, here));
}

/** @param paths null = the score matrix given in the options */
async function benchmarked(
  { scores, run, labels }: ReportOptions,
  paths: readonly string[] | null,
  title: string | undefined,
): Promise<Benchmarked> {
  const { benchmarkOfMatrix, benchmarkOfRuns } = await import('../reports/benchmark/read-benchmark.js');
  if ((scores === undefined) === (run === undefined)) {
    throw new BadInputError('exclude each other: use one of them.', { field: '--run and --scores' });
  }
  if (scores === undefined) {
    return benchmarkOfRuns(paths ?? [], labels, title ?? nameOf(paths ?? []), printNote);
  }
  const [file = scores, ...more] = paths ?? [];
  if (more.length > 0) throw new BadInputError('takes one matrix here.', { field: '--against' });
  return benchmarkOfMatrix(file, title ?? nameOf([file]));
}

/** The folder names, or the parents' names if the folders share one (`a/out`, `b/out`). */
function nameOf(paths: readonly string[]): string {
  const whole = paths.map((path) => resolve(path));
  const names = new Set(whole.map((path) => basename(path)));
  const parents = new Set(whole.map((path) => basename(dirname(path))));
  return listed([...(names.size < parents.size ? parents : names)]);
}

async function benchmarkOptions(options: ReportOptions, here: Benchmarked): Promise<BenchmarkOptions> {
  const { k, bootstrap: resamples, seed, draws } = options;
  const largest = Math.max(0, ...here.issues.map(({ candidates }) => candidates.length));
  if (options.scores !== undefined) needCandidates(largest, { file: options.scores, field: '--scores' });
  const asked = k === undefined ? null : parseKs(k);
  return {
    ...(await rulesOf(options, here)),
    ks: asked === null || here.issues.length === 0 ? null : possibleKs(asked, largest),
    ...{ resamples, seed, draws },
  };
}

async function rulesOf({ presets: named, compare }: ReportOptions, { issues, runs }: Benchmarked): Promise<Rules> {
  const { defaultRules, namedRules } = await import('../reports/benchmark/presets.js');
  const rules = named === undefined ? defaultRules(issues, runs) : namedRules(named, await choosePresets(named), runs);
  return compare === undefined ? rules : { ...rules, references: parseReferences(compare, rules.presets) };
}

async function printHeadline(report: BenchmarkReport, folder: string): Promise<void> {
  const { sentences } = await import('../reports/benchmark/sentences.js');
  printText([...sentences(report).map(visibleLine), '', `Report: ${folder}`].join('\n'));
}
