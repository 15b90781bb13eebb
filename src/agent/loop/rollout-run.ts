import { BudgetSpentError, ContextTooLongError } from '../../core/errors/unavailable.js';
import { DOES_NOT_APPLY, type Rollout, type RolloutStep, tokensOf } from '../../core/run/rollout.js';
import type { Completion, CompletionRequest } from '../../ports/llm-client.js';
import { type ActionFormat, isCutOff } from '../call-formats/action-format.js';
import { type Action, readAction, type Role, type WrittenCall } from '../tools/action.js';
import { describeOutcome, describeWithdrawn, perform } from '../tools/perform.js';
import { toolSpecs } from '../tools/tool-specs.js';
import { told, type ToolOutcome } from '../tools/tool-outcome.js';
import { ContainerStuckError, PatchRefusedError, type Workspace } from '../tools/workspace.js';
import { scriptTrouble } from './author-scripts.js';
import { ContainerOfRollout } from './container-of-rollout.js';
import { Conversation, fenced, roleOf, stepsLeft } from './conversation.js';
import { type ExtractedPatch, extractPatch, PatchLostError } from './extract-patch.js';
import type { StepRecord } from './rollout-journal.js';
import { type ExitReason, type RolloutParts, submittedWith } from './rollout-task.js';
import { secondsOf } from '../../core/async/time.js';

/** The loop of one rollout: ask, act, observe, store. */
export class RolloutRun implements AsyncDisposable {
  private readonly steps: StepRecord[] = [];
  private conversation: Conversation;
  /** As another process that did the same rollout ended it meanwhile. */
  private ended: Rollout | null = null;
  private readonly container: ContainerOfRollout;

  constructor(private readonly parts: RolloutParts) {
    const { tools, spec, task, prompt, format } = parts;
    const { action_s: actionS } = tools.settings.limits;
    this.conversation = new Conversation(prompt, format, tools.tokenizer);
    this.container = new ContainerOfRollout(
      tools.sandbox,
      { spec, actionS, patch: task.inspection?.patch, asR2e: tools.settings.prompt === 'agent/r2e' },
      tools.tries,
    );
  }

  async toEnd(signal: AbortSignal): Promise<Rollout> {
    const { journal, task } = this.parts;
    await this.load(0);
    let reason = this.exitReason();
    const refusal = reason === null && this.inspects ? await this.refusal(signal) : null;
    if (refusal !== null) reason = DOES_NOT_APPLY;
    while (reason === null) {
      reason = (await this.step(signal)) ?? this.exitReason();
      if (this.ended !== null) return { ...this.ended, ...namesOf(task) };
    }
    const patch = refusal === null ? await this.patch(signal) : { ...NO_PATCH, problem: refusal };
    const rollout = asRollout(this.parts, this.steps, { reason, ...patch });
    // A budget belongs to this run; one with a larger budget can continue from here.
    return reason === 'budget_limit' ? rollout : { ...(await journal.finish(rollout)), ...namesOf(task) };
  }

  /** Continues after the stored steps, of which `paid` are already paid for here. */
  private async load(paid: number): Promise<void> {
    const { tools, journal, task, format, begun, prompt } = this.parts;
    const stored = [...begun, ...(await journal.steps())];
    this.ended = paid === 0 ? null : await journal.finished();
    await this.container.clear();
    this.steps.length = 0;
    this.conversation = new Conversation(prompt, format, tools.tokenizer);
    for (const step of stored) {
      // Each stored answer, and its count of input tokens, belongs to the condensed prompt.
      await this.conversation.condense(tools.settings.limits.condense_at);
      this.container.withdraw(step.withdrawn);
      this.remember(step);
    }
    await task.onKnown(tools.settings.model, tokensOf(stored.slice(paid).map((step) => asStep(step, format))));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.container[Symbol.asyncDispose]();
  }

  /** Why git refuses the patch to inspect; null if it applies. */
  private async refusal(signal: AbortSignal): Promise<string | null> {
    try {
      await this.container.use(() => Promise.resolve(), signal);
      return null;
    } catch (error) {
      if (!(error instanceof PatchRefusedError)) throw error;
      return error.message;
    }
  }

