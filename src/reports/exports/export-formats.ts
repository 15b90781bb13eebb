import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { diffLines } from 'diff';
import { Candidate, submitted } from '../../core/run/candidate.js';
import { Cell } from '../../core/run/generated-test.js';
import { BadInputError } from '../../core/errors/errors.js';
import { readText } from '../../io/records/records.js';
import { Selection } from '../../core/run/run-result.js';
import { Verdict, EXECUTION_FREE } from '../../core/run/verdict.js';
import { ImportedFolder } from '../../io/saved-runs/imported-folder.js';
import type { Labels } from '../label-book.js';
import { contentKey } from '../../core/identifier.js';
import { isReplaced, runsOfSet } from '../../io/saved-runs/saved-files.js';

/** The exported data of one instance; what was not computed is empty or null. */
export interface ExportedInstance {
  readonly instance_id: string;
  readonly problem_statement: string;
  readonly image: string | null;
  readonly candidates: readonly Candidate[];
  readonly verdicts: readonly Verdict[];
  readonly cells: readonly Cell[];
  readonly selection: Selection | null;
  /** Null if nothing was selected. */
  readonly preset: string | null;
}

const RunFile = z.object({
  request: z.object({
    issue: z.object({
      instance_id: z.string(),
      problem_statement: z.string(),
      environment: z.object({ image: z.string() }),
    }),
    candidates: z.array(Candidate).nullable(),
    preset: z.string(),
  }),
});

/**
 * The instances in a folder written by `select`, `solve`, `rescore` or `import`, one at a time.
 * @param every also runs that are left from earlier commands in the folder of a set
 * @throws BadInputError if it is none of these or damaged, naming the file
 */
export async function* exportSource(folder: string, every = false): AsyncGenerator<ExportedInstance> {
  if (existsSync(join(folder, 'run.json'))) {
    yield await ofRun(folder);
  } else if (existsSync(join(folder, 'selections.jsonl'))) {
    for (const run of every ? runsIn(folder) : await runsOfSet(folder)) {
      const instance = await ofRun(run);
      if (!isReplaced(run, instance.instance_id)) yield instance;
    }
  } else if (existsSync(join(folder, 'candidates.jsonl'))) {
    yield* ofImport(folder);
  } else {
    const at = { file: folder, field: '--run' };
    const arms = join(folder, 'arms');
    if (!existsSync(arms))
      throw new BadInputError('is not a bestk output folder.', at, 'Name the --out folder of a run.');
    const names = readdirSync(arms).map((name) => join(arms, name));
    throw new BadInputError('contains the arms of a benchmark.', at, `Name one of them: ${names.sort().join(', ')}`);
  }
}

function runsIn(folder: string): readonly string[] {
  const names = readdirSync(folder).sort();
  return names.map((name) => join(folder, name)).filter((each) => existsSync(join(each, 'run.json')));
}

async function ofRun(folder: string): Promise<ExportedInstance> {
  const { request } = await document(join(folder, 'run.json'), RunFile);
  const { issue } = request;
  return {
    instance_id: issue.instance_id,
    problem_statement: issue.problem_statement,
    image: issue.environment.image,
    candidates: request.candidates ?? (await rows(join(folder, 'candidates.jsonl'), Candidate)),
    verdicts: await rows(join(folder, 'verdicts.jsonl'), Verdict),
    cells: await rows(join(folder, 'matrix.jsonl'), Cell),
    selection: await document(join(folder, 'selection.json'), Selection),
    preset: request.preset,
  };
}

async function* ofImport(folder: string): AsyncGenerator<ExportedInstance> {
  const imported = await ImportedFolder.open(folder);
  for (const { instance_id, problem_statement, image } of imported.instances()) {
    const candidates = await imported.candidates(instance_id);
    const nothing = { verdicts: [], cells: [], selection: null, preset: null };
    yield { instance_id, problem_statement: problem_statement ?? '', image, candidates, ...nothing };
  }
}

async function document<T>(file: string, schema: z.ZodType<T>): Promise<T> {
  return parsed(file, undefined, await readText(file), schema);
}

async function rows<T>(file: string, schema: z.ZodType<T>): Promise<T[]> {
  const lines = (await readText(file)).split('\n');
  return lines.flatMap((line, index) => (line === '' ? [] : [parsed(file, index + 1, line, schema)]));
}

function parsed<T>(file: string, line: number | undefined, content: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(content));
  } catch {
    throw new BadInputError('is damaged or of another version.', { file, line }, 'Repeat the command that made it.');
  }
}

/**
 * A candidate as R2E-Gym's `Trajectory` (`src/r2egym/agenthub/trajectory/trajectory.py`), including the fields filled by its
 * verifiers: `verifier_prob`, `reproduction_test_scores` (1 solved, 0 not, ordered by test), `regression_test_output`.
 * @param resolved the label, null = unknown
 */
