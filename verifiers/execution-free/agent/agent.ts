import { readPatch, splitPatch } from '../../../src/core/patch/patch.js';
import { contentKey } from '../../../src/core/identifier.js';
import { submitted, type Candidate } from '../../../src/core/run/candidate.js';
import { UnavailableError } from '../../../src/core/errors/errors.js';
import { SANDBOX_LOST } from '../../../src/core/errors/unavailable.js';
import { DOES_NOT_APPLY, type Inspect, type Rollout } from '../../../src/core/run/rollout.js';
import type { AbstainReason, Verdict } from '../../../src/core/run/verdict.js';
import type { VerificationTask, Verifier } from '../../../src/core/run/verifier.js';
import { UNTRACED } from '../../../src/ports/telemetry.js';
import type { JudgeOptions } from '../judge-options.js';
import { abstained, doesNotFit, type Judged, verdictOf } from '../pointwise/pointwise.js';
import { betaOfVotes } from '../pointwise/yes-no.js';
import { statedJudgement } from '../ask.js';
import { excerpt, fitAttempt } from '../render/render-attempt.js';

const PROMPT = 'verifier/agent';
/** Maximum number of looks at each distinct patch. */
export const LOOKS = 3;
/** Share of the context for patch and issue; the rest is for what the agent reads. */
const QUESTION_SHARE = 0.5;
const LONGEST_REASONS = 2_000;
const LONGEST_COMMAND = 500;
const MOST_COMMANDS = 10;
const REASONS = '<reasons>';
const END_REASONS = '</reasons>';

/** An agent that inspects patches, and its limits. */
export interface JudgeAgent {
  readonly inspect: Inspect;
  /** Name of the system prompt: its role and how it calls functions. */
  readonly system: string;
  /** Maximum steps of one look. */
  readonly steps: number;
  /** Seconds per command. */
  readonly actionS: number;
  /** Whether scripts it writes may become tests, so that it must run before them. */
  readonly harvested: boolean;
}

/** One look: its vote, or the reason for none. */
type Look = { readonly evidence: LookEvidence } & (
  | { readonly kind: 'vote'; readonly yes: boolean }
  | { readonly kind: 'failed'; readonly reason: AbstainReason; readonly detail: string }
);
type LookEvidence = Readonly<Record<string, string | number | null | { [key: string]: string | number | null }[]>>;

/**
 * P(YES), 0..1, by votes of an agent that inspects the patch: in a container with the patch applied it reads, runs and writes
 * scratch checks, then states its verdict. Looks end as soon as the majority is settled. The score is the mean of Beta(yes + 1,
 * no + 1). Equal source changes are inspected once.
 */
export function createAgentVerifier(options: JudgeOptions, agent: JudgeAgent): Verifier {
  return {
    name: 'execution-free',
    measures: [options.measure],
    ...(agent.harvested ? { phase: 'before-tests' } : {}),
    verify: (task, signal) => verify(options, agent, task, signal),
  };
}

async function verify(
  options: JudgeOptions,
  agent: JudgeAgent,
  task: VerificationTask,
  signal: AbortSignal,
): Promise<readonly Verdict[]> {
  const known = new Map<string, { readonly id: string; readonly judged: Promise<Judged> }>();
  const stop = new AbortController();
  const looking = { options, agent, task, signal: AbortSignal.any([signal, stop.signal]) };
  const verdicts = task.candidates.map(async (candidate) => {
    const { candidate_id: id } = candidate;
    const source = sourceOf(candidate, task.issue.problem_statement);
    if (typeof source !== 'string') return verdictOf(id, options.measure, source);
    const first = known.get(source) ?? { id, judged: judge(looking, id, source) };
    known.set(source, first);
    const judged = await first.judged;
    const evidence = { ...judged.evidence, ...(first.id === id ? {} : { judged_as: first.id }) };
    return verdictOf(id, options.measure, { ...judged, evidence });
  });
  try {
    return await Promise.all(verdicts);
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(verdicts);
    throw error;
  }
}

/** The part applied to base, as for tests: without the candidate's own tests and test-runner configuration. */
function sourceOf({ patch }: Candidate, statement: string): string | Judged {
  const parsed = readPatch(patch, statement);
  if (parsed.kind === 'empty') return abstained('no-source-change', 'the patch is empty');
  if (parsed.kind === 'refused') return abstained('refused-patch', `${parsed.reason}: ${parsed.detail}`);
  const { source } = splitPatch(parsed);
  return source === '' ? abstained('no-source-change', 'the patch changes no source file') : source;
}

interface Looking {
  readonly options: JudgeOptions;
  readonly agent: JudgeAgent;
  readonly task: VerificationTask;
  readonly signal: AbortSignal;
}

async function judge(looking: Looking, id: string, patch: string): Promise<Judged> {
  const { options, agent, task } = looking;
  const { problem_statement: issue, environment } = task.issue;
  const room = Math.floor(options.promptTokens * QUESTION_SHARE);
  const rendered = await fitAttempt({ issue, steps: [], patch }, options.tokenizer, room);
  if (rendered === null) return doesNotFit({ patch });
  const { messages, templateHash } = await options.prompts.render(PROMPT, {
    ...rendered,
    workdir: environment.workdir,
    max_steps: agent.steps,
    action_s: agent.actionS,
  });
  const question = messages.map(({ content }) => content).join('\n\n');
  const part = { kind: 'verdict', name: options.measure.name, facts: { candidate: id } } as const;
  const looks = await (options.tracer ?? UNTRACED).within(part, () => votes(looking, { id, patch, question }));
  const system = (await options.prompts.hashes())[agent.system];
  return judgedBy(looks, {
    prompt_hash: contentKey({ system, question: templateHash }),
    model: options.model,
    condensed: rendered.condensed,
  });
}

