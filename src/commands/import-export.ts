import { type Command, Option } from 'commander';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { z } from 'zod';
import { EXIT } from '../core/errors/errors.js';
import { importSummary, writeImport } from '../reports/write-import.js';
import { printJson, printText } from './output.js';
import { parseRecord, readRecords } from '../io/records/records.js';
import { describeCandidates } from '../runs/entries.js';
import {
  EXPORT_FORMATS,
  exportRows,
  type Converse,
  type ExportFormat,
  type ExportOptions as RowOptions,
} from '../reports/exports/export-rows.js';
import { readAllLabels } from '../reports/labels.js';

interface ImportOptions {
  readonly out: string;
  readonly json?: true;
}

const IMPORT_EXAMPLE = `
Example:
  $ bestk import runs/ preds.json output.jsonl.gz --out imported/

Reads R2E-Gym JSONL, SWE-agent .traj, mini-swe-agent .traj.json, OpenHands output.jsonl, Harbor/ATIF trials, SWE-bench
predictions and reports, Augment's and Trae's selector input, and bestk's own candidates and labels; .gz and .zst too.
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
  readonly out: string;
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
pairs and rl need --labels (labels.jsonl of import or grade); --reference are rows with instance_id and patch.

Exit: 0 done, 2 bad input.`;

/** `bestk export`: writes bestk's data in formats that other tools read. */
export function registerExport(program: Command, openConverse: () => Promise<Converse>): void {
  program
    .command('export')
    .description('write predictions, trajectories, training pairs or rewards')
    .requiredOption('--run <dir>', 'folder of select, solve, rescore or import')
    .addOption(new Option('--format <name>', 'what to write').choices(EXPORT_FORMATS).default('swe-bench'))
    .requiredOption('--out <file>', 'JSONL file to write')
    .option('--labels <file>', 'labels.jsonl')
    .option('--reference <file>', 'reference patches, for the similarity reward')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXPORT_EXAMPLE)
    .action(async (options: ExportOptions) => {
      const { run: folder, format, out, json } = options;
      const labels = options.labels === undefined ? null : await readAllLabels(options.labels);
      const references =
        options.reference === undefined ? new Map<string, string>() : await readReferences(options.reference);
      const rows = await writeRows(
        out,
        exportRows({ folder, format, labels, references, converse: await openConverse(), entriesOf }),
      );
      if (json === true) printJson({ format, rows, out });
      else printText(`${rows} lines of ${format}: ${out}`);
      process.exitCode = EXIT.done;
    });
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

/** Atomic: writes a temporary file and renames it at the end. */
async function writeRows(file: string, rows: AsyncIterable<unknown>): Promise<number> {
  const unfinished = `${file}.${process.pid}.part`;
  const stream = createWriteStream(unfinished);
  let count = 0;
  try {
    for await (const row of rows) {
      count += 1;
      if (!stream.write(`${JSON.stringify(row)}\n`)) await once(stream, 'drain');
    }
    stream.end();
    await once(stream, 'finish');
  } catch (error) {
    stream.destroy();
    await rm(unfinished, { force: true });
    throw error;
  }
  await rename(unfinished, file);
  return count;
}
