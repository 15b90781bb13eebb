import { z } from 'zod';
import { fieldsOf, idOf, MaybeNumber, MaybeText, originOf, runFolderOf, stemOf, Text } from './saved-records.js';
import type { RunReader } from './saved-run.js';

const Step = z.object({ thought: Text, response: Text, action: Text, observation: Text });
const Stats = z.object({
  instance_cost: MaybeNumber,
  tokens_sent: MaybeNumber,
  tokens_received: MaybeNumber,
  api_calls: MaybeNumber,
});
const Info = z.object({ exit_status: MaybeText, submission: MaybeText, model_stats: Stats.nullish() });
const Attempt = z.object({ info: Info.nullish(), trajectory: z.array(Step).nullish() });
const Run = Attempt.extend({
  trajectory: z.array(Step),
  info: Info,
  environment: MaybeText,
  /** Of the retry agent; the run's own fields are those of the attempt that was chosen. */
  attempts: z.array(Attempt).nullish(),
});

/** SWE-agent's `.traj`, 1.0 and 1.1: a file an instance, named after it, in a folder named after the run. */
export const sweAgent: RunReader = {
  format: 'swe-agent',
  recognises: (value) =>
    Array.isArray(value.trajectory) && typeof value.info === 'object' && value.info !== null && !('messages' in value),
  read: (record) => {
    const { trajectory, info } = fieldsOf(Run, record);
    const { exit_status: exit_reason, model_stats: stats } = info;
    const candidate_id = idOf(runFolderOf(record.file), stemOf(record.file));
    const run = {
      instance_id: idOf(stemOf(record.file)),
      candidate_id,
      problem_statement: null,
      image: null,
      patch: info.submission ?? '',
      trajectory: {
        steps: trajectory.map(({ thought, response, action, observation }) => ({
          thought: thought === '' ? response : thought,
          action,
          observation,
        })),
        exit_reason,
      },
      origin: originOf('swe-agent', record, {
        id: candidate_id,
        cost_usd: stats?.instance_cost ?? null,
        input_tokens: stats?.tokens_sent ?? null,
        output_tokens: stats?.tokens_received ?? null,
        model_calls: stats?.api_calls ?? null,
        exit_reason,
      }),
    };
    return { runs: [run], sealed: [] };
  },
};
