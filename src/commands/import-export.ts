import { type Command, Option } from 'commander';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { EXIT } from '../core/errors/errors.js';
import { importSummary, writeImport } from '../reports/write-import.js';
import { makeFolder, modelName } from '../reports/write-run.js';
import { writable } from './command.js';
import { visibleJson } from '../core/hostile-text.js';
import { printJson, printNote, printText } from './output.js';
import { parseRecord, readRecords } from '../io/records/records.js';
import { describeCandidates } from '../runs/entries.js';
import {
  EXPORT_FORMATS,
  exportRows,
  type Converse,
  type ExportFormat,
  type ExportOptions as RowOptions,
} from '../reports/exports/export-rows.js';
import { exportSource } from '../reports/exports/export-formats.js';
import { readLabels } from '../reports/benchmark/read-benchmark.js';
import { ImportLabels } from '../reports/labels.js';

interface ImportOptions {
  readonly out: string;
  readonly json?: true;
}

const IMPORT_EXAMPLE = `
Example:
  $ bestk import runs/ preds.json output.jsonl.gz --out imported/

Reads R2E-Gym JSONL, SWE-agent .traj, mini-swe-agent .traj.json, OpenHands output.jsonl, Harbor/ATIF trials, published
trajectories (nebius, nvidia, SWE-Gym, SWE-smith), SWE-bench predictions and reports, Augment's and Trae's selector input,
and bestk's own candidates and labels; .gz, .zst and .parquet too.
Formats are detected from content; folders are searched recursively. The folder gets candidates.jsonl, trajectories.jsonl, issues.jsonl,
rejected.jsonl (file, line, byte and reason of each unreadable record) and, kept apart, labels.jsonl with everything
that reveals the outcome: rewards, reports, gold patches, hidden tests and their logs.

Exit: 0 done, 2 bad input or nothing could be read.`;

/** `bestk import`: reads any saved format, writes candidates and sealed labels. */
export function registerImport(program: Command): void {
  program
    .command('import')
    .description('read saved trajectories and predictions of any known format')
    .argument('<path...>', 'files and folders')
    .requiredOption('--out <dir>', 'folder for the candidates and the sealed labels')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', IMPORT_EXAMPLE)
    .action(async (paths: string[], { out, json }: ImportOptions) => {
      const summary = await writeImport(paths, out);
      if (json === true) printJson({ ...summary, out });
      else printText(importSummary(summary, out));
      process.exitCode = summary.candidates + summary.labelled === 0 ? EXIT.badInput : EXIT.done;
    });
}

interface ExportOptions {
  readonly run: string;
  readonly format: ExportFormat;
  readonly out?: string;
  readonly labels?: string;
  readonly reference?: string;
  readonly json?: true;
}

const EXPORT_EXAMPLE = `
Example:
  $ bestk export --run rescored/ --format swe-bench --out preds.jsonl
  $ bestk export --run imported/ --format pairs --labels imported/labels.jsonl --out train.jsonl

Of a folder that select, solve, rescore or import left:
  swe-bench    predictions of the selected patches, for the official harness
  predictions  all candidates as predictions, named by their ids
  r2e-gym      R2E-Gym trajectories with verifier_prob, reproduction_test_scores, regression_test_output (and reward)
  scores       score matrix for curves (with the labels given, else without)
  pairs        conversations to train a YES/NO verifier, as many right as wrong, split by repository
  rl           outcome reward, compact-filter mask, leave-one-out advantage; with --reference the similarity reward
pairs and rl need --labels (labels.jsonl of import or grade, or reports of the SWE-bench harness); --reference are rows with instance_id and patch.
Without --out the lines go to stdout, with --json as one list. A folder as --out gets predictions.jsonl (swe-bench),
all-predictions.jsonl (predictions), or a file named after the format.

Exit: 0 done, 2 bad input.`;

