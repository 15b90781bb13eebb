import { BadInputError } from '../../../src/core/errors/errors.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import type { Candidate } from '../../../src/core/run/candidate.js';
import type { VerificationTask, Verifier } from '../../../src/core/run/verifier.js';
import type { CompletionRequest, Message, Tokenizer } from '../../../src/ports/llm-client.js';
import { reasonOf } from '../ask.js';
import type { JudgeOptions } from '../judge-options.js';
import { abstained, type Judged, verdictOf } from '../pointwise/pointwise.js';

const PROMPT = 'verifier/critic';

/** Names of the 27 outputs of OpenHands' critics, in their order (software-agent-sdk, `critic/impl/api`). */
export const LABELS = [
  'success',
  ...['sentiment_positive', 'sentiment_neutral', 'sentiment_negative'],
  ...['misunderstood_intention', 'did_not_follow_instruction', 'insufficient_analysis', 'insufficient_clarification'],
  ...['improper_tool_use_or_setup', 'loop_behavior', 'insufficient_testing', 'insufficient_debugging'],
  ...['incomplete_implementation', 'file_management_errors', 'scope_creep', 'risky_actions_or_permission'],
  ...['other_agent_issue', 'infrastructure_external_issue', 'infrastructure_agent_caused_issue'],
  ...['clarification_or_restatement', 'correction', 'direction_change', 'vcs_update_requests'],
  ...['progress_or_scope_concern', 'frustration_or_complaint', 'removal_or_reversion_request', 'other_user_issue'],
] as const;
/** A label is reported from this probability on (the same SDK). */
const TOLD_FROM = 0.2;
/** If the probabilities of several labels sum to 1 within this, for both probes, they come from a softmax. */
const NEAR_ONE = 1e-3;
/** Share of the text pair for `score` that the issue may take. */
const ISSUE_SHARE = 0.25;
export const PROBES = ['Is this text long enough to be classified?', 'def add(a, b):\n    return a + b\n'] as const;

/** Result of a probe: the number of outputs of the head, or why no candidate can be judged. */
type Probed = { readonly labels: number } | Extract<Judged, { kind: 'abstained' }>;

/**
 * P(success), 0..1, by the head of a critic or a reward model. Its input is the record of the work in the model's chat template
 * (ChatML of Qwen3), cut from the left as in training; without a record, and for `score`, the patch is the answer. A probe
 * checks once whether the server applies the activation that the head was trained with.
 * @throws BadInputError when it does not
 */
export function createCriticVerifier(options: JudgeOptions): Verifier {
  const verify = async (task: VerificationTask, signal: AbortSignal): ReturnType<Verifier['verify']> => {
    const probed = await probe(options, signal);
    return Promise.all(
      task.candidates.map(async (candidate) => {
        const judged = await judge(options, { probed, issue: task.issue.problem_statement, candidate }, signal);
        return verdictOf(candidate.candidate_id, options.measure, judged);
      }),
    );
  };
  return { name: 'execution-free', measures: [options.measure], verify };
}

async function probe(options: JudgeOptions, signal: AbortSignal): Promise<Probed> {
  try {
    // Independent labels may sum to 1 by chance for one text, but not for two.
    for (const text of PROBES) {
      const messages = options.head === 'score' ? [said(text), said(text)] : [said(text)];
      const { outputs = [] } = await options.llm.complete(requestOf(options, messages), signal);
      const probabilities = readOutputs(options, outputs);
      if (!isSoftmax(probabilities)) return { labels: probabilities.length };
    }
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return { kind: 'abstained', reason, detail: (error as Error).message, evidence: {} };
  }
  const next =
    'Set problem_type to multi_label_classification in its config, or use vLLM with BESTK_EF_OPTIONS=critic-pooling.';
  throw wrong(options, `a softmax over ${LABELS.length} labels, which do not exclude each other`, next);
}

function isSoftmax(probabilities: readonly number[]): boolean {
  const sum = probabilities.reduce((total, value) => total + value, 0);
  return probabilities.length > 2 && Math.abs(sum - 1) < NEAR_ONE;
}

interface Asked {
  readonly probed: Probed;
  readonly issue: string;
  readonly candidate: Candidate;
}

async function judge(options: JudgeOptions, { probed, issue, candidate }: Asked, signal: AbortSignal): Promise<Judged> {
  if (candidate.patch.trim() === '') return abstained('no-source-change', 'the patch is empty');
  const { model, head } = options;
  const common = { method: `critic-${head}`, model };
  if (!('labels' in probed)) return { ...probed, evidence: common };
  const { messages, hash, cut } = await textsOf(options, issue, candidate, probed.labels === LABELS.length);
  const evidence = { ...common, prompt_hash: hash, cut_from_the_left: cut };
  try {
    const { outputs = [] } = await options.llm.complete(requestOf(options, messages), signal);
    return { kind: 'scored', ...successIn(readOutputs(options, outputs), evidence) };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return abstained(reason, (error as Error).message, evidence);
  }
}

