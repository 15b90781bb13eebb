import { z } from 'zod';
import { Text } from '../../core/json.js';
import { fieldsOf, idOf, MaybeNumber, MaybeText, originOf, stemOf } from './saved-records.js';
import type { ReadRuns, RunReader, SavedRecord, Sealed } from './saved-run.js';

const Step = z.object({
  thought: Text,
  action: Text,
  observation: Text,
  token_usage_prompt: MaybeNumber,
  token_usage_completion: MaybeNumber,
});
const Row = z.object({ instance_id: MaybeText });
const Trajectory = z.object({
  trajectory_steps: z.array(Step),
  problem_statement: MaybeText,
  docker_image: MaybeText,
  exp_name: MaybeText,
  env_args: z.object({ instance_id: MaybeText, ds: Row.nullish() }).nullish(),
  agent_args: z.object({ llm_name: MaybeText }).nullish(),
  ds: Row.nullish(),
  exit_reason: MaybeText,
  output_patch: MaybeText,
  reward: z.number().nullish(),
});

/** R2E-Gym's `Trajectory`, one per line. Its `ds` rows hold the gold patch, its `test_output` the hidden tests' log. */
export const r2eGym: RunReader = {
  format: 'r2e-gym',
  recognises: (value) => Array.isArray(value.trajectory_steps) && 'output_patch' in value,
  read: (record) => {
    const fields = fieldsOf(Trajectory, record);
    const { trajectory_steps: steps, exit_reason, reward, docker_image: image } = fields;
    const instance_id = instanceOf(fields, record.file);
    const candidate_id = idOf(fields.exp_name, stemOf(record.file));
    const origin = originOf('r2e-gym', record, {
      id: fields.exp_name,
      model: fields.agent_args?.llm_name ?? null,
      input_tokens: sum(steps.map((step) => step.token_usage_prompt)),
      output_tokens: sum(steps.map((step) => step.token_usage_completion)),
      model_calls: steps.length,
      exit_reason,
    });
    const run = {
      instance_id,
      candidate_id,
      problem_statement: fields.problem_statement,
      image,
      patch: fields.output_patch ?? '',
      trajectory: {
        steps: steps.map(({ thought, action, observation }) => ({ thought, action, observation })),
        exit_reason,
      },
      origin,
    };
    const resolved = typeof reward === 'number' ? reward === 1 : null;
    return { runs: [run], sealed: [{ instance_id, candidate_id, resolved, sealed: sealedOf(record.value) }] };
  },
};

function instanceOf({ ds, env_args: env, docker_image: image }: z.infer<typeof Trajectory>, file: string): string {
  return idOf(ds?.instance_id, env?.ds?.instance_id, env?.instance_id, image, stemOf(file));
}

/** Null when no step has a value. */
function sum(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((total, value) => total + value, 0);
}

function sealedOf(value: Readonly<Record<string, unknown>>): Sealed['sealed'] {
  const env = z.object({ ds: z.unknown() }).safeParse(value.env_args);
  const parts: Sealed['sealed'] = [
    { kind: 'instance', value: value.ds },
    { kind: 'instance', value: value.ds === undefined || value.ds === null ? env.data?.ds : null },
    { kind: 'reward', value: value.reward },
    { kind: 'test-log', value: value.test_output },
    { kind: 'test-log', value: value.custom_test_outputs },
  ];
  return parts.filter((part) => part.value !== null && part.value !== undefined);
}

const Augment = z.object({
  id: z.string().min(1),
  instruction: MaybeText,
  diffs: z.array(z.string().nullable()).min(1),
  eval_outcomes: z.array(z.object({ is_success: z.boolean() })).nullish(),
});
const Trae = z.object({
  instance_id: z.string().min(1),
  issue: MaybeText,
  patches: z.array(z.string().nullable()).min(1),
  success_id: z.array(z.union([z.boolean(), z.number()])).nullish(),
});

/** Augment's ensembler input: K diffs per instruction, and whether each was right. */
export const augment: RunReader = {
  format: 'augment',
  recognises: (value) => Array.isArray(value.diffs) && 'id' in value,
  columns: () => Object.keys(Augment.shape),
  read: (record) => {
    const { id, instruction, diffs, eval_outcomes: outcomes } = fieldsOf(Augment, record);
    const resolved = diffs.map((_, index) => outcomes?.[index]?.is_success ?? null);
    return listed(record, { format: 'augment', id, statement: instruction, patches: diffs, resolved, rest: null });
  },
};

/** Trae's selector input: K patches per issue, which of them are right, and the regression tests that each broke. */
export const trae: RunReader = {
  format: 'trae',
  recognises: (value) => Array.isArray(value.patches) && 'instance_id' in value,
  columns: () => [...Object.keys(Trae.shape), 'regressions'],
  read: (record) => {
    const { instance_id: id, issue, patches, success_id: success } = fieldsOf(Trae, record);
    const resolved = patches.map((_, index) => (success?.[index] === undefined ? null : Boolean(success[index])));
    const rest = record.value.regressions ?? null;
    return listed(record, { format: 'trae', id, statement: issue, patches, resolved, rest });
  },
};

interface Listed {
  readonly format: string;
  readonly id: string;
  readonly statement: string | null;
  readonly patches: readonly (string | null)[];
  readonly resolved: readonly (boolean | null)[];
  /** Other data that reveals the outcomes, for all patches. */
  readonly rest: unknown;
}

/** Candidates are named by their position, the only identifier in these formats. */
function listed(record: SavedRecord, { format, id, statement, patches, resolved, rest }: Listed): ReadRuns {
  const runs = patches.map((patch, index) => ({
    instance_id: id,
    candidate_id: String(index),
    problem_statement: statement,
    image: null,
    patch: patch ?? '',
    trajectory: null,
    origin: originOf(format, record, { id: String(index) }),
  }));
  const sealed = resolved.map((label, index): Sealed => {
    const own = Array.isArray(rest) && rest.length === patches.length ? (rest[index] as unknown) : null;
    const parts = own === null ? [] : [{ kind: 'report', value: own } as const];
    return { instance_id: id, candidate_id: String(index), resolved: label, sealed: parts };
  });
  return { runs, sealed: sealed.filter((row) => row.resolved !== null || row.sealed.length > 0) };
}
