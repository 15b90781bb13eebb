import type { Issue } from '../../core/run/issue.js';
import { type Inspect, type Rollout, tokensOf } from '../../core/run/rollout.js';
import { sandboxContent, sandboxSpec, type SandboxSpec } from '../../ports/sandbox.js';
import { ACTION_FORMATS } from '../call-formats/formats.js';
import { instancePrompt } from './conversation.js';
import { RolloutJournal } from './rollout-journal.js';
import { namesOf, RolloutRun } from './rollout-run.js';
import type { AgentSettings, AgentTools, RolloutTask } from './rollout-task.js';
import { WarmStart } from '../../core/async/concurrency.js';

/** Raised when what the agent says or does comes to mean something else, so that stored steps are not taken up. */
const PROTOCOL = 1;

/**
 * One try of the agent at an issue, from the first prompt to the patch. What was done before, by whichever process, is
 * not done or paid again: the journal is read, the container rebuilt, and the rollout goes on with its next step.
 * @throws ModelUnavailableError, sandbox errors and StoreUnavailableError when the try could not be made; the signal's
 * reason. None of these is a fact about the agent.
 */
export async function rollout(tools: AgentTools, task: RolloutTask, signal: AbortSignal): Promise<Rollout> {
  const { sandbox, results, settings } = tools;
  const { environment } = task.issue;
  const { id: image } = await sandbox.describeImage(environment.image, signal);
  const format = ACTION_FORMATS[settings.format];
  const looks = task.inspection === undefined && settings.prompt === undefined && settings.asked === undefined;
  const facts = looks ? await tools.look?.(task.issue, signal) : undefined;
  const prompt = await instancePrompt(tools.prompts, format, { ...task, facts }, settings);
  const { workdir, base_commit: baseCommit, ...setup } = sandboxContent(environment);
  const identity = {
    protocol: PROTOCOL,
    image,
    workdir,
    baseCommit,
    ...setup,
    prompt,
    settings: { ...settings, lacking: undefined },
    sandbox_limits: sandbox.limits,
    sample: task.sample,
    ...(task.inspection === undefined ? {} : { inspected: task.inspection.patch }),
    ...(tools.progress === null ? {} : { progress: { ...tools.progress, score: undefined } }),
  };
  const journal = RolloutJournal.of(results, identity);
  const known = await journal.finished();
  if (known !== null) await task.onKnown(settings.model, tokensOf(known.steps));
  // The names of a candidate and of its agent are this run's, the try may be an earlier one's.
  if (known !== null) return { ...known, ...namesOf(task) };
  const spec: SandboxSpec = {
    ...sandboxSpec(environment, task.inspection === undefined ? 'agent' : 'judge'),
    occupies: 'command',
  };
  await using run = new RolloutRun({ tools, task, format, prompt, journal, spec });
  return await run.toEnd(signal);
}

export type SampleTask = Omit<RolloutTask, 'warm'>;

/** Makes tries of one run at one issue. */
export interface Sampler {
  /** @throws as `rollout` */
  sample(task: SampleTask, signal: AbortSignal): Promise<Rollout>;
  /** What all of them need is made and stored, so that no other process makes it again; absent = there is nothing. */
  prepare?(issue: Issue, signal: AbortSignal): Promise<void>;
}

/** One for each run: what its rollouts share is the prompt that the server is to have in its cache. */
export function createSampler(tools: AgentTools, warm = new WarmStart()): Sampler {
  return {
    sample: (task, signal) => rollout(tools, { ...task, warm }, signal),
    prepare: async (issue, signal) => {
      await tools.look?.(issue, signal);
    },
  };
}

/** Further steps in which an agent that was told to end may still say its verdict. */
export const GRACE = 3;

/**
 * The agent as a judge.
 * @param settingsOf a model; the steps are those of each inspection
 * @param told what steps that were done earlier came to
 */
export function createInspector(
  tools: Omit<AgentTools, 'progress' | 'settings'>,
  settingsOf: (model: string) => AgentSettings,
  told: RolloutTask['onKnown'],
): Inspect {
  const warm = new WarmStart();
  return (issue, inspection, signal) => {
    const { model, max_steps, sample } = inspection;
    const settings = settingsOf(model);
    const limits = { ...settings.limits, max_steps, max_steps_absolute: max_steps + GRACE };
    const task = { issue, inspection, sample, candidateId: '', warm, stopAt: null, onKnown: told };
    const onStep = (): Promise<void> => Promise.resolve();
    return rollout({ ...tools, settings: { ...settings, limits }, progress: null }, { ...task, onStep }, signal);
  };
}
