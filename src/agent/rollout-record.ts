import type { Rollout, RolloutStep } from '../core/rollout.js';
import type { ActionFormat } from './action-format.js';
import type { ExitReason } from './agent-limits.js';
import type { ExtractedPatch } from './extract-patch.js';
import type { StepRecord } from './rollout-journal.js';
import type { RolloutParts } from './rollout-task.js';

/** How a rollout ended. */
export interface Ending extends ExtractedPatch {
  readonly reason: ExitReason;
  readonly problem: string | null;
}

export function asRollout(
  { tools, task, format, prompt }: RolloutParts,
  steps: readonly StepRecord[],
  ending: Ending,
): Rollout {
  const textOf = (role: string): string => prompt.find((message) => message.role === role)?.content ?? '';
  return {
    instance_id: task.issue.instance_id,
    candidate_id: task.candidateId,
    model: tools.settings.model,
    format: format.name,
    exit_reason: ending.reason,
    patch: ending.patch,
    patch_problem: ending.problem,
    left_out: [...ending.leftOut],
    steps: steps.map((step) => asStep(step, format)),
    malformed: steps.filter(({ malformed }) => malformed).length,
    system_prompt: textOf('system'),
    instance_prompt: textOf('user'),
  };
}

export function asStep(
  { completion, observation, exit_code, llm_s, env_s }: StepRecord,
  format: ActionFormat,
): RolloutStep {
  const { thought, action } = format.read(completion);
  const { usage } = completion;
  return {
    thought,
    action,
    observation,
    exit_code,
    input_tokens: usage?.input_tokens ?? null,
    cached_input_tokens: usage?.cached_input_tokens ?? null,
    output_tokens: usage?.output_tokens ?? null,
    llm_s,
    env_s,
  };
}