  /** Does one step. @returns the reason to stop, or null */
  private async step(signal: AbortSignal): Promise<ExitReason | null> {
    const { tools, task, format, journal, begun } = this.parts;
    const { limits } = tools.settings;
    const hopeless = await this.hopeless(signal);
    if (hopeless !== null) return hopeless;
    await this.conversation.condense(limits.condense_at);
    const asked = performance.now();
    const completion = await this.ask(signal);
    if (typeof completion === 'string') return completion;
    const answered = performance.now();
    const acted = await this.act(completion, signal);
    const step: StepRecord = {
      completion: { ...completion, logprobs: null },
      ...acted,
      llm_s: secondsOf(answered - asked),
      env_s: secondsOf(performance.now() - answered),
    };
    const { length } = this.steps;
    if (!(await journal.add(length - begun.length, step))) {
      await this.load(length + 1);
      return null;
    }
    this.remember(step);
    const { exit_code, llm_s, env_s } = step;
    const { call } = format.read(completion);
    const told = { step: this.steps.length, tool: call?.name ?? null, gist: gistOf(call), exit_code, llm_s, env_s };
    await task.onStep({ candidate_id: task.candidateId, ...told });
    return null;
  }

  /**
   * Checks at intervals whether the rollout can still succeed; one that cannot be judged continues. Checked before a step, not
   * after one, so that a rollout that was killed in between is checked, too; a score is stored.
   */
  private async hopeless(signal: AbortSignal): Promise<ExitReason | null> {
    const { tools, task, format, begun } = this.parts;
    const { progress } = tools;
    if (progress === null || this.steps.length % progress.every !== 0) return null;
    if (this.steps.length === begun.length || task.stopAt?.aborted === true) return null;
    const steps = this.steps.map((step) => asStep(step, format));
    const score = await progress.score(task.issue.problem_statement, steps, signal);
    return score !== null && score < progress.below ? 'stopped_early' : null;
  }

  private async ask(signal: AbortSignal): Promise<Completion | ExitReason> {
    const { tools, task, format } = this.parts;
    const { model, temperature, topP, limits } = tools.settings;
    const room = limits.max_tokens - (await this.conversation.tokens());
    if (room <= 0) return 'token_limit';
    const request: CompletionRequest = {
      model,
      messages: this.conversation.messages(),
      temperature,
      ...(topP === undefined ? {} : { topP }),
      maxTokens: Math.min(limits.max_answer_tokens, room),
      mayBeShorter: true,
      ...(format.offersTools ? { tools: toolSpecs(this.role) } : {}),
      sample: task.sample,
      purpose: this.inspects ? 'agent-judge' : 'agent',
    };
    return this.withinLimits((both) => {
      const call = (): Promise<Completion> => tools.llm.complete(request, both);
      return this.steps.length === 0 ? task.warm.turn(call) : call();
    }, signal);
  }

  /** A model call, or the limit that ended it. */
  private async withinLimits(
    call: (signal: AbortSignal) => Promise<Completion>,
    signal: AbortSignal,
  ): Promise<Completion | ExitReason> {
    const { tools, task } = this.parts;
    const deadline = AbortSignal.timeout(Math.ceil(tools.settings.limits.model_call_s * 1000));
    const stops = [signal, deadline, ...(task.stopAt === null ? [] : [task.stopAt])];
    try {
      return await call(AbortSignal.any(stops));
    } catch (error) {
      signal.throwIfAborted();
      if (task.stopAt?.aborted === true || error instanceof BudgetSpentError) return 'budget_limit';
      if (deadline.aborted) return 'llm_query_error';
      if (error instanceof ContextTooLongError) return 'token_limit';
      throw error;
    }
  }

  private async act(
    completion: Completion,
    signal: AbortSignal,
  ): Promise<Omit<StepRecord, 'completion' | 'llm_s' | 'env_s'>> {
    const turn = this.parts.format.read(completion);
    const read = turn.call === null ? { problem: turn.problem ?? '' } : readAction(turn.call);
    if ('problem' in read) {
      const cut = isCutOff(completion) ? ' Your answer was cut off because it was too long.' : '';
      return {
        observation: `${read.problem}${cut}`,
        exit_code: null,
        repeat: false,
        malformed: true,
        refused: false,
        withdrawn: 0,
      };
    }
    const { action } = read;
    const said = saidAloud(completion, turn.call);
    const use = await this.container.use((workspace) => this.perform(action, said, workspace, signal), signal);
    const { result: outcome, withdrawn } = use;
    if (outcome.lost === true) await this.container.drop();
    const one = turn.more ? '\nYour answer held more than one action; only the first was carried out.' : '';
    return {
      observation: this.shown(action, outcome) + one + describeWithdrawn(withdrawn),
      exit_code: outcome.exitCode ?? null,
      repeat: outcome.repeat,
      malformed: false,
      refused: outcome.refused ?? false,
      withdrawn,
    };
  }

  /** A judge is shown everything but bestk's own text as fenced data. */
  private shown(action: Action, outcome: ToolOutcome): string {
    const described = describeOutcome(action, outcome);
    return this.inspects && outcome.refused !== true ? fenced(described, this.steps.length + 1) : described;
  }

