import type { Command } from 'commander';
import { EXIT } from '../core/errors.js';
import type { CurvesReport } from '../statistics/curves-report.js';
import { printJson, printText } from './answer.js';

interface CurvesOptions {
  readonly scores: string;
  readonly k?: string;
  readonly presets: string;
  readonly axis: readonly string[];
  readonly bootstrap: string;
  readonly seed: string;
  readonly draws: string;
  readonly learn?: true;
  readonly combiner?: string;
  readonly saveCombiner?: string;
  readonly abstainBelow?: string;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk curves --scores scores.jsonl
  $ bestk curves --scores scores.jsonl --k 1..16 --presets deepswe,ef-only,mine.yaml --bootstrap 10000 --json

One issue a line: {"instance_id": "…", "resolved": [0, 1, …], "execution_free": [0.91, …], "regression": [41, …],
"reproduction": [7, …], "patch_size"?: […], "fingerprint"?: […], "steps"?: […], "cost"?: […]}; null = abstained, and a
label of null = not graded, which counts as not resolved. A preset of your own is a file with "name" and "stages".

Exit: 0 done, 2 bad input (the message names file, line and field).`;

/** `bestk curves`: Pass@K and Best@K of every preset from a score matrix, with intervals. */
export function registerCurves(program: Command): void {
  program
    .command('curves')
    .description('Pass@K and exact Best@K of selection rules, from a score matrix with labels')
    .requiredOption('--scores <file>', 'score matrix: one issue a line, with labels')
    .option('--k <list>', 'e.g. 1..26 or 1,2,4,8; all there are when left out')
    .option('--presets <list>', 'names, "all", or files of your own', 'random,ef-only,eb-only,deepswe')
    .option('--axis <column:limits>', 'a curve over another column, e.g. steps:20,40,80', collect, [])
    .option('--bootstrap <n>', 'resamples for the intervals; 0 = normal approximation', '2000')
    .option('--seed <n>', 'of resamples and random subsets', '1')
    .option('--draws <n>', 'random subsets where neither a closed form nor enumeration will do', '1000')
    .option('--learn', 'train a combiner, cross-fitted by repository, and add its preset "learned"')
    .option('--abstain-below <p>', 'with --learn: return no patch at or below this confidence, 0..1')
    .option('--save-combiner <file>', 'with --learn: write the combiner made from all issues')
    .option('--combiner <file>', 'add the preset "learned" by a saved combiner')
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
  const { choosePresets, parseAxis, parseCount, parseKs } = await import('./curves-options.js');
  const { withLearned } = await import('./curves-learned.js');
  const { readScoreMatrix } = await import('../formats/read-score-matrix.js');
  const { Curves } = await import('../statistics/curves.js');
  const { DEFAULT_BEST } = await import('../statistics/best-at-k.js');
  const axes = options.axis.map(parseAxis);
  const best = {
    ...DEFAULT_BEST,
    seed: parseCount('--seed', options.seed, 2 ** 32 - 1),
    draws: Math.max(1, parseCount('--draws', options.draws, 10_000_000)),
  };
  const resamples = parseCount('--bootstrap', options.bootstrap, 100_000);
  const presets = await choosePresets(options.presets);
  const ks = options.k === undefined ? await everyK(options.scores) : parseKs(options.k);
  const names = axes.map(({ name }) => name);
  const learned = await withLearned(options, readScoreMatrix(options.scores, names), presets);
  const all = new Curves({
    ks,
    presets: learned.presets,
    axes,
    resamples,
    best: { ...best, learned: learned.scorerOf },
  });
  for await (const issue of learned.issues) all.add(issue);
  return all.report();
}

/** 1 to the most candidates any issue has; the file is gone through once for it, so that nothing needs to be kept. */
async function everyK(file: string): Promise<number[]> {
  const { readScoreMatrix } = await import('../formats/read-score-matrix.js');
  let largest = 1;
  for await (const { candidates } of readScoreMatrix(file)) largest = Math.max(largest, candidates.length);
  return Array.from({ length: largest }, (_, index) => index + 1);
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}
