import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import { printJson, printText } from './command.js';

interface CalibrateOptions {
  readonly runs?: readonly string[];
  readonly labels?: readonly string[];
  readonly scores?: string;
  readonly out: string;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk calibrate --runs solved/ --labels labels.jsonl --out calibration.json
  $ bestk select --issue issue.json --candidates candidates.jsonl --calibration calibration.json --min-confidence 0.8 --out out/

Fits how likely each answer of a judge and each outcome of tests is for right and for wrong patches. What it prints was
measured on repositories that the fit had not seen. Fit on the labels of other issues than those that it will decide.

Exit: 0 done, 2 bad input.`;

/** `bestk calibrate`: likelihoods of judges and tests from labelled runs. */
export function registerCalibrate(program: Command): void {
  program
    .command('calibrate')
    .description('fit what judges and tests are worth on labelled runs, for P(right) and confidence')
    .option('--runs <dir...>', 'folders of select, solve or rescore')
    .option('--labels <path...>', 'labels.jsonl or harness reports of these runs')
    .option('--scores <file>', 'instead of runs, a score matrix with labels')
    .requiredOption('--out <file>', 'JSON file to write')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: CalibrateOptions) => {
      await calibrate(options);
      process.exitCode = EXIT.done;
    });
}

async function calibrate({ runs, labels, scores, out, json }: CalibrateOptions): Promise<void> {
  const { benchmarkOfMatrix, benchmarkOfRuns } = await import('../reports/benchmark/read-benchmark.js');
  const { fitCalibration } = await import('../statistics/combiner/fit-calibration.js');
  const { reliabilityTable } = await import('../reports/curves-table.js');
  if ((scores === undefined) === (runs === undefined)) {
    throw new BadInputError('are two ways to say one thing: give one of them.', { field: '--runs and --scores' });
  }
  const read =
    scores === undefined
      ? await benchmarkOfRuns(runs ?? [], labels ?? [], 'calibration')
      : await benchmarkOfMatrix(scores, 'calibration');
  const models = read.runs.flatMap(({ provenance }) => [provenance.verifier_model, provenance.test_model]);
  const known = [...new Set(models.filter((model) => model !== null))].sort();
  const { calibration, reliability } = fitCalibration(read.issues, known);
  await writeFile(out, `${JSON.stringify(calibration, null, 2)}\n`).catch((error: unknown) => {
    throw new BadInputError(`cannot be written: ${(error as Error).message}`, { file: out, field: '--out' });
  });
  const { labels: behind, data_card } = calibration;
  if (json === true) printJson({ out, labels: behind, data_card, reliability });
  else printText(reliabilityTable(calibration, reliability, out));
}