interface Asked {
  readonly id: string;
  readonly patch: string;
  readonly question: string;
}

/** Starts as many looks at once as the majority still needs, until it is settled. */
async function votes(looking: Looking, asked: Asked): Promise<readonly Look[]> {
  const { samples: most = LOOKS } = looking.options;
  const majority = Math.floor(most / 2) + 1;
  const looks: Look[] = [];
  for (;;) {
    const yes = looks.filter((each) => each.kind === 'vote' && each.yes).length;
    const no = looks.filter((each) => each.kind === 'vote' && !each.yes).length;
    const more = Math.min(majority - Math.max(yes, no), most - looks.length);
    // A refusal by git, a model outage or a spent budget would recur on the next look.
    if (more <= 0 || looks.some((each) => each.kind === 'failed' && each.reason !== 'unreadable-answer')) return looks;
    const from = looks.length;
    looks.push(...(await Promise.all(Array.from({ length: more }, (_, index) => look(looking, asked, from + index)))));
  }
}

async function look({ options, agent, task, signal }: Looking, asked: Asked, sample: number): Promise<Look> {
  const { id, patch, question } = asked;
  const inspection = { patch, question, model: options.model, max_steps: agent.steps, sample };
  try {
    const rollout = await agent.inspect(task.issue, inspection, signal);
    task.found?.(`judge-${sample + 1}-of-${id}`, rollout.steps);
    return readLook(rollout);
  } catch (error) {
    // By its code, not its class: the error may come from another process.
    const code = error instanceof UnavailableError ? error.code : '';
    const reason = SANDBOX_LOST.has(code) ? 'infrastructure' : code === 'model-unavailable' ? code : null;
    if (reason === null) throw error;
    return { kind: 'failed', reason, detail: (error as Error).message, evidence: { failed: reason } };
  }
}

const FAILED: Readonly<Record<string, AbstainReason>> = {
  [DOES_NOT_APPLY]: 'does-not-apply',
  budget_limit: 'budget-spent',
  llm_query_error: 'model-unavailable',
};

/** The verdict is what the agent said when it called finish; earlier statements do not count. */
function readLook({ steps, exit_reason: reason, patch_problem: problem }: Rollout): Look {
  const failed = FAILED[reason];
  if (failed !== undefined) {
    const detail = problem ?? `the look ended by ${reason} after ${steps.length} steps`;
    return { kind: 'failed', reason: failed, detail, evidence: { failed, steps: steps.length } };
  }
  const last = steps.at(-1);
  const said = submitted(reason) && last !== undefined ? `${last.thought}\n${last.action}` : '';
  const word = statedJudgement(said);
  const common = { steps: steps.length, exit_reason: reason };
  if (word === null) {
    const detail = `a look ended by ${reason} after ${steps.length} steps without a verdict`;
    return {
      kind: 'failed',
      reason: 'unreadable-answer',
      detail,
      evidence: { failed: 'unreadable-answer', ...common },
    };
  }
  const reasons = excerpt(reasonsIn(said), LONGEST_REASONS);
  const evidence = { verdict: word, reasons, commands: commandsOf(steps, said), ...common };
  return { kind: 'vote', yes: word === 'YES', evidence };
}

/** The text of the first closed `<reasons>`; empty if there is none. Linear. */
export function reasonsIn(said: string): string {
  const start = said.indexOf(REASONS);
  const end = start === -1 ? -1 : said.indexOf(END_REASONS, start);
  return end === -1 ? '' : said.slice(start + REASONS.length, end).trim();
}

/** Reply to a judge that ends its look without a verdict; null = it stated one. */
export function lackOfVerdict(said: string): string | null {
  if (statedJudgement(said) !== null) return null;
  return (
    'Not finished yet, for your verdict is missing. Finish once more with <reasons>, <steps> and <judgement>YES</judgement> or ' +
    '<judgement>NO</judgement> in the result of finish; where finish takes none, in the words before it.'
  );
}

/** The commands of the steps that a verdict cites, with their actual exit codes. */
function commandsOf(steps: Rollout['steps'], said: string) {
  const named = /<steps>([\d,\s]*)<\/steps>/.exec(said)?.[1]?.match(/\d+/g) ?? [];
  return [...new Set(named.map(Number))].slice(0, MOST_COMMANDS).flatMap((step) => {
    const { action, exit_code } = steps[step - 1] ?? { action: '', exit_code: null };
    return action === '' ? [] : [{ step, command: excerpt(action, LONGEST_COMMAND), exit_code }];
  });
}

function judgedBy(looks: readonly Look[], common: Judged['evidence']): Judged {
  const cast = looks.flatMap((each) => (each.kind === 'vote' ? [each] : []));
  const yes = cast.filter((each) => each.yes).length;
  const evidence = {
    ...common,
    method: 'agent-votes',
    votes: cast.length,
    yes,
    looks: looks.map((each) => each.evidence),
  };
  const failed = looks.flatMap((each) => (each.kind === 'failed' ? [each] : []));
  const told = failed.find(({ reason }) => reason !== 'unreadable-answer') ?? failed[0];
  if (cast.length === 0)
    return abstained(told?.reason ?? 'unreadable-answer', told?.detail ?? 'nobody looked', evidence);
  const { mean: score, low, high } = betaOfVotes(yes, cast.length);
  return { kind: 'scored', score, evidence: { ...evidence, low, high } };
}
