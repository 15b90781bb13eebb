import { join } from 'node:path';
import type { Command } from 'commander';
import pLimit from 'p-limit';
import { BadInputError, EXIT } from '../core/errors/errors.js';
import { contentKey } from '../core/fingerprint.js';
import { ImportedFolder } from '../io/saved-runs/imported-folder.js';
import { entriesOfRun } from '../runs/entries.js';
import { importSummary } from '../reports/write-import.js';
import { readAllLabels } from '../reports/labels.js';
import { RescoreFiles, type Skipped } from '../reports/rescore-files.js';
import { writeImport } from '../reports/write-import.js';
import { findPreset } from '../../verifiers/hybrid/presets.js';
import { printJson, printProgress, printText } from './answer.js';
import type { App, OpenApp } from './app.js';
import { rescoreRequest, type RescoreOptions } from './rescore-request.js';
import { presetOption } from './run-options.js';
import { runOne, untilInterrupted } from './run-to-end.js';

const EXAMPLE = `
Example:
  $ bestk rescore --input runs/ --verifiers ef --out rescored/
  $ bestk rescore --input output.jsonl preds/ --issues rows.jsonl --labels reports/ \\
      --image 'swebench/sweb.eval.x86_64.{instance_id}' --preset deepswe --out rescored/

The input is anything that import reads, an import's folder too. Statements come with the runs or from --issues (bestk's
own issues or SWE-bench rows); images from there or from --image, where {instance_id} is replaced. Without an image only
execution-free verifiers run. The folder gets a report an instance, selections.jsonl, predictions.jsonl (SWE-bench,
the selected patches), skipped.jsonl and, where labels are known, scores.jsonl for curves. A label is looked at when the
selection of its instance is made, never before.

Exit: 0 done, 2 bad input or nothing to rescore, 3 Docker or the model is not available, 130 interrupted (the same
command goes on where it stopped).`;

/** `bestk rescore`: verify and select again among saved runs of any format. */
export function registerRescore(program: Command, openApp: OpenApp): void {
  program
    .command('rescore')
    .description('score saved trajectories again and select among them')
    .requiredOption('--input <path...>', 'files and folders of any format that import reads')
    .requiredOption('--out <dir>', 'folder for the reports')
    .option('--labels <path...>', 'labels or harness reports, for the figures alone')
    .option('--issues <file>', 'statements and environments of instances whose runs name none')
    .option('--image <template>', 'container image; {instance_id} is replaced')
    .option('--verifiers <list>', 'ef, ef:rubric, ef:pairwise, eb; by default what settings and images allow')
    .addOption(presetOption())
    .option('--parallel <n>', 'instances under way at once', '4')
    .option('--json', 'one JSON document on stdout')
    .addHelpText('after', EXAMPLE)
    .action(async (options: RescoreOptions) => {
      process.exitCode = await rescore(options, openApp);
    });
}

async function rescore(options: RescoreOptions, openApp: OpenApp): Promise<number> {
  findPreset(options.preset);
  const imported = join(options.out, 'imported');
  const summary = await writeImport([...options.input, ...(options.labels ?? [])], imported);
  printProgress(importSummary(summary, imported));
  const files = new RescoreFiles(options.out);
  await files.begin();
  const { done, skipped } = await rescoreAll(options, await openApp(), { imported, files });
  await files.finish(skipped);
  const told = { rescored: done, skipped: skipped.length, candidates: summary.candidates, out: options.out };
  if (options.json === true) printJson(told);
  else
    printText(`${done} instances rescored, ${skipped.length} skipped (skipped.jsonl says why). Report: ${options.out}`);
  return done === 0 ? EXIT.badInput : EXIT.done;
}

interface Places {
  readonly imported: string;
  readonly files: RescoreFiles;
}

async function rescoreAll(
  options: RescoreOptions,
  app: App,
  { imported, files }: Places,
): Promise<{ done: number; skipped: readonly Skipped[] }> {
  const skipped: Skipped[] = [];
  let done = 0;
  await untilInterrupted(app, async (signal) => {
    const folder = await ImportedFolder.open(imported);
    const instances = folder.instances();
    let opened: ReturnType<typeof readAllLabels> | null = null;
    const labels = (): ReturnType<typeof readAllLabels> => (opened ??= readAllLabels(join(imported, 'labels.jsonl')));
    const limit = pLimit(Math.max(1, Number(options.parallel) || 1));
    const one = async (instance: (typeof instances)[number]): Promise<void> => {
      signal.throwIfAborted();
      const { instance_id } = instance;
      try {
        const request = await rescoreRequest(options, instance, await folder.candidates(instance_id), app.dependencies);
        const run = await runOne(
          app,
          { key: `rescore:${contentKey(request)}`, request, onEvent: () => undefined },
          signal,
        );
        const entries = entriesOfRun(request, run.result);
        await files.add(run, entries, (await labels()).get(instance_id) ?? null);
        done += 1;
        printProgress(
          `${instance_id}: ${run.result.selection.candidate_id ?? 'none'} (${done} of ${instances.length})`,
        );
      } catch (error) {
        if (!(error instanceof BadInputError)) throw error;
        skipped.push({ instance_id, reason: error.message });
      }
    };
    await Promise.all(instances.map((instance) => limit(() => one(instance))));
  });
  return { done, skipped };
}
