import { type Command, Option } from 'commander';
import { BadInputError } from '../core/errors/errors.js';
import type { GeneratedTest } from '../core/run/generated-test.js';
import { RunRequest } from '../core/run/run-request.js';
import { readAllTests } from '../io/inputs/candidates.js';
import { type LabelsByInstance, readAllLabels } from '../reports/labels.js';
import { presetsForRuns } from '../runs/rescore-run.js';
import { collected, count } from './options.js';

export interface RunOptions {
  readonly issue: string;
  readonly split?: string;
  readonly tests?: string;
  readonly labels?: string;
  readonly image: readonly string[];
  readonly instance: readonly string[];
  readonly verifiers?: string;
  readonly preset: string;
  readonly parallel: number;
}

/** What `solve` and `select` are told about a run beside the trajectories. */
export function withRunOptions(command: Command): Command {
  return withIssueOptions(command)
    .option('--tests <file>', 'saved generated tests, instead of those that BESTK_TEST_MODEL writes')
    .option('--labels <file>', 'labels, shown beside the selection; no verifier and no stage can see them')
    .option(
      '--verifiers <list>',
      'ef (execution-free; or ef:rubric, ef:pairwise, ef:pairs), eb (execution-based), or both: ef,eb',
    )
    .addOption(presetOption())
    .addOption(parallelOption());
}

/** Which issues a command is about. */
export function withIssueOptions(command: Command): Command {
  return command
    .requiredOption('--issue <path>', 'the issue, or a data set of many (bestk datasets show says which are read)')
    .option('--split <name>', 'of a data set that is a folder with several; test by default')
    .option('--instance <id>', 'which instance; again for another', collected, [])
    .addOption(imageOption());
}

export function imageOption(): Option {
  return new Option(
    '--image <template>',
    'container image, also OWNER/NAME=TEMPLATE for one repository; {instance_id}, {repo} and {image_name} are replaced',
  )
    .argParser<readonly string[]>(collected)
    .default([]);
}

export function presetOption(): Option {
  const names = presetsForRuns().join(', ');
  return new Option('--preset <name>', `how the verdicts are combined: ${names}`).default('deepswe');
}

export function parallelOption(): Option {
  return new Option('--parallel <n>', 'of many instances, how many are under way at once')
    .argParser<number>(count)
    .default(4);
}

/** `ef, eb` as a list; undefined = what the settings allow. */
export function verifierNames({ verifiers }: { readonly verifiers?: string | null | undefined }): string[] | undefined {
  return verifiers?.split(',').map((name) => name.trim());
}

/** @throws BadInputError naming the field */
export function runRequest(asked: unknown): RunRequest {
  const parsed = RunRequest.safeParse(asked);
  if (parsed.success) return parsed.data;
  const [problem] = parsed.error.issues;
  throw new BadInputError(problem?.message ?? 'is not a valid request', { field: problem?.path.join('.') ?? '' });
}

/** The saved tests of some instances; null = none were named. @throws BadInputError when there is none for any of them */
export async function givenTests(
  file: string | undefined,
  instances: readonly string[],
): Promise<ReadonlyMap<string, GeneratedTest[]> | null> {
  return file === undefined ? null : readAllTests(file, instances);
}

/** Read at once, so that a wrong file is told before the work; shown after it. @throws BadInputError */
export async function givenLabels(file: string | undefined): Promise<LabelsByInstance | null> {
  return file === undefined ? null : readAllLabels(file);
}