export function r2eTrajectory(instance: ExportedInstance, candidate: Candidate, resolved: boolean | null): unknown {
  const { candidate_id, patch, trajectory } = candidate;
  const verdict = instance.verdicts.find(
    (each) => each.kind === 'scored' && each.candidate_id === candidate_id && each.measure === EXECUTION_FREE.name,
  );
  return {
    trajectory_steps: (trajectory?.steps ?? []).map((step, index, all) => ({
      step_idx: index,
      ...step,
      done: index === all.length - 1,
      info: {},
      token_usage_prompt: null,
      token_usage_completion: null,
      token_usage_total: null,
      step_count: index + 1,
    })),
    problem_statement: instance.problem_statement,
    docker_image: instance.image ?? '',
    exp_name: candidate_id,
    env_args: { instance_id: instance.instance_id },
    agent_args: {},
    ds: null,
    exit_reason: trajectory?.exit_reason ?? null,
    output_patch: patch,
    reward: toReward(resolved),
    reward_calc_time: null,
    test_output: null,
    custom_test_outputs: {},
    regression_test_output: regressionLog(instance, candidate_id),
    verifier_prob: verdict?.kind === 'scored' ? verdict.score : null,
    reproduction_test_scores: testScores(instance, candidate_id),
  };
}

function toReward(resolved: boolean | null): number | null {
  return resolved === null ? null : Number(resolved);
}

function testScores({ cells }: ExportedInstance, id: string): readonly number[] {
  const own = cells.filter(({ candidate_id, suite }) => candidate_id === id && suite === 'reproduction');
  const last = new Map(own.map(({ test_id, outcome }) => [test_id, Number(outcome === 'solved')]));
  return [...last.keys()].sort().map((test) => last.get(test) ?? 0);
}

function regressionLog({ cells }: ExportedInstance, id: string): string | null {
  const cell = cells.find(({ candidate_id, suite }) => candidate_id === id && suite === 'regression');
  return cell === undefined ? null : `${cell.passed ?? 0} of ${cell.total ?? 0} passed\n${cell.log_tail}`;
}

/**
 * Rewards of one instance's rollouts for reinforcement learning, as in DeepSWE's GRPO++: the outcome reward; a mask that
 * excludes rollouts ended by a limit (compact filtering); the leave-one-out advantage, reward − mean reward of the other
 * unmasked rollouts, without scaling by the standard deviation (Dr. GRPO, RLOO). With a reference patch also SWE-RL's
 * similarity reward, 0..1, or −1 without a patch. Reward and
 * advantage are null if the label is unknown.
 */
export function rlRows(
  { instance_id, candidates }: ExportedInstance,
  labels: Labels,
  reference: string | null,
): unknown[] {
  const rewardOf = (id: string): number | null => toReward(labels.get(id)?.resolved ?? null);
  const kept = candidates
    .filter((candidate) => isKept(candidate))
    .flatMap(({ candidate_id: id }) => rewardOf(id) ?? []);
  return candidates.map((candidate) => {
    const { candidate_id, patch, trajectory } = candidate;
    const [reward, mask] = [rewardOf(candidate_id), isKept(candidate)];
    return {
      instance_id,
      candidate_id,
      reward,
      mask,
      advantage: reward === null || !mask ? null : leaveOneOut(reward, kept),
      exit_reason: trajectory?.exit_reason ?? null,
      ...(reference === null ? {} : { similarity: patch.trim() === '' ? -1 : similarity(patch, reference) }),
    };
  });
}

/** The reward minus the mean of the others; 0 if there are no others. */
function leaveOneOut(reward: number, all: readonly number[]): number {
  const others = all.length - 1;
  return others === 0 ? 0 : reward - (all.reduce((sum, each) => sum + each, 0) - reward) / others;
}

/** A rollout whose exit reason is unknown is kept. */
function isKept({ trajectory }: Candidate): boolean {
  const reason = trajectory?.exit_reason ?? null;
  return reason === null || submitted(reason);
}

export interface TrainingPair {
  readonly instance_id: string;
  readonly candidate_id: string;
  readonly right: boolean;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

/** Share of repositories that are held out. */
const HELD_OUT = 0.1;

/**
 * Equal numbers of right and wrong candidates, so that a verifier does not learn the base rate. From the larger side, those
 * with the lowest hashes are kept, the same at every export.
 */
export function balanced<T extends Omit<TrainingPair, 'messages'>>(pairs: readonly T[]): readonly T[] {
  const sides = [true, false].map((right) => pairs.filter((pair) => pair.right === right));
  const most = Math.min(...sides.map((side) => side.length));
  return sides.flatMap((side) => side.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1)).slice(0, most));
}

/** `validation` for about a tenth of the repositories; all issues of a repository are in the same part. */
export function splitOf(instanceId: string): 'train' | 'validation' {
  const repo = /^(.+)-[^-]+$/.exec(instanceId)?.[1] ?? instanceId;
  return parseInt(contentKey(repo).slice(0, 8), 16) / 2 ** 32 < HELD_OUT ? 'validation' : 'train';
}

function orderOf({ instance_id, candidate_id }: Pick<TrainingPair, 'instance_id' | 'candidate_id'>): string {
  return contentKey([instance_id, candidate_id]);
}

/**
 * Similarity of two patches, 0..1: twice the shared lines over the lines of both, after SWE-RL (arXiv 2502.18449, equation
 * 1), which compares characters with Python's difflib. Lines are compared here because a patch of megabytes must not take
 * minutes.
 */
export function similarity(a: string, b: string): number {
  const parts = diffLines(a, b, { maxEditLength: 20_000 });
  if (parts === undefined) return 0;
  const count = (kind: 'both' | 'one'): number =>
    parts
      .filter(({ added, removed }) => (kind === 'both') === (!added && !removed))
      .reduce((sum, part) => sum + part.count, 0);
  const [shared, apart] = [count('both'), count('one')];
  return shared + apart === 0 ? 1 : (2 * shared) / (2 * shared + apart);
}