/** `bestk export`: writes bestk's data in formats that other tools read. */
export function registerExport(program: Command, openConverse: () => Promise<Converse>): void {
  program
    .command('export')
    .description('write predictions, trajectories, training pairs or rewards')
    .requiredOption('--run <dir>', 'folder of select, solve, rescore or import')
    .addOption(new Option('--format <name>', 'what to write').choices(EXPORT_FORMATS).default('swe-bench'))
    .option('--out <path>', 'JSONL file to write, or an existing folder (default: stdout)')
    .option('--labels <path>', 'labels.jsonl, or a harness report or a folder of them')
    .option('--reference <file>', 'reference patches, for the similarity reward')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXPORT_EXAMPLE)
    .action(async (options: ExportOptions) => {
      const { run: folder, format, out, json } = options;
      const labels =
        options.labels === undefined ? null : await readLabels(options.labels, () => candidatesIn(folder), printNote);
      const references =
        options.reference === undefined ? new Map<string, string>() : await readReferences(options.reference);
      const rows = exportRows({ folder, format, labels, references, converse: await openConverse(), entriesOf });
      if (out === undefined) await printRows(rows, json === true);
      else {
        const file = await fileOf(out, format);
        const count = await writeRows(file, rows);
        if (json === true) printJson({ format, rows: count, out: file });
        else printText(`${count} lines of ${format}: ${file}`);
      }
      process.exitCode = EXIT.done;
    });
}

/** The candidates of a run or an import, for labels that do not name theirs. */
async function candidatesIn(folder: string): Promise<ImportLabels> {
  const join = new ImportLabels();
  for await (const { instance_id, candidates, selection, preset } of exportSource(folder)) {
    for (const each of candidates)
      join.candidate({ ...each, instance_id, origin: { file: `${folder}/candidates.jsonl` } });
    if (selection !== null) join.returns(instance_id, { ...selection, model: modelName(preset) });
  }
  return join;
}

function entriesOf({
  candidates,
  verdicts,
  problem_statement,
}: Parameters<ExportedEntries>[0]): ReturnType<ExportedEntries> {
  return describeCandidates(candidates, verdicts, problem_statement).map(({ entry }) => entry);
}

type ExportedEntries = RowOptions['entriesOf'];

const Reference = z.object({ instance_id: z.string(), patch: z.string() });

async function readReferences(file: string): Promise<ReadonlyMap<string, string>> {
  const references = new Map<string, string>();
  for await (const record of readRecords(file)) {
    const { instance_id, patch } = parseRecord(Reference, record);
    references.set(instance_id, patch);
  }
  return references;
}

async function printRows(rows: AsyncIterable<unknown>, asJson: boolean): Promise<void> {
  const all: unknown[] = [];
  for await (const row of rows) {
    if (asJson) all.push(row);
    else printText(visibleJson(row));
  }
  if (asJson) printJson(all);
}

/** The file to write: `out` itself, or one named by the format in the folder `out`. */
async function fileOf(out: string, format: ExportFormat): Promise<string> {
  const isFolder = out.endsWith('/') || (await stat(out).catch(() => null))?.isDirectory() === true;
  const names: Partial<Record<ExportFormat, string>> = { 'swe-bench': 'predictions', predictions: 'all-predictions' };
  return isFolder ? join(out, `${names[format] ?? format}.jsonl`) : out;
}

/** Atomic: writes a temporary file and renames it at the end. @throws BadInputError if it cannot be written */
async function writeRows(file: string, rows: AsyncIterable<unknown>): Promise<number> {
  const unfinished = `${file}.${process.pid}.part`;
  const named = <T>(done: Promise<T>): Promise<T> => writable(done, file);
  await named(makeFolder(dirname(resolve(file))));
  const stream = await named(open(unfinished, 'w'));
  let count = 0;
  try {
    for await (const row of rows) {
      count += 1;
      await named(stream.appendFile(`${JSON.stringify(row)}\n`));
    }
    await stream.close();
    await named(rename(unfinished, file));
  } catch (error) {
    await stream.close();
    await rm(unfinished, { force: true });
    throw error;
  }
  return count;
}
