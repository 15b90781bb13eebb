import { statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { type Command, Option } from 'commander';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import type { CurvesReport } from '../statistics/curves/curves-report.js';
import type { ScoredIssue } from '../statistics/curves/scored-issue.js';
import { collected, probability } from './command.js';
import {
  choosePresets,
  type CurveOptions,
  needCandidates,
  parseAxis,
  parseKs,
  parseReferences,
  possibleKs,
  withCurveOptions,
} from './curves-options.js';
import { printJson, printNote, printText } from './output.js';

interface CurvesOptions extends CurveOptions {
  readonly scores?: string;
  readonly runs?: readonly string[];
  readonly labels?: readonly string[];
  readonly presets: string;
  readonly axis: readonly string[];
  readonly learn?: true;
  readonly combiner?: string;
  readonly saveCombiner?: string;
  readonly abstainBelow?: number;
  readonly json?: true;
}

const DEFAULT_PRESETS = 'random,ef-only,eb-only,deepswe';

const EXAMPLE = `
Example:
  $ bestk curves --scores scores.jsonl
  $ bestk curves --runs trials/ --presets random,majority
  $ bestk curves --scores scores.jsonl --k 1..16 --presets deepswe,ef-only,mine.yaml --bootstrap 10000 --json

One issue a line: {"instance_id": "…", "resolved": [0, 1, …], "execution_free": [0.91, …], "regression": [41, …],
"reproduction": [7, …], "patch_size"?: […], "fingerprint"?: […], "steps"?: […], "cost"?: […]}; null = abstained, and a
label of null = unknown: such a candidate is in no rate, and counted. A preset of your own is a file with "name" and "stages".

Exit: 0 done, 2 bad input (the message names file, line and field).`;

/** `bestk curves`: Pass@K and Best@K of every preset from a score matrix, with intervals. */
export function registerCurves(program: Command): void {
  const command = program
    .command('curves')
    .description('Pass@K and exact Best@K of selection rules, from a score matrix with labels')
    .option('--scores <file>', 'score matrix: one issue per line, with labels')
    .option('--runs <path...>', 'instead of --scores: saved runs of any format that import reads, with their labels')
    .option('--labels <path...>', 'with --runs: further labels, and candidates whose equal patches have them')
    .option('--axis <column:limits>', 'a curve over another column, e.g. steps:20,40,80', collected, []);
  const presets = new Option('--presets <list>', 'names, "all", or your own preset files').default(DEFAULT_PRESETS);
  withCurveOptions(command, { k: '1 to the largest number of candidates', presets, draws: 1000 })
    .option('--learn', 'train a combiner, cross-fitted by repository, and add its preset "learned"')
    .option('--abstain-below <p>', 'with --learn: return no patch at or below this confidence, 0..1', probability)
    .option('--save-combiner <file>', 'with --learn: write the combiner trained on all issues')
    .option('--combiner <file>', 'add the preset "learned" with a saved combiner')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: CurvesOptions) => {
      const report = await curves(options);
      if (options.json === true) printJson(report);
      else printText((await import('../reports/curves-table.js')).curvesTable(report));
      process.exitCode = EXIT.done;
    });
}

async function curves(options: CurvesOptions): Promise<CurvesReport> {
  const { defaultReferences } = await import('../reports/benchmark/presets.js');
  const { withLearned } = await import('./calibrate.js');
  const { Curves } = await import('../statistics/curves/curves.js');
  const { DEFAULT_BEST } = await import('../statistics/curves/best-at-k.js');
  const axes = options.axis.map(parseAxis);
  const { seed, draws, bootstrap: resamples } = options;
  const asked = options.k === undefined ? null : parseKs(options.k);
  const presets = await choosePresets(options.presets);
  const issues = await issuesOf(
    options,
    axes.map(({ name }) => name),
  );
  const ks = await ksOf(options, asked, issues);
  const learned = await withLearned(options, issues(), presets);
  const all = new Curves({
    ks,
    presets: learned.presets,
    references:
      options.compare === undefined
        ? defaultReferences(learned.presets)
        : parseReferences(options.compare, learned.presets),
    axes,
    resamples,
    best: { ...DEFAULT_BEST, seed, draws, knowledge: learned.knowledge },
  });
  for await (const issue of learned.issues) all.add(issue);
  return all.report();
}

type Issues = AsyncIterable<ScoredIssue>;

/** Issues of a matrix, re-read on each call, or of saved runs. @throws BadInputError when neither or both are given */
async function issuesOf({ scores, runs, labels = [] }: CurvesOptions, axes: readonly string[]): Promise<() => Issues> {
  if (scores !== undefined && runs === undefined) {
    const { readScoreMatrix } = await import('../io/inputs/score-matrix.js');
    return () => readScoreMatrix(scores, axes);
  }
  if (runs === undefined || scores !== undefined) {
    throw new BadInputError('exclude each other: use one of them.', { field: '--scores and --runs' });
  }
  const { scoredRuns } = await import('../reports/curves-table.js');
  const issues = await scoredRuns(runs, labels, printNote);
  if (issues.length === 0) throw new BadInputError('contain no candidates in any known format.', { field: '--runs' });
  return () => Readable.from(issues);
}

/** @param asked null = 1 to the largest number of candidates */
async function ksOf(
  { scores, runs = [] }: CurvesOptions,
  asked: readonly number[] | null,
  issues: () => Issues,
): Promise<number[]> {
  // A pipe can be read only once.
  const isPipe = scores !== undefined && statSync(scores, { throwIfNoEntry: false })?.isFile() === false;
  if (asked !== null && isPipe) return [...asked];
  const largest = await mostCandidates(issues());
  const place = scores === undefined ? { file: runs.join(', '), field: '--runs' } : { file: scores, field: '--scores' };
  needCandidates(largest, place);
  return possibleKs(asked ?? Array.from({ length: largest }, (_, index) => index + 1), largest);
}

/** Takes an extra pass over a matrix, so that no issue is kept in memory. */
async function mostCandidates(issues: Issues): Promise<number> {
  let largest = 0;
  for await (const { candidates } of issues) largest = Math.max(largest, candidates.length);
  return largest;
}
