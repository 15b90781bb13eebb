import { z } from 'zod';
import type { TrajectoryStep } from '../../core/run/candidate.js';
import { tryParse } from '../records/records.js';
import { Text } from '../../core/json.js';
import { fieldsOf, idOf, MaybeNumber, MaybeText, originOf, runFolderOf, stemOf } from './saved-records.js';
import type { Origin, RunReader, SavedRecord, Sealed } from './saved-run.js';

const Call = z.object({
  function_name: MaybeText.catch(null),
  tool_name: MaybeText.catch(null),
  arguments: z.unknown(),
});
const Result = z.object({ content: Text });
const Step = z.object({
  is_copied_context: z.boolean().nullish().catch(null),
  source: MaybeText.catch(null),
  message: Text,
  reasoning_content: Text,
  tool_calls: z.array(Call).nullish().catch(null),
  observation: z
    .union([
      z.object({ results: z.array(Result) }).transform(({ results }) => results.map((each) => each.content).join('\n')),
      Text,
    ])
    .nullish(),
});
const Metrics = z.object({
  total_prompt_tokens: MaybeNumber,
  total_completion_tokens: MaybeNumber,
  total_cost_usd: MaybeNumber,
});
const Trajectory = z.object({
  agent: z.object({ name: MaybeText, model_name: MaybeText }).nullish(),
  steps: z.array(Step),
  final_metrics: Metrics.nullish().catch(null),
});
const TrajectoryShape = z.looseObject({ steps: z.array(z.unknown()), schema_version: z.string() });
/** `id` is that of `result.json`. */
const Trial = z.object({
  id: MaybeText.catch(null),
  trial_name: MaybeText,
  trial_id: MaybeText,
  task_name: MaybeText,
  task_checksum: MaybeText,
  reward: z.number().nullish().catch(null),
});

/** Harbor's trials in the Agent Trajectory Interchange Format: a bare trajectory, or a trial that contains one. */
export const atif: RunReader = {
  format: 'atif',
  recognises: (value) => isTrajectory(value) || (isTrajectory(value.trajectory) && 'trial_name' in value),
  read: (record) => {
    const isTrial = !isTrajectory(record.value);
    const trial = isTrial ? fieldsOf(Trial, record) : resultIn(record.beside);
    const inside = isTrial ? { ...record, value: record.value.trajectory as SavedRecord['value'] } : record;
    const { steps: begun, ...trajectory } = fieldsOf(Trajectory, inside);
    const continued = continuationsIn(record.beside);
    const steps = [
      ...begun,
      ...continued.flatMap((each) => each.steps.filter((step) => step.is_copied_context !== true)),
    ];
    // Metrics of a continuation include those before it.
    const said = saidOf({ ...trajectory, final_metrics: (continued.at(-1) ?? trajectory).final_metrics });
    const candidate_id = idOf(trial.trial_name, trialFolder(record.file), stemOf(record.file));
    const instance_id = taskOf(trial, candidate_id);
    const run = {
      instance_id,
      candidate_id,
      problem_statement: steps.find(({ source }) => source === 'user')?.message ?? null,
      image: null,
      patch: record.beside?.get('model.patch') ?? '',
      trajectory: { steps: steps.flatMap(stepOf), exit_reason: null },
      origin: originOf('atif', record, { id: trial.trial_id ?? trial.id, ...said }),
    };
    return { runs: [run], sealed: [{ instance_id, candidate_id, ...rewardOf(trial.reward ?? null, record) }] };
  },
};

/** What `result.json` says about a trial whose trajectory is a file of its own. */
function resultIn(beside: SavedRecord['beside']): z.infer<typeof Trial> {
  return Trial.safeParse(tryParse(beside?.get('result.json') ?? '')).data ?? Trial.parse({});
}

/** Terminus 2 begins another file when it summarizes the conversation so far. */
function continuationsIn(beside: SavedRecord['beside']): readonly z.infer<typeof Trajectory>[] {
  const files = [...(beside ?? [])].filter(([name]) => name.startsWith('trajectory.cont-'));
  return files.flatMap(([, text]) => Trajectory.safeParse(tryParse(text)).data ?? []);
}

/** Tasks change between releases of a benchmark but keep their names; the checksum distinguishes the versions. */
function taskOf({ task_name: name, task_checksum: checksum }: z.infer<typeof Trial>, candidateId: string): string {
  if (name === null) return idOf(candidateId.replace(/__[^_]*$/, ''));
  return idOf(checksum === null ? name : `${name}@${checksum.slice(0, 8)}`);
}

function saidOf({ agent, final_metrics: metrics }: Omit<z.infer<typeof Trajectory>, 'steps'>): Partial<Origin> {
  return {
    model: agent?.model_name ?? null,
    cost_usd: metrics?.total_cost_usd ?? null,
    input_tokens: metrics?.total_prompt_tokens ?? null,
    output_tokens: metrics?.total_completion_tokens ?? null,
  };
}

function isTrajectory(value: unknown): boolean {
  return TrajectoryShape.safeParse(value).success;
}

/** `…/trial/agent/trajectory.json` belongs to the trial. */
function trialFolder(file: string): string | null {
  const folder = runFolderOf(file);
  return folder === 'agent' ? runFolderOf(file.replace(/\/[^/]*$/, '')) : null;
}

function stepOf({
  source,
  message,
  reasoning_content,
  tool_calls,
  observation,
}: z.infer<typeof Step>): TrajectoryStep[] {
  if (source !== 'agent' && source !== 'assistant') return [];
  const calls = (tool_calls ?? []).map(
    (call) => `${call.function_name ?? call.tool_name ?? ''} ${JSON.stringify(call.arguments ?? {})}`,
  );
  const thought = [reasoning_content, message].filter((part) => part !== '').join('\n');
  return [{ thought, action: calls.join('\n'), observation: observation ?? '' }];
}

function rewardOf(reward: number | null, { beside }: SavedRecord): Pick<Sealed, 'resolved' | 'reason' | 'sealed'> {
  const known = reward ?? rewardIn(beside);
  const parts: Sealed['sealed'] = [
    { kind: 'reward', value: known ?? beside?.get('reward.txt') },
    { kind: 'report', value: beside?.get('reward.json') },
  ];
  const sealed = parts.filter((part) => part.value !== null && part.value !== undefined);
  if (known !== null) return { resolved: known >= 1, sealed };
  const hasFile = beside?.has('reward.txt') === true || beside?.has('reward.json') === true;
  return { resolved: null, ...(hasFile ? { reason: 'the verifier wrote no number as the reward' } : {}), sealed };
}

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/**
 * The reward of a trial from its verifier's files, in Harbor's order: `reward` of `reward.json`, else the number in
 * `reward.txt`, else the only number of `reward.json`. Null when there is none: Harbor treats an empty or unreadable
 * file as an error of the verifier, which says nothing about the patch.
 */
export function rewardIn(files: ReadonlyMap<string, string> | undefined): number | null {
  const [json, text] = [files?.get('reward.json'), numberIn(files?.get('reward.txt') ?? '')];
  if (json === undefined) return text;
  const report = z.record(z.string(), z.unknown()).safeParse(tryParse(json)).data;
  if (report === undefined) return null;
  const { reward } = report;
  if (typeof reward === 'number') return reward;
  const numbers = Object.values(report).filter((value) => typeof value === 'number');
  return text ?? (numbers.length === 1 ? (numbers[0] ?? null) : null);
}

/** A finite decimal number, optionally surrounded by white space. */
function numberIn(text: string): number | null {
  const value = NUMBER.test(text.trim()) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value : null;
}
