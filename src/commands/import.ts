import type { Command } from 'commander';
import { EXIT } from '../core/errors/errors.js';
import { importSummary } from '../reports/write-import.js';
import { writeImport } from '../reports/write-import.js';
import { printJson, printText } from './answer.js';

interface ImportOptions {
  readonly out: string;
  readonly json?: true;
}

const EXAMPLE = `
Example:
  $ bestk import runs/ preds.json output.jsonl.gz --out imported/

Reads R2E-Gym JSONL, SWE-agent .traj, mini-swe-agent .traj.json, OpenHands output.jsonl, Harbor/ATIF trials, SWE-bench
predictions and reports, Augment's and Trae's selector input, and bestk's own candidates and labels; .gz and .zst too.
Formats are told by content; folders are walked. The folder gets candidates.jsonl, trajectories.jsonl, issues.jsonl,
rejected.jsonl (file, line, byte and reason of what could not be read) and, sealed apart, labels.jsonl with everything
that tells the outcome: rewards, reports, gold patches, hidden tests and their logs.

Exit: 0 done, 2 bad input or nothing could be read.`;

/** `bestk import`: any saved format in, candidates and sealed labels out. */
export function registerImport(program: Command): void {
  program
    .command('import')
    .description('read saved trajectories and predictions of any known format')
    .argument('<path...>', 'files and folders')
    .requiredOption('--out <dir>', 'folder for the candidates and the sealed labels')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (paths: string[], { out, json }: ImportOptions) => {
      const summary = await writeImport(paths, out);
      if (json === true) printJson({ ...summary, out });
      else printText(importSummary(summary, out));
      process.exitCode = summary.candidates + summary.labelled === 0 ? EXIT.badInput : EXIT.done;
    });
}
