import { BudgetSpentError, ContextTooLongError, ModelUnavailableError } from '../../../src/core/errors/unavailable.js';
import type { AbstainReason } from '../../../src/core/run/verdict.js';
import type { Completion, CompletionRequest, Message } from '../../../src/ports/llm-client.js';
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
  readonly sample: number;
}

/** One model call of a judge. Temperature 1 and no penalties: some servers report log-probabilities after applying them. */
export async function ask(options: JudgeOptions, question: Question, signal: AbortSignal): Promise<Asked> {
  try {
    return { kind: 'answered', completion: await options.llm.complete(requestOf(options, question), signal) };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    return { kind: 'failed', reason, detail: (error as Error).message };
  }
}

function requestOf(options: JudgeOptions, { messages, prefill, responseSchema, sample }: Question): CompletionRequest {
  const { model, answerTokens } = options;
  const common = { model, temperature: 1, maxTokens: answerTokens, sample, purpose: 'judge' };
  if (responseSchema !== undefined)
    return { ...common, messages, responseSchema, maxTokens: Math.max(answerTokens, 64) };
  const scored = { ...common, topLogprobs: TOP_LOGPROBS };
  if (prefill === undefined || !options.prefill) return { ...scored, messages };
  return { ...scored, messages: [...messages, { role: 'assistant', content: prefill }], continueFinal: true };
}

function reasonOf(error: unknown): AbstainReason | null {
  if (error instanceof ContextTooLongError) return 'prompt-too-long';
  if (error instanceof BudgetSpentError) return 'budget-spent';
  return error instanceof ModelUnavailableError ? 'model-unavailable' : null;
}

/**
 * The generated tokens, behind a prefilled beginning where there was one. A server that did not go on with it but wrote
 * the whole answer is read all the same.
 */
export function tokensOf({ logprobs }: Completion, prefill: string | null): Completion['logprobs'] {
  if (prefill === null || logprobs === null) return logprobs;
  return [{ token: prefill, logprob: 0, top: [] }, ...logprobs];
}

/** Asks one question several times: the first answer before the others, which then find the prompt in a cache. */
export async function askWarm(
  options: JudgeOptions,
  questions: readonly Question[],
  signal: AbortSignal,
): Promise<readonly Asked[]> {
  const [first, ...others] = questions;
  if (first === undefined) return [];
  const answer = await ask(options, first, signal);
  if (answer.kind === 'failed' && answer.reason !== 'model-unavailable') return [answer];
  return [answer, ...(await Promise.all(others.map((question) => ask(options, question, signal))))];
}