  private async perform(action: Action, said: string, workspace: Workspace, signal: AbortSignal): Promise<ToolOutcome> {
    const ends = action.tool === 'finish' && !this.steps.some(({ refused }) => refused);
    return (ends ? await this.trouble(said, workspace, signal) : null) ?? perform(action, workspace, signal);
  }

  /** When an agent finishes with steps left, it is told once what is wrong: with an author's scripts, or a judge's verdict. */
  private async trouble(said: string, workspace: Workspace, signal: AbortSignal): Promise<ToolOutcome | null> {
    const { asked, lacking, limits } = this.parts.tools.settings;
    if (asked !== undefined && this.remaining() > 1) return scriptTrouble(workspace, signal);
    const lack = this.steps.length + 1 < limits.max_steps_absolute ? lacking?.(said) : undefined;
    return typeof lack === 'string' ? { ...told(lack), refused: true } : null;
  }

  /** Adds a finished step, done by any process. */
  private remember(step: StepRecord): void {
    this.steps.push(step);
    const action = this.actionOf(step);
    if (step.repeat && action !== null) this.container.remember(action);
    const left = stepsLeft(this.remaining(), this.role);
    this.conversation.add(step.completion, `${step.observation}\n${left}`);
  }

  private get inspects(): boolean {
    return this.role === 'judge';
  }

  private get role(): Role {
    return roleOf(this.parts.task, this.parts.tools.settings);
  }

  private actionOf(step: StepRecord): Action | null {
    // A step recorded as no call stays one, even if a later release could read it.
    if (step.malformed || step.refused) return null;
    const { call } = this.parts.format.read(step.completion);
    const read = call === null ? null : readAction(call);
    return read !== null && 'action' in read ? read.action : null;
  }

  private remaining(): number {
    return this.parts.tools.settings.limits.max_steps - this.steps.length;
  }

  /** Why the rollout is over, or null. Submission is checked first, then the limits in R2E-Gym's order. */
  private exitReason(): ExitReason | null {
    const { limits } = this.parts.tools.settings;
    const last = this.steps.at(-1);
    if (last !== undefined && this.actionOf(last)?.tool === 'finish') return submittedWith(this.remaining() + 1);
    if (last?.malformed === true && last.completion.fills_context === true) return 'token_limit';
    if (this.steps.length >= limits.max_steps_absolute) return 'abs_step_limit';
    const spent = this.steps.reduce((sum, { llm_s, env_s }) => sum + llm_s + env_s, 0);
    return spent >= limits.trajectory_s ? 'traj_time_limit' : null;
  }

  /** A rollout that hit a limit also keeps its patch. */
  private async patch(signal: AbortSignal): Promise<ExtractedPatch & { problem: string | null }> {
    const acted = this.steps.some(({ repeat, exit_code }) => repeat || exit_code !== null);
    if (!acted || this.inspects) return NO_PATCH;
    try {
      const { result } = await this.container.use((workspace) => extractPatch(workspace, signal), signal);
      return { ...result, problem: null };
    } catch (error) {
      if (!(error instanceof PatchLostError || error instanceof ContainerStuckError)) throw error;
      return { patch: '', leftOut: [], problem: error.message };
    }
  }
}

/** The text and the call's parameters, without thoughts that the server separates. */
function saidAloud({ text }: Completion, call: WrittenCall | null): string {
  return [text, ...Object.values(call?.parameters ?? {})].join('\n');
}

const NO_PATCH = { patch: '', leftOut: [], problem: null };

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
    ...namesOf(task),
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

/** The names of a rollout in its run, and the candidates it was shown. */
export function namesOf({
  issue,
  candidateId,
  earlier,
  branch,
  agent = null,
}: RolloutParts['task']): Pick<Rollout, 'instance_id' | 'candidate_id' | 'told_of' | 'agent' | 'branch_of'> {
  const told_of = [...(earlier?.told_of ?? [])];
  const branch_of = branch === undefined ? null : { candidate_id: branch.candidate_id, steps: branch.steps };
  return { instance_id: issue.instance_id, candidate_id: candidateId, told_of, agent, branch_of };
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

const LONGEST_GIST = 300;

function gistOf(call: WrittenCall | null): string {
  const words = Object.values(call?.parameters ?? {}).map((value) => {
    return typeof value === 'string' ? value.slice(0, LONGEST_GIST) : JSON.stringify(value);
  });
  return words.join(' ').replaceAll(/\s+/g, ' ').slice(0, LONGEST_GIST);
}
