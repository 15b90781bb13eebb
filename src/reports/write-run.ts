import { existsSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { BadInputError } from '../core/errors/errors.js';
import type { Candidate } from '../core/run/candidate.js';
import type { Issue } from '../core/run/issue.js';
import { candidateOf, type Rollout } from '../core/run/rollout.js';
import type { RunRequest } from '../core/run/run-request.js';
import type { AgentDescription, RunResult } from '../core/run/run-result.js';
import { poolOfRun } from '../runs/entries.js';
import { tryParse } from '../io/records/records.js';
import { isRunning } from '../core/async/concurrency.js';

export interface FinishedRun {
  readonly id: string;
  readonly createdAt: string;
  readonly request: RunRequest;
  readonly result: RunResult;
}

/**
 * Creates the folder, so that a command fails before any work if it cannot.
 * @throws BadInputError
 */
export async function prepareFolder(folder: string): Promise<void> {
  try {
    await makeFolder(resolve(folder));
    // The decision of an earlier run must not remain next to this run's evidence.
    await rm(join(folder, 'selection.json'), { force: true });
  } catch (error) {
    throw new BadInputError(`cannot be made: ${(error as Error).message}`, { file: folder, field: '--out' });
  }
}

/**
 * Writes everything needed to replay a finished run's decision without a model or Docker. Each file is written atomically;
 * `selection.json` is last, so if it exists the others do.
 * @returns the run's candidates
 */
export async function writeRun(folder: string, run: FinishedRun): Promise<readonly Candidate[]> {
  const { id, createdAt, request, result } = run;
  await prepareFolder(folder);
  const candidates = request.candidates ?? result.rollouts.map(candidateOf);
  const { selection, verdicts, cells, usage, patch, statistics, provenance, sampling } = result;
  const tests = { admissions: result.admissions, test_quality: result.test_quality };
  // As seen by the stages, so that a report does not need the patches.
  const { entries, authors } = poolOfRun(request, result);
  const test_authors = Object.fromEntries(authors);
  const { measures } = result;
  const about = { id, created_at: createdAt, statistics, provenance, sampling, usage, measures };
  const files: [string, string][] = [
    ['run.json', json({ ...about, ...tests, entries, test_authors, request })],
    ['verdicts.jsonl', lines(verdicts)],
    ['matrix.jsonl', lines(cells)],
    ['usage.json', json(usage)],
    ['patch.diff', patch ?? ''],
    ...(result.tests.length === 0 ? [] : [['tests.jsonl', lines(result.tests)] satisfies [string, string]]),
    ['candidates.jsonl', lines(candidates)],
    ['predictions.jsonl', lines([selectedPrediction(request.preset, result)])],
    ...rolloutFiles(request.issue, result),
    ['selection.json', json(selection)],
  ];
  await removeEarlier(folder, 'set');
  await removeOptional(folder, run, new Map(files));
  for (const [name, content] of files) await writeWhole(join(folder, name), content);
  return candidates;
}

/** Names of files by which bestk recognises its own folders. */
const MARKS = {
  run: ['run.json', 'verdicts.jsonl', 'usage.json'],
  set: ['selections.jsonl', 'predictions.jsonl', 'skipped.jsonl'],
};
const OWN = {
  run: [...MARKS.run, 'matrix.jsonl', 'patch.diff', 'selection.json'],
  set: ['selections.jsonl', 'skipped.jsonl', 'scores.jsonl'],
};

function holds(folder: string, what: keyof typeof MARKS): boolean {
  return MARKS[what].every((name) => existsSync(join(folder, name)));
}

/** Whether the folder has a run or a set of bestk. */
export function isOwn(folder: string): boolean {
  return holds(folder, 'run') || holds(folder, 'set');
}

/** Removes the files of an earlier run or set at the top of the folder, as they would be taken for this command's. */
export async function removeEarlier(folder: string, what: keyof typeof OWN): Promise<void> {
  if (!holds(folder, what)) return;
  const made = what === 'run' ? (await madeBy(folder)).filter((name) => name !== 'tests.jsonl') : [];
  for (const name of [...OWN[what], ...made]) await rm(join(folder, name), { force: true });
}

const Earlier = z.object({
  sampling: z.unknown(),
  admissions: z.array(z.unknown()),
  request: z.object({ tests: z.unknown() }),
});

/** Files that only some runs write, of those that the earlier run in the folder did write: others may be input. */
async function madeBy(folder: string): Promise<readonly string[]> {
  const run = Earlier.safeParse(tryParse(await readFile(join(folder, 'run.json'), 'utf8'))).data;
  if (run === undefined) return [];
  const { sampling, admissions, request } = run;
  return [
    ...((sampling ?? null) === null ? [] : ['trajectories.jsonl']),
    ...(request.tests === null && admissions.length > 0 ? ['tests.jsonl'] : []),
  ];
}

/** Removes files of an earlier run that this one does not write, except what may be input of this one. */
async function removeOptional(
  folder: string,
  { request }: FinishedRun,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  if (!holds(folder, 'run')) return;
  const isSame = await readFile(join(folder, 'candidates.jsonl'), 'utf8').then(
    (earlier) => earlier === files.get('candidates.jsonl'),
    () => false,
  );
  const kept = [...(request.tests === null ? [] : ['tests.jsonl']), ...(isSame ? ['trajectories.jsonl'] : [])];
  const stale = (await madeBy(folder)).filter((name) => !files.has(name) && !kept.includes(name));
  for (const name of stale) await rm(join(folder, name), { force: true });
}

/** The name of a selection in fields that name a model. */
export function modelName(preset: string | null): string {
  return preset === null ? 'bestk' : `bestk-${preset}`;
}

/** The selected patch as the SWE-bench harness reads it: an empty patch if none was worth returning. */
export function selectedPrediction(
  preset: string,
  { selection, patch }: Pick<RunResult, 'selection' | 'patch'>,
): object {
  const { instance_id, candidate_id } = selection;
  return { ...prediction({ instance_id, model: modelName(preset), patch: patch ?? '' }), candidate_id };
}

/** One line of SWE-bench's predictions. */
export function prediction({ instance_id, model, patch }: Pick<Rollout, 'instance_id' | 'model' | 'patch'>): object {
  return { instance_id, model_name_or_path: model, model_patch: patch };
}

/** Replaces Node's recursive mkdir, which never returns where folders cannot be created, e.g. below /proc. */
export async function makeFolder(path: string): Promise<void> {
  if (!existsSync(dirname(path))) await makeFolder(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    // It may have been created meanwhile; a file of that name is still an error.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
    await removeLeftParts(path);
  }
}

/** Partial files, e.g. of {@link writeWhole}, left by a killed process. */
const PART = /\.(?:jsonl?|html|md|csv|svg|png|diff)\.(\d+)\.part$/;

async function removeLeftParts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = PART.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

/** Writes atomically: the path always has either the old or the whole new content. */
export async function writeWhole(path: string, content: string | Buffer): Promise<void> {
  const unfinished = `${path}.${process.pid}.part`;
  await writeFile(unfinished, content);
  await rename(unfinished, path);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

export function lines(values: readonly unknown[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join('');
}

/**
 * Files that sampling adds to a report: trajectories in R2E-Gym's format. None if the candidates were supplied.
 * @returns name and content of each file
 */
export function rolloutFiles(issue: Issue, { rollouts, provenance }: RunResult): [string, string][] {
  if (rollouts.length === 0) return [];
  const agentOf = ({ agent }: Rollout): AgentDescription | null =>
    provenance.agents.find(({ name }) => name === agent) ?? provenance.agent;
  return [['trajectories.jsonl', lines(rollouts.map((rollout) => r2eTrajectory(rollout, issue, agentOf(rollout))))]];
}

/** R2E-Gym's `Trajectory` (`src/r2egym/agenthub/trajectory/trajectory.py`); what bestk cannot know is null or empty. */
function r2eTrajectory(rollout: Rollout, issue: Issue, agent: AgentDescription | null): Record<string, unknown> {
  const { exit_reason, patch, candidate_id, instance_id } = rollout;
  const limit = (name: string): number | null => agent?.limits[name] ?? null;
  return {
    trajectory_steps: r2eSteps(rollout),
    problem_statement: issue.problem_statement,
    docker_image: issue.environment.image,
    exp_name: candidate_id,
    env_args: { instance_id, workdir: issue.environment.workdir, base_commit: issue.environment.base_commit },
    agent_args: {
      system_prompt: rollout.system_prompt,
      instance_prompt: rollout.instance_prompt,
      llm_name: rollout.model,
      other_args: { format: rollout.format, temperature: agent?.temperature ?? null },
    },
    ds: null,
    max_steps: limit('max_steps'),
    max_steps_absolute: limit('max_steps_absolute'),
    max_token_limit: limit('max_tokens'),
    max_llm_time: limit('model_call_s'),
    max_exec_time: limit('action_s'),
    max_total_time: limit('trajectory_s'),
    exit_reason,
    output_patch: patch,
    reward: null,
    reward_calc_time: null,
    test_output: null,
    custom_test_outputs: {},
    regression_test_output: null,
    verifier_prob: null,
    reproduction_test_scores: [],
  };
}

function r2eSteps({ steps }: Rollout): Record<string, unknown>[] {
  let total = 0;
  return steps.map((step, index) => {
    const { llm_s, env_s, input_tokens: input, output_tokens: output } = step;
    total += llm_s + env_s;
    return {
      step_idx: index,
      thought: step.thought,
      action: step.action,
      observation: step.observation,
      done: index === steps.length - 1,
      info: { exit_code: step.exit_code },
      token_usage_prompt: input,
      token_usage_completion: output,
      token_usage_total: input === null || output === null ? null : input + output,
      llm_exec_time: llm_s,
      env_exec_time: env_s,
      total_step_time: llm_s + env_s,
      total_time_traj: Math.round(total * 1000) / 1000,
      step_count: index + 1,
    };
  });
}
