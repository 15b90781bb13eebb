import { StoreUnavailableError } from '../../core/errors/unavailable.js';
import type { Issue } from '../../core/run/issue.js';
import { type Inspect, type Rollout, tokensOf } from '../../core/run/rollout.js';
import type { Message } from '../../ports/llm-client.js';
import { sandboxContent, sandboxSpec, type SandboxSpec } from '../../ports/sandbox.js';
import { CommandRun } from '../command/command-run.js';
import { ACTION_FORMATS } from '../call-formats/formats.js';
import { instancePrompt } from './conversation.js';
import { RolloutJournal, type StepRecord } from './rollout-journal.js';
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
  const { command } = settings;
  const isOwn = command === undefined && settings.prompt === undefined && settings.asked === undefined;
  const looks = isOwn && task.inspection === undefined;
  const facts = looks ? await tools.look?.(task.issue, signal) : undefined;
  const prompt = await instancePrompt(tools.prompts, format, { ...task, facts }, settings);
  const identity = identityOf(tools, task, { image, prompt });
  const journal = RolloutJournal.of(results, identity);
  const known = await journal.finished();
  if (known !== null) await task.onKnown(settings.model, tokensOf(known.steps));
  // The names of a candidate and of its agent are this run's, the try may be an earlier one's.
  if (known !== null) return { ...known, ...namesOf(task) };
  const spec: SandboxSpec = {
    ...sandboxSpec(environment, task.inspection === undefined ? 'agent' : 'judge'),
    occupies: 'command',
  };
  const begun = await stepsBefore(tools, task, { image, prompt });
  const parts = { tools, task, format, prompt, journal, begun, spec };
  await using run = command === undefined ? new RolloutRun(parts) : new CommandRun(parts, command);
  return await run.toEnd(signal);
}

/**
 * The steps that a branch goes on from, as their rollout stored them; what they took is that one's.
 * @throws StoreUnavailableError when they are not stored
 */
async function stepsBefore(
  tools: AgentTools,
  { branch, ...task }: RolloutTask,
  made: Parameters<typeof identityOf>[2],
): Promise<readonly StepRecord[]> {
  if (branch === undefined) return [];
  const { sample, steps: count, candidate_id } = branch;
  const steps = await RolloutJournal.of(tools.results, identityOf(tools, { ...task, sample }, made)).steps();
  if (steps.length < count) {
    const lost = `it holds ${steps.length} of the ${count} steps of ${candidate_id} that a branch begins with`;
    throw new StoreUnavailableError(lost, { retryable: false });
  }
  return steps
    .slice(0, count)
    .map((step) => ({ ...step, completion: { ...step.completion, usage: null }, llm_s: 0, env_s: 0 }));
}

/** Everything that a rollout depends on. */
function identityOf(
  { sandbox, settings, progress }: AgentTools,
  { issue, sample, inspection, branch }: RolloutTask,
  { image, prompt }: { readonly image: string; readonly prompt: readonly Message[] },
): object {
  const { workdir, base_commit: baseCommit, ...setup } = sandboxContent(issue.environment);
  return {
    protocol: PROTOCOL,
    image,
    workdir,
    baseCommit,
    ...setup,
    prompt,
    settings: { ...settings, lacking: undefined },
    sandbox_limits: sandbox.limits,
    sample,
    ...(inspection === undefined ? {} : { inspected: inspection.patch }),
    ...(branch === undefined ? {} : { branch: { sample: branch.sample, steps: branch.steps } }),
    ...(progress === null ? {} : { progress: { ...progress, score: undefined } }),
  };
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
