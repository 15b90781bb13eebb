import type { Rollout } from '../core/rollout.js';
import { rollout } from './rollout.js';
import type { AgentTools, RolloutTask } from './rollout-task.js';
import { WarmStart } from './warm-start.js';

export type SampleTask = Omit<RolloutTask, 'warm'>;

/** Makes tries of one run at one issue. */
export interface Sampler {
  /** @throws as `rollout` */
  sample(task: SampleTask, signal: AbortSignal): Promise<Rollout>;
}

/** One for each run: what its rollouts share is the prompt that the server is to have in its cache. */
export function createSampler(tools: AgentTools): Sampler {
  const warm = new WarmStart();
  return { sample: (task, signal) => rollout(tools, { ...task, warm }, signal) };
}
