import { StoreUnavailableError } from '../core/errors/unavailable.js';
import type { Issue } from '../core/run/issue.js';
import { type Inspect, type Rollout, tokensOf } from '../core/run/rollout.js';
import type { Message } from '../ports/llm-client.js';
import { sandboxContent, sandboxSpec, type SandboxSpec } from '../ports/sandbox.js';
import { CommandRun } from './command/command-run.js';
import { ACTION_FORMATS } from './call-formats/formats.js';
import { instancePrompt, roleOf } from './loop/conversation.js';
import { toolSpecs } from './tools/tool-specs.js';
import { RolloutJournal, type StepRecord } from './loop/rollout-journal.js';
import { namesOf, RolloutRun } from './loop/rollout-run.js';
import type { AgentSettings, AgentTools, RolloutParts, RolloutTask } from './loop/rollout-task.js';
import { WarmStart } from '../core/async/concurrency.js';

/** Increase this when an agent's words or actions get another meaning, so that stored steps are not reused. */
const PROTOCOL = 3;

/**
 * One rollout of the agent on an issue, from the first prompt to the patch. Work done earlier, by any process, is neither
 * repeated nor paid again: the journal is read, the container rebuilt, and the rollout continues with its next step.
 * @throws ModelUnavailableError, sandbox errors and StoreUnavailableError when the rollout was not possible; the signal's
 * reason. None of these is a fact about the agent.
 */
export async function rollout(tools: AgentTools, task: RolloutTask, signal: AbortSignal): Promise<Rollout> {
  const { sandbox, results, settings } = tools;
  const { environment } = task.issue;
  const { id: image } = await sandbox.describeImage(environment.image, signal);
  const format = ACTION_FORMATS[settings.format];
  const looks = looksAtBase(settings) && task.inspection === undefined;
  const facts = looks ? await tools.look?.(task.issue, signal) : undefined;
  const prompt = await instancePrompt(tools.prompts, format, { ...task, facts }, settings);
  const identity = identityOf(tools, task, { image, prompt });
  const journal = RolloutJournal.of(results, identity);
  // When its time is over, it ends with the steps that are stored.
  const waits = task.stopAt === null ? signal : AbortSignal.any([signal, task.stopAt]);
  const leave = await tools.oneOfEach?.take(waits, journal.key).catch(() => undefined);
  try {
    signal.throwIfAborted();
    return await finished(tools, task, { image, prompt, format, journal }, signal);
  } finally {
    leave?.();
  }
}

/** The rollout as it is stored, or else continued to its end. */
async function finished(
  tools: AgentTools,
  task: RolloutTask,
  { image, ...made }: Pick<RolloutParts, 'prompt' | 'format' | 'journal'> & { readonly image: string },
  signal: AbortSignal,
): Promise<Rollout> {
  const { model, command } = tools.settings;
  const known = await made.journal.finished();
  if (known !== null) await task.onKnown(model, tokensOf(known.steps));
  // Candidate and agent names belong to this run; the rollout may be from an earlier one.
  if (known !== null) return { ...known, ...namesOf(task) };
  const spec: SandboxSpec = {
    ...sandboxSpec(task.issue.environment, task.inspection === undefined ? 'agent' : 'judge'),
    occupies: 'command',
  };
  const begun = await stepsBefore(tools, task, { image, prompt: made.prompt });
  const parts = { tools, task, begun, spec, ...made };
  await using run = command === undefined ? new RolloutRun(parts) : new CommandRun(parts, command);
  return await run.toEnd(signal);
}

/** Whether the agent's prompt describes the unchanged repository. */
function looksAtBase({ command, prompt, asked }: AgentSettings): boolean {
  return command === undefined && prompt === undefined && asked === undefined;
}

/**
 * The steps that a branch continues from, as stored by their rollout, which also accounts for their cost.
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
  return steps.slice(0, count).map(({ completion, ...step }) => {
    // The length of the prompt stays known.
    const { usage, answer_usage = usage } = completion;
    return { ...step, completion: { ...completion, usage: null, answer_usage }, llm_s: 0, env_s: 0 };
  });
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
    // Other formats describe them in the prompt.
    ...(ACTION_FORMATS[settings.format].offersTools && { tools: toolSpecs(roleOf({ inspection }, settings)) }),
    sandbox_limits: sandbox.limits,
    sample,
    ...(inspection === undefined ? {} : { inspected: inspection.patch }),
    ...(branch === undefined ? {} : { branch: { sample: branch.sample, steps: branch.steps } }),
    ...(progress === null ? {} : { progress: { ...progress, score: undefined } }),
  };
}

/** `onKnown` absent = the account of the run, or of its part, is charged. */
export type SampleTask = Omit<RolloutTask, 'warm' | 'onKnown'> & Partial<Pick<RolloutTask, 'onKnown'>>;

/** Makes the rollouts of one run for an issue. */
export interface Sampler {
  /** @throws as `rollout` */
  sample(task: SampleTask, signal: AbortSignal): Promise<Rollout>;
  /** Computes and stores what all rollouts need, so that no other process repeats it; absent = nothing is needed. */
  prepare?(issue: Issue, signal: AbortSignal): Promise<void>;
}

/**
 * @param warm shared by the run's rollouts, whose prompt should be in the server's cache
 * @param charge receives the cost of steps done earlier, unless the task wants it
 */
export function createSampler(tools: AgentTools, warm: WarmStart, charge: RolloutTask['onKnown']): Required<Sampler> {
  return {
    sample: (task, signal) => rollout(tools, { ...task, warm, onKnown: task.onKnown ?? charge }, signal),
    prepare: async (issue, signal) => {
      if (looksAtBase(tools.settings)) await tools.look?.(issue, signal);
    },
  };
}

/** Extra steps in which an agent told to finish may still state its verdict. */
export const GRACE = 3;

/**
 * The agent as a judge.
 * @param settingsOf settings for a model; the step limits come from each inspection
 * @param told receives the cost of steps done earlier
 * @param warm shared by the run's inspections
 */
export function createInspector(
  tools: Omit<AgentTools, 'progress' | 'settings'>,
  settingsOf: (model: string) => AgentSettings,
  told: RolloutTask['onKnown'],
  warm = new WarmStart(),
): Inspect {
  return (issue, inspection, signal, onStep = () => Promise.resolve()) => {
    const { model, max_steps, sample } = inspection;
    const settings = settingsOf(model);
    const limits = { ...settings.limits, max_steps, max_steps_absolute: max_steps + GRACE };
    const task = { issue, inspection, sample, candidateId: '', warm, stopAt: null, onKnown: told };
    return rollout({ ...tools, settings: { ...settings, limits }, progress: null }, { ...task, onStep }, signal);
  };
}