/**
 * The input of the head, and how many characters of it were cut. Chat markers inside a trajectory are neutralised.
 * @param critic whether it is one of OpenHands': its client sends the words and the result of each step, never the call
 */
async function textsOf(
  { prompts, tokenizer, promptTokens, head }: JudgeOptions,
  statement: string,
  { patch, trajectory }: Candidate,
  critic: boolean,
): Promise<{ readonly messages: readonly Message[]; readonly hash: string; readonly cut: number }> {
  const issue = neutralise(statement);
  const { messages, templateHash: hash } = await prompts.render(PROMPT, { issue });
  const answer: Message = { role: 'assistant', content: neutralise(patch) };
  if (head === 'score') return { hash, ...(await pairOf(issue, answer.content, tokenizer, promptTokens)) };
  const work = (trajectory?.steps ?? []).flatMap(({ thought, action, observation }): Message[] => [
    {
      role: 'assistant',
      content: neutralise([thought, critic ? '' : action].filter((part) => part !== '').join('\n\n')),
    },
    { role: 'user', content: `<tool_response>\n${neutralise(observation)}\n</tool_response>` },
  ]);
  const whole = chatMl([...messages, ...(work.length === 0 ? [answer] : work)]);
  const text = await keepEnd(whole, tokenizer, promptTokens);
  return { messages: [said(text)], hash, cut: whole.length - text.length };
}

/** Keeps the end of both texts: of the issue in a quarter of the room, of the patch in the rest. */
async function pairOf(
  issue: string,
  patch: string,
  tokenizer: Tokenizer,
  most: number,
): Promise<{ readonly messages: readonly Message[]; readonly cut: number }> {
  const asked = await keepEnd(issue, tokenizer, Math.floor(most * ISSUE_SHARE));
  const answer = await keepEnd(patch, tokenizer, most - Math.floor(most * ISSUE_SHARE));
  const cut = issue.length - asked.length + (patch.length - answer.length);
  return { messages: [said(asked), { role: 'assistant', content: answer }], cut };
}

function successIn(
  probabilities: readonly number[],
  evidence: Judged['evidence'],
): { readonly score: number; readonly evidence: Judged['evidence'] } {
  const score = (probabilities.length === 2 ? probabilities[1] : probabilities[0]) ?? 0;
  if (probabilities.length !== LABELS.length) return { score, evidence };
  const told = LABELS.map((label, index) => [label, probabilities[index] ?? 0] as const);
  return { score, evidence: { ...evidence, labels: Object.fromEntries(told.filter(([, p]) => p >= TOLD_FROM)) } };
}

function said(content: string): Message {
  return { role: 'user', content };
}

function requestOf({ model, head }: JudgeOptions, messages: readonly Message[]): CompletionRequest {
  return { model, head, messages, temperature: 0, maxTokens: 1, sample: 0, purpose: 'judge' };
}

/** The conversation in Qwen3's chat template. */
function chatMl(messages: readonly Message[]): string {
  return messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`).join('');
}

const ROUNDS = 8;

/** The end of a text, in at most `most` tokens: critics were trained on texts cut from the left. */
async function keepEnd(text: string, tokenizer: Tokenizer, most: number): Promise<string> {
  let end = text;
  for (let round = 0; round < ROUNDS && end.length > most; round += 1) {
    const tokens = await tokenizer.count(end);
    if (tokens <= most) return end;
    end = end.slice(end.length - Math.floor(end.length * (most / tokens) * 0.98));
  }
  return end.length > most ? end.slice(-most) : end;
}

/** Probabilities from a head's outputs: one, a pair (no, yes), or OpenHands' labels. @throws BadInputError */
function readOutputs(options: JudgeOptions, outputs: readonly number[]): readonly number[] {
  const count = outputs.length;
  if (![1, 2, LABELS.length].includes(count)) {
    throw wrong(
      options,
      `${count} outputs`,
      `Serve a model with 1, 2 or ${LABELS.length} outputs, or another way to judge.`,
    );
  }
  const inUnit = outputs.every((value) => value >= 0 && value <= 1);
  if (options.head === 'pooling') {
    if (count > 2 && inUnit) {
      throw wrong(
        options,
        'probabilities where raw outputs were asked for',
        'Leave critic-pooling out of BESTK_EF_OPTIONS, or use a newer server.',
      );
    }
    return count === 2 ? softmax(outputs) : outputs.map(sigmoid);
  }
  if (!inUnit) throw wrong(options, 'numbers that are no probabilities', 'Use BESTK_EF_OPTIONS=critic-pooling.');
  return outputs;
}

function wrong({ model }: JudgeOptions, what: string, next: string): BadInputError {
  return new BadInputError(`the head of "${model}" gives ${what}.`, { field: 'BESTK_EF_OPTIONS' }, next);
}

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

function softmax(values: readonly number[]): readonly number[] {
  const most = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - most));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}
