import { existsSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { z } from 'zod';
import { findPreset, parsePreset, PRESET_NAMES } from '../../verifiers/hybrid/presets.js';
import { parsed } from '../core/errors/errors.js';
import type { GeneratedTest } from '../core/run/generated-test.js';
import type { Issue } from '../core/run/issue.js';
import { DEFAULT_PRESET, type GivenRule } from '../core/run/run-request.js';
import { JUDGE_METHODS } from '../core/run/verifier.js';
import { Calibration, Combiner } from '../core/run/fitted.js';
import { readYaml } from '../io/inputs/yaml.js';
import { readAllTests } from '../io/inputs/candidates.js';
import { readIssues } from '../io/datasets/data-set.js';
import { presetsForRuns } from '../runs/run-intake.js';
import { collected, count, probability } from './command.js';
import { printNote } from './output.js';

/** Options that determine how the verdicts are decided. */
export interface RuleOptions {
  readonly preset?: string;
  readonly combiner?: string;
  readonly calibration?: string;
  readonly minConfidence?: number;
}

/** Options that choose the issues. */
export interface IssueOptions {
  readonly issue: string;
  readonly split?: string;
  readonly image: readonly string[];
  readonly instance: readonly string[];
}

export interface RunOptions extends RuleOptions, IssueOptions {
  readonly tests?: string;
  readonly labels?: string;
  readonly verifiers?: string;
  readonly parallel: number;
}

/** Options of `solve` and `select` that do not concern sampling. @param labels what `--labels` takes */
export function withRunOptions(command: Command, issueRequired = true, labels = 'labels.jsonl'): Command {
  withIssueOptions(command, issueRequired)
    .option('--tests <file>', 'saved generated tests, instead of those that BESTK_TEST_MODEL writes')
    .option('--labels <path>', `${labels}, shown next to the selection; verifiers and stages never see them`)
    .option(
      '--verifiers <list>',
      `eb (execution-based), ef (execution-free) or ef:METHOD@MODEL, comma-separated: ef,eb; METHOD is ${JUDGE_METHODS.join(', ')}; none: verify nothing (combine with --preset majority)`,
    )
    .addOption(parallelOption());
  return withRuleOptions(command);
}

export function withIssueOptions(command: Command, required = true): Command {
  return command
    .addOption(
      new Option('--issue <path>', 'the issue, or a data set (see bestk datasets show)').makeOptionMandatory(required),
    )
    .option('--split <name>', 'split of a data set folder (default: test)')
    .option('--instance <id>', 'instance to use; repeatable', collected, [])
    .addOption(imageOption());
}

export function imageOption(): Option {
  return new Option(
    '--image <template>',
    'container image, or OWNER/NAME=IMAGE for one repository; may contain {instance_id}, {repo} and {image_name}',
  )
    .argParser<readonly string[]>(collected)
    .default([]);
}

export function withRuleOptions(command: Command): Command {
  const names = presetsForRuns().join(', ');
  return command
    .option('--preset <name>', `rule that combines the verdicts: ${names}, or a file (default: ${DEFAULT_PRESET})`)
    .option('--combiner <file>', 'decide by a combiner written by `bestk curves --save-combiner`')
    .option('--calibration <file>', 'likelihoods written by `bestk calibrate`, for P(right) and confidence')
    .option('--min-confidence <p>', 'return no patch (exit 4) if its confidence is below this, 0..1', probability);
}

/** The rule given by the options, with its files read. @throws BadInputError naming file and field */
export async function readRule({ preset, combiner, calibration, minConfidence }: RuleOptions): Promise<GivenRule> {
  return {
    preset: preset === undefined ? undefined : await readPreset(preset),
    combiner: combiner === undefined ? undefined : await readFitted(combiner, Combiner),
    calibration: calibration === undefined ? undefined : await readFitted(calibration, Calibration),
    min_confidence: minConfidence,
  };
}

async function readPreset(name: string): Promise<GivenRule['preset']> {
  return isPresetFile(name) ? parsePreset(await readYaml(name), name) : findPreset(name).name;
}

/**
 * Whether a preset is given as a file: what no preset is called, and exists or is named like one.
 * @param path of the file, where it is not relative to the working directory
 */
export function isPresetFile(name: string, path = name): boolean {
  if (PRESET_NAMES.some((known) => known === name)) return false;
  return /\.(ya?ml|json)$/i.test(name) || existsSync(path);
}

/** Reads saved parameters that were fitted to labels. @throws BadInputError naming file and field */
export async function readFitted<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  return parsed(schema, await readYaml(file), { file });
}

export function estimateOption(): Option {
  return new Option('--estimate', 'print the least, likely and most model calls, tokens and dollars, and exit');
}

export function parallelOption(): Option {
  return new Option('--parallel <n>', 'instances to process at the same time').argParser<number>(count).default(4);
}

/** `ef, eb` as a list, `none` as an empty one; undefined = those the settings allow. */
export function verifierNames({ verifiers }: { readonly verifiers?: string | null | undefined }): string[] | undefined {
  return verifiers?.trim() === 'none' ? [] : verifiers?.split(',').map((name) => name.trim());
}

/** @throws BadInputError naming file, line and field */
export function givenIssues({ issue, instance, image, split }: IssueOptions): Promise<readonly Issue[]> {
  const instances = instance.length === 0 ? undefined : instance;
  return readIssues(issue, { instances, image, split, onUnread: printNote });
}

/**
 * The saved tests of an instance. None in the file = an empty list, so that none are written; no file = null.
 * @throws BadInputError when the file has none for any of the instances
 */
export async function givenTests(
  file: string | undefined,
  instances: readonly string[],
): Promise<(instanceId: string) => GeneratedTest[] | null> {
  if (file === undefined) return () => null;
  const tests = await readAllTests(file, instances);
  return (id) => tests.get(id) ?? [];
}
