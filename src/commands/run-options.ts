import { type Command, Option } from 'commander';
import { presetsForRuns } from '../runs/rescore-run.js';

export interface RunOptions {
  readonly tests?: string;
  readonly labels?: string;
  readonly image?: string;
  readonly instance?: string;
  readonly verifiers?: string;
  readonly preset: string;
}

/** What `solve` and `select` are told about a run beside the trajectories. */
export function withRunOptions(command: Command): Command {
  return command
    .option('--tests <file>', 'saved generated tests, instead of those that BESTK_TEST_MODEL writes')
    .option('--labels <file>', 'labels, shown beside the selection; no verifier and no stage can see them')
    .option('--image <name>', 'container image of the instance, when the issue names none')
    .option('--instance <id>', 'which instance, when a file holds several')
    .option(
      '--verifiers <list>',
      'ef (execution-free; or ef:rubric, ef:pairwise), eb (execution-based), or both: ef,eb',
    )
    .addOption(presetOption());
}

export function presetOption(): Option {
  const names = presetsForRuns().join(', ');
  return new Option('--preset <name>', `how the verdicts are combined: ${names}`).default('deepswe');
}
