import { BudgetSpentError, ContextTooLongError, ModelUnavailableError } from '../../src/core/errors/unavailable.js';
import type { AbstainReason } from '../../src/core/run/verdict.js';
import type { Completion, CompletionRequest, LlmClient, Message } from '../../src/ports/llm-client.js';
import { TOP_LOGPROBS, type JudgeOptions } from './judge-options.js';

/** An answer, or why there is none; an error that is nobody's answer is thrown. */
export type Asked =
  | { readonly kind: 'answered'; readonly completion: Completion }
  | { readonly kind: 'failed'; readonly reason: AbstainReason; readonly detail: string };

export interface Question {
  readonly messages: readonly Message[];
  /** The beginning of the answer, where the server goes on with it. */
  readonly prefill?: string;
  readonly responseSchema?: CompletionRequest['responseSchema'];
  /** Least tokens of the answer, where it is words in place of a verdict: nobody asks how probable each of them was. */
  readonly atLeast?: number;
  readonly sample: number;
}

type AskOptions = Pick<JudgeOptions, 'llm' | 'model' | 'answerTokens' | 'think' | 'prefill'>;

/** Tokens of an answer that is to be thought through first. */
const THINKING_TOKENS = 16_384;
/** Least tokens of an answer by a schema. */
const SCHEMA_TOKENS = 64;

/**
 * One model call of a judge. Temperature 1 and no penalties: some servers report log-probabilities after applying them.
 * A model whose first answer ended within its thoughts is asked again with room for them, and from then on.
 */
export async function ask(options: AskOptions, question: Question, signal: AbortSignal): Promise<Asked> {
  const { llm, model } = options;
  try {
    const thinks = options.think || thinkersOf(llm).has(model);
    const request = requestOf(options, question, thinks ? THINKING_TOKENS : 0);
    const completion = await llm.complete(request, signal);
    if (request.maxTokens >= THINKING_TOKENS || !cutWithinThoughts(completion)) return { kind: 'answered', completion };
    thinkersOf(llm).add(model);
    const again = requestOf(options, question, THINKING_TOKENS);
    return { kind: 'answered', completion: await llm.complete(again, signal) };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return { kind: 'failed', reason, detail: (error as Error).message };
  }
}

/** Models that turned out to think first, by who asks them. */
const THINKERS = new WeakMap<LlmClient, Set<string>>();

function thinkersOf(llm: LlmClient): Set<string> {
  const known = THINKERS.get(llm) ?? new Set<string>();
  THINKERS.set(llm, known);
  return known;
}

/** Nothing was said yet: what was written are thoughts, or the server keeps them to itself. */
function cutWithinThoughts({ finish_reason, text, reasoning }: Completion): boolean {
  if (finish_reason !== 'length') return false;
  const unfinished = text.lastIndexOf('<think>') > text.lastIndexOf('</think>');
  return text.trim() === '' || reasoning !== '' || unfinished;
}

function requestOf(
  { model, answerTokens, prefill: goesOn, think }: AskOptions,
  { messages, prefill, responseSchema, atLeast = 0, sample }: Question,
  thoughts: number,
): CompletionRequest {
  const maxTokens = Math.max(answerTokens, atLeast, thoughts, responseSchema === undefined ? 0 : SCHEMA_TOKENS);
  const common = { model, temperature: 1, maxTokens, sample, purpose: 'judge' };
  if (responseSchema !== undefined) return { ...common, messages, responseSchema };
  const scored = atLeast > 0 ? common : { ...common, topLogprobs: TOP_LOGPROBS };
  if (prefill === undefined || !goesOn || think) return { ...scored, messages };
  return { ...scored, messages: [...messages, { role: 'assistant', content: prefill }], continueFinal: true };
}

/** Why a call is nobody's verdict; null for an error that ends the run. */
export function reasonOf(error: unknown): AbstainReason | null {
  if (error instanceof ContextTooLongError) return 'prompt-too-long';
  if (error instanceof BudgetSpentError) return 'budget-spent';
  return error instanceof ModelUnavailableError ? 'model-unavailable' : null;
}

/** The beginning of the answer that a judge is given; null where it writes the whole. */
export function prefilled({ prefill, think }: Pick<JudgeOptions, 'prefill' | 'think'>, tag: string): string | null {
  return prefill && !think ? tag : null;
}

/**
 * The tokens of the answer, without thoughts that the server sets apart, behind a prefilled beginning where there was one.
 * A server that did not go on with that but wrote the whole answer is read all the same.
 */
export function tokensOf(completion: Completion, prefill: string | null): Completion['logprobs'] {
  const logprobs = completion.reasoning === '' ? completion.logprobs : behindThoughts(completion);
  if (prefill === null || logprobs === null) return logprobs;
  return [{ token: prefill, logprob: 0, top: [] }, ...logprobs];
}

/** Some servers list the tokens of thoughts with those of the answer; a verdict that was only considered does not count. */
function behindThoughts({ text, logprobs }: Completion): Completion['logprobs'] {
  if (logprobs === null) return null;
  const all = logprobs.map(({ token }) => token).join('');
  const said = text.trim();
  // A character that several tokens share is none of theirs: what stands behind the last such one is found all the same.
  const ends = [said, said.replace(/^[^]*[\u0080-\uffff]/, '')].filter((end) => end !== '');
  const at = ends.map((end) => all.lastIndexOf(end)).find((place) => place !== -1);
  if (at === undefined) return [];
  let start = 0;
  return logprobs.filter(({ token }) => {
    start += token.length;
    return start > at;
  });
}

/**
 * Asks one question several times: the first answer before the others, which then find the prompt in a cache.
 * @param inTurn asks the first, when it is its turn
 */
export async function askWarm(
  options: AskOptions,
  questions: readonly Question[],
  signal: AbortSignal,
  inTurn: <T>(ask: () => Promise<T>) => Promise<T>,
): Promise<readonly Asked[]> {
  const [first, ...others] = questions;
  if (first === undefined) return [];
  const answer = await inTurn(() => ask(options, first, signal));
  if (answer.kind === 'failed' && answer.reason !== 'model-unavailable') return [answer];
  return [answer, ...(await Promise.all(others.map((question) => ask(options, question, signal))))];
}
