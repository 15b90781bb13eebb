import { writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import { writable } from './command.js';
import { printJson, printNote, printText } from './output.js';
import { withCombiner } from '../../verifiers/hybrid/features.js';
import type { Knowledge } from '../../verifiers/hybrid/pool.js';
import { learnedPreset } from '../../verifiers/hybrid/presets.js';
import { Combiner } from '../core/run/fitted.js';
import type { Preset } from '../core/run/preset.js';
import type { ScoredIssue } from '../statistics/curves/scored-issue.js';
import { trainCombiner } from '../statistics/combiner/train-combiner.js';
import { readFitted } from './run-options.js';

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
    .description('fit the likelihoods of judges and tests on labelled runs, for P(right) and confidence')
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
  const { unknownLabelsIn } = await import('../statistics/curves/unknown-labels.js');
  if ((scores === undefined) === (runs === undefined)) {
    throw new BadInputError('exclude each other: use one of them.', { field: '--runs and --scores' });
  }
  const read =
    scores === undefined
      ? await benchmarkOfRuns(runs ?? [], labels ?? [], 'calibration', printNote)
      : await benchmarkOfMatrix(scores, 'calibration');
  const models = read.runs.flatMap(({ provenance }) => [provenance.verifier_model, provenance.test_model]);
  const known = [...new Set(models.filter((model) => model !== null))].sort();
  const { calibration, reliability } = fitCalibration(read.issues, known);
  await writable(writeFile(out, `${JSON.stringify(calibration, null, 2)}\n`), out);
  const { labels: behind, data_card } = calibration;
  const unknown_labels = unknownLabelsIn(read.issues);
  if (json === true) printJson({ out, labels: behind, unknown_labels, data_card, reliability });
  else printText(reliabilityTable(calibration, { reliability, unknown: unknown_labels }, out));
}

export interface LearnedOptions {
  readonly learn?: true;
  readonly combiner?: string;
  readonly saveCombiner?: string;
  readonly abstainBelow?: number;
}

type LearnedIssues = AsyncIterable<ScoredIssue> | Iterable<ScoredIssue>;

interface WithLearned {
  readonly issues: LearnedIssues;
  readonly presets: readonly Preset[];
  readonly knowledge: ((instanceId: string) => Knowledge) | undefined;
}

/**
 * Adds a combiner's probabilities and the preset `learned`; the combiner is trained here and cross-fitted, or read from a file.
 * Training holds all issues in memory; otherwise they are streamed.
 * @throws BadInputError
 */
export async function withLearned(
  options: LearnedOptions,
  issues: AsyncIterable<ScoredIssue>,
  presets: readonly Preset[],
): Promise<WithLearned> {
  if (options.learn === true) return train(options, issues, presets);
  if (options.saveCombiner !== undefined || options.abstainBelow !== undefined) {
    throw new BadInputError('needs --learn.', {
      field: options.saveCombiner === undefined ? '--abstain-below' : '--save-combiner',
    });
  }
  if (options.combiner === undefined) return { issues, presets, knowledge: undefined };
  const combiner = await readFitted(options.combiner, Combiner);
  return {
    issues: scoredBy(combiner, issues),
    presets: adding(learnedPreset(combiner), presets),
    knowledge: () => ({ combiner, calibration: null }),
  };
}

async function train(
  options: LearnedOptions,
  issues: AsyncIterable<ScoredIssue>,
  presets: readonly Preset[],
): Promise<WithLearned> {
  if (options.combiner !== undefined) throw new BadInputError('cannot be given with --learn.', { field: '--combiner' });
  const all: ScoredIssue[] = [];
  for await (const issue of issues) all.push(issue);
  const { combiner, heldOut, knowledge } = trainCombiner(all, options.abstainBelow ?? null);
  const { saveCombiner: file } = options;
  if (file !== undefined)
    await writable(writeFile(file, `${JSON.stringify(combiner, null, 2)}\n`), file, '--save-combiner');
  return { issues: heldOut, presets: adding(learnedPreset(combiner), presets), knowledge };
}

function adding(preset: Preset, presets: readonly Preset[]): readonly Preset[] {
  return [...presets.filter(({ name }) => name !== preset.name), preset];
}

async function* scoredBy(combiner: Combiner, issues: AsyncIterable<ScoredIssue>): AsyncGenerator<ScoredIssue> {
  for await (const issue of issues) {
    const entries = withCombiner(
      issue.candidates.map(({ entry }) => entry),
      combiner,
    );
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    yield {
      ...issue,
      candidates: issue.candidates.map((each) => ({ ...each, entry: byId.get(each.entry.id) ?? each.entry })),
    };
  }
}
