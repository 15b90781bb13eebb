import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Option, type Command } from 'commander';
import { z } from 'zod';
import { EXIT } from '../core/errors/errors.js';
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
import { printJson, printText } from './answer.js';

interface ExportOptions {
  readonly run: string;
  readonly format: ExportFormat;
  readonly out: string;
  readonly labels?: string;
  readonly reference?: string;
  readonly json?: true;
}

const EXAMPLE = `
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

/** `bestk export`: what bestk knows, in the forms that other tools read. */
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
    .addHelpText('after', EXAMPLE)
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

/** Whole or not at all. */
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
