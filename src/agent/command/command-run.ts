import type { TrajectoryStep } from '../../core/run/candidate.js';
import { BadInputError } from '../../core/errors/errors.js';
import type { Rollout, RolloutStep } from '../../core/run/rollout.js';
import type { ExecOutcome } from '../../ports/sandbox.js';
import { ContainerOfRollout } from '../loop/container-of-rollout.js';
import { type ExtractedPatch, extractPatch, PatchLostError } from '../loop/extract-patch.js';
import { namesOf } from '../loop/rollout-run.js';
import type { ExitReason, RolloutParts } from '../loop/rollout-task.js';
import { ContainerStuckError, type Workspace } from '../tools/workspace.js';
import { FORWARDER } from './forwarder.js';
import { type Ended, Lines, ModelRoute } from './model-route.js';
import { secondsOf } from '../../core/async/time.js';

/** Outside memory file systems, where engines write files differently, and accessible to any image's user. */
const FOLDER = '/var/tmp/bestk-agent';
const LOG = '/tmp/bestk-agent.log';
/** Seconds after the program's own time limit at which the command is stopped from outside. */
const GRACE_S = 30;
const LONGEST_TRAJECTORY = 16 * 1024 * 1024;

/**
 * One rollout by an external program in the container, which can reach only the model. Its patch is extracted like that of
 * bestk's own agent. An unfinished rollout starts again: earlier model answers are found by content, as long as the program
 * sends the same requests.
 */
export class CommandRun implements AsyncDisposable {
  private readonly container: ContainerOfRollout;

  constructor(
    private readonly parts: RolloutParts,
    private readonly command: string,
  ) {
    const { tools, spec } = parts;
    this.container = new ContainerOfRollout(
      tools.sandbox,
      { spec, actionS: tools.settings.limits.action_s },
      tools.tries,
    );
  }

