import { z } from 'zod';
import { fieldsOf, idOf, MaybeNumber, MaybeText, originOf, stemOf, Text } from './fields.js';
import type { RunReader, Sealed } from './saved-run.js';

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

/** R2E-Gym's `Trajectory`, one a line. Its `ds` rows hold the gold patch, its `test_output` the hidden tests' log. */
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

/** Null when no step says it. */
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