  async toEnd(signal: AbortSignal): Promise<Rollout> {
    const { journal } = this.parts;
    const { result } = await this.container.use((workspace) => this.once(workspace, signal), signal);
    // The model clients have already retried; the container is not to blame.
    if ('failure' in result) throw result.failure;
    // A budget belongs to this run; one with a larger budget can continue from here.
    if (result.exit_reason === 'budget_limit') return result;
    return { ...(await journal.finish(result)), ...namesOf(this.parts.task) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.container[Symbol.asyncDispose]();
  }

  private async once(workspace: Workspace, signal: AbortSignal): Promise<Rollout | { readonly failure: unknown }> {
    const { trajectory } = this.parts.tools.settings;
    const folder = `${FOLDER}/${globalThis.crypto.randomUUID()}`;
    const over = new AbortController();
    const began = performance.now();
    const route = new ModelRoute(this.parts, { workspace, folder, signal: AbortSignal.any([signal, over.signal]) });
    const outcome = await this.run({ workspace, folder, route }, signal).catch((error: unknown) => {
      signal.throwIfAborted();
      if (route.failure === null) throw error;
      return null;
    });
    // The program has ended, so nothing waits for an answer.
    over.abort();
    await route.idle();
    if (outcome === null) return { failure: route.failure };
    const isThere = outcome.kind === 'exited';
    const ended = {
      ...(route.ended ?? endedEarly(outcome)),
      seconds: secondsOf(performance.now() - (route.answeredAt ?? began)),
    };
    const patch = isThere
      ? await this.patch(workspace, signal)
      : { ...LOST, problem: `the program ended ${outcome.kind}` };
    const file =
      isThere && trajectory !== undefined ? await workspace.read(trajectory, LONGEST_TRAJECTORY, signal) : null;
    return this.rolloutOf({ ended, patch, file }, route);
  }

  /** Runs the program to its end. @throws also a failure to answer its model calls */
  private async run(
    { workspace, folder, route }: { workspace: Workspace; folder: string; route: ModelRoute },
    signal: AbortSignal,
  ): Promise<ExecOutcome> {
    const { tools, task, prompt } = this.parts;
    const { limits, model } = tools.settings;
    const failed = new AbortController();
    const both = AbortSignal.any([signal, failed.signal]);
    const issue = `${folder}/issue.md`;
    await workspace.write([{ path: issue, content: prompt.map(({ content }) => content).join('\n\n') }], both);
    const env = {
      BESTK_ISSUE: issue,
      BESTK_WORKDIR: workspace.workdir,
      BESTK_MODEL: model,
      BESTK_MAX_STEPS: String(limits.max_steps),
      BESTK_ACTION_S: String(limits.action_s),
      BESTK_TRAJECTORY_S: String(limits.trajectory_s),
    };
    const orFail = (work: Promise<void>): void => {
      work.catch((error: unknown) => {
        failed.abort(error);
      });
    };
    const lines = new Lines((line) => {
      orFail(route.take(line));
    });
    const stop = (): void => {
      orFail(route.stop('budget_limit'));
    };
    task.stopAt?.addEventListener('abort', stop, { once: true });
    if (task.stopAt?.aborted === true) stop();
    const argv = ['python3', '-c', FORWARDER, folder, LOG, String(limits.trajectory_s), this.command];
    try {
      return await workspace.program(
        { argv, env, deadlineS: limits.trajectory_s + GRACE_S, onStdout: lines.take },
        both,
      );
    } finally {
      task.stopAt?.removeEventListener('abort', stop);
    }
  }

  private rolloutOf({ ended, patch, file }: Left, route: ModelRoute): Rollout {
    const { tools, task, prompt } = this.parts;
    const told = file === null ? null : (tools.readTrajectory?.(new TextDecoder().decode(file)) ?? null);
    return {
      ...namesOf(task),
      model: tools.settings.model,
      format: 'command',
      exit_reason: route.reason ?? reasonOf(ended),
      patch: patch.patch,
      patch_problem: patch.problem,
      left_out: [...patch.leftOut],
      steps: [...(told === null ? route.steps : withCounts(told, route.steps)), lastStep(this.command, ended)],
      malformed: 0,
      system_prompt: '',
      instance_prompt: prompt[0]?.content ?? '',
    };
  }

  private async patch(workspace: Workspace, signal: AbortSignal): Promise<Left['patch']> {
    try {
      return { ...(await extractPatch(workspace, signal)), problem: null };
    } catch (error) {
      if (!(error instanceof PatchLostError || error instanceof ContainerStuckError)) throw error;
      return { ...LOST, problem: error.message };
    }
  }
}

const LOST = { patch: '', leftOut: [] };

/** The results of a program. */
interface Left {
  /** With the seconds since the last answer. */
  readonly ended: Ended & { readonly seconds: number };
  readonly patch: ExtractedPatch & { readonly problem: string | null };
  /** Its trajectory file; null if it wrote none. */
  readonly file: Uint8Array | null;
}

/** Exit code of a shell for a missing program. */
const NOT_FOUND = 127;

/** The end of a program that the forwarder did not report. @throws BadInputError if the forwarder cannot start */
function endedEarly(outcome: ExecOutcome): Ended {
  if (outcome.kind === 'exited' && (outcome.exitCode === NOT_FOUND || outcome.exitCode === NOT_FOUND - 1)) {
    const next = 'Use an image with Python 3.5 or later, which a program needs to find its model.';
    throw new BadInputError('has no python3.', { field: 'environment.image' }, next);
  }
  // Without a report, the forwarder's 0 says nothing about the program.
  return { ended: 'own', code: (outcome.kind === 'exited' && outcome.exitCode) || 1, tail: outcome.stderr };
}

function reasonOf({ ended, code }: Ended): ExitReason {
  if (ended === 'late') return 'traj_time_limit';
  return code === 0 ? 'agent' : 'command_failed';
}

const NO_COUNTS = { input_tokens: null, cached_input_tokens: null, output_tokens: null, llm_s: 0, env_s: 0 };

function lastStep(command: string, { code, tail, seconds: env_s }: Left['ended']): RolloutStep {
  return { ...NO_COUNTS, thought: '', action: command, observation: tail, exit_code: code, env_s };
}

/** The program's own steps; the last one holds the totals of all calls, which cannot be assigned to single steps. */
function withCounts(told: readonly TrajectoryStep[], calls: readonly RolloutStep[]): readonly RolloutStep[] {
  const steps = told.map((step): RolloutStep => ({ ...NO_COUNTS, exit_code: null, ...step }));
  const sum = (key: keyof typeof NO_COUNTS): number => calls.reduce((total, step) => total + (step[key] ?? 0), 0);
  const counts = {
    input_tokens: sum('input_tokens'),
    cached_input_tokens: sum('cached_input_tokens'),
    output_tokens: sum('output_tokens'),
    llm_s: sum('llm_s'),
    env_s: sum('env_s'),
  };
  return [...steps, { ...counts, thought: '', action: '', observation: '', exit_code: null }];
}
