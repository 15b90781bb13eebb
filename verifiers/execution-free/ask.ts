import { BudgetSpentError, ContextTooLongError, ModelUnavailableError } from '../../src/core/errors/unavailable.js';
import { asSmallJson } from '../../src/core/json.js';
import type { AbstainReason } from '../../src/core/run/verdict.js';
import {
  type Completion,
  type CompletionRequest,
  type LlmClient,
  type Message,
  numberedToken,
  type TokenLogprob,
} from '../../src/ports/llm-client.js';
import { TOP_LOGPROBS, type JudgeOptions } from './judge-options.js';

/**
 * An answer, or the reason to abstain; errors that are not such a reason are thrown. `numbered` is the first of tokens that the
 * server named by number, so that its log-probabilities were left out.
 */
export type Asked =
  | { readonly kind: 'answered'; readonly completion: Completion; readonly numbered?: string }
  | { readonly kind: 'failed'; readonly reason: AbstainReason; readonly detail: string; readonly refused: boolean };
export type Failed = Extract<Asked, { kind: 'failed' }>;

export interface Question {
  readonly messages: readonly Message[];
  /** Beginning of the answer, if the server can continue it. */
  readonly prefill?: string;
  readonly responseSchema?: CompletionRequest['responseSchema'];
  /** Minimum tokens for an answer in prose rather than a verdict; log-probabilities are then not requested. */
  readonly atLeast?: number;
  readonly sample: number;
}

type AskOptions = Pick<JudgeOptions, 'llm' | 'model' | 'answerTokens' | 'think' | 'prefill'>;

/** Tokens of an answer that includes reasoning. */
export const THINKING_TOKENS = 16_384;
/** Minimum tokens of an answer that follows a schema. */
const SCHEMA_TOKENS = 64;

/**
 * One model call of a judge. Temperature 1 and no penalties: some servers report log-probabilities after applying them. If the
 * first answer of a model is cut off while it is still thinking, the question is repeated with room for thoughts; later
 * questions to that model get that room at once.
 */
export async function ask(options: AskOptions, question: Question, signal: AbortSignal): Promise<Asked> {
  const { llm, model } = options;
  try {
    const thinks = options.think || thinkersOf(llm).has(model);
    const request = requestOf(options, question, thinks ? THINKING_TOKENS : 0);
    const completion = await llm.complete(request, signal);
    if (request.maxTokens >= THINKING_TOKENS || !cutWithinThoughts(completion)) return answered(completion);
    thinkersOf(llm).add(model);
    const again = requestOf(options, question, THINKING_TOKENS);
    return answered(await llm.complete(again, signal));
  } catch (error) {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    const refused = error instanceof ModelUnavailableError && error.refused;
    return { kind: 'failed', reason, detail: (error as Error).message, refused };
  }
}

/** Log-probabilities that name tokens by number are none. */
function answered(completion: Completion): Asked {
  const numbered = numberedToken(completion);
  if (numbered === null) return { kind: 'answered', completion };
  return { kind: 'answered', completion: { ...completion, logprobs: null }, numbered };
}

/** Evidence of why log-probabilities were not used although the server gave some; empty if it gave none. */
export function unusedLogprobs(asked: readonly Asked[]): { readonly unused_logprobs?: string } {
  const numbered = asked.flatMap((each) => (each.kind === 'answered' ? (each.numbered ?? []) : []))[0];
  return numbered === undefined ? {} : { unused_logprobs: `they name tokens by number: ${numbered.slice(0, 40)}` };
}

/** Models found to think before answering, per client. */
const THINKERS = new WeakMap<LlmClient, Set<string>>();

function thinkersOf(llm: LlmClient): Set<string> {
  const known = THINKERS.get(llm) ?? new Set<string>();
  THINKERS.set(llm, known);
  return known;
}

/** True if the answer was cut off before any verdict: the text is thoughts only, or the server hides them. */
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

/** The first failed call, of a question without a readable answer. */
export function failedIn(asked: readonly Asked[]): Failed | undefined {
  return asked.find((each) => each.kind === 'failed');
}

/** The abstain reason for an error of a call; null for an error that ends the run. */
export function reasonOf(error: unknown): AbstainReason | null {
  if (error instanceof ContextTooLongError) return 'prompt-too-long';
  if (error instanceof BudgetSpentError) return 'budget-spent';
  return error instanceof ModelUnavailableError ? 'model-unavailable' : null;
}

/** The beginning of the answer that is sent for the judge to continue; null if it writes the whole answer. */
export function prefilled({ prefill, think }: Pick<JudgeOptions, 'prefill' | 'think'>, tag: string): string | null {
  return prefill && !think ? tag : null;
}

/**
 * The tokens of the answer without thoughts that the server separates, preceded by the prefilled beginning if there was one. An
 * answer is also readable if the server ignored the prefill and wrote all of it.
 */
export function tokensOf(completion: Completion, prefill: string | null): Completion['logprobs'] {
  const logprobs = completion.reasoning === '' ? completion.logprobs : behindThoughts(completion);
  if (prefill === null || logprobs === null) return logprobs;
  return [{ token: prefill, logprob: 0, top: [] }, ...logprobs];
}

/** Some servers list the tokens of thoughts with those of the answer; a verdict inside a thought must not count. */
function behindThoughts({ text, logprobs }: Completion): Completion['logprobs'] {
  if (logprobs === null) return null;
  const all = logprobs.map(({ token }) => token).join('');
  const said = text.trim();
  // A character split over several tokens matches none of them, so the text after the last non-ASCII character is tried too.
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
 * Asks a question several times: the others wait for the first answer, so that they find the prompt in the server's cache.
 * @param inTurn runs the first question when its turn comes
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

/** Distribution over the choices after a tag: share of each, and their total probability before normalisation. */
export type TaggedChoice<Choice extends string> =
  | { readonly kind: 'read'; readonly share: ReadonlyMap<Choice, number>; readonly mass: number }
  | { readonly kind: 'unreadable'; readonly detail: string };

/**
 * The distribution over `choices` at the token after `<tag>`, each summed over its spellings, normalised to 1. Never NaN: no
 * mass is unreadable.
 * @param readToken the choice that a token begins, or null; it receives the part of the token after the tag
 */
export function readTaggedToken<Choice extends string>(
  logprobs: readonly TokenLogprob[] | null,
  tag: string,
  readToken: (text: string) => Choice | null,
): TaggedChoice<Choice> {
  if (logprobs === null || logprobs.length === 0) return unreadable('the server gave no log-probabilities');
  const tokens = logprobs.map(({ token }) => token);
  const place = verdictPosition(tokens, tag);
  const position = place === null ? undefined : logprobs[place.index];
  if (place === null || position === undefined) return unreadable(`the answer has no token after ${tag}`);
  const sums = sumsOf(position, place.before, readToken);
  const mass = [...sums.values()].reduce((sum, p) => sum + p, 0);
  if (!(mass > 0)) return unreadable('no answer that was asked for is among the alternatives of its token');
  const share = new Map([...sums].map(([choice, p]) => [choice, p / mass] as const));
  return { kind: 'read', share, mass: Math.min(1, mass) };
}

function sumsOf<Choice extends string>(
  position: TokenLogprob,
  before: string,
  readToken: (text: string) => Choice | null,
): ReadonlyMap<Choice, number> {
  const sums = new Map<Choice, number>();
  for (const { token, logprob } of alternatives(position)) {
    if (!token.startsWith(before)) continue;
    const choice = readToken(token.slice(before.length).replace(/^[\s\u2581\u0120\u010A]+/, ''));
    if (choice !== null) sums.set(choice, (sums.get(choice) ?? 0) + Math.exp(Math.min(0, logprob)));
  }
  return sums;
}

function unreadable(detail: string): { kind: 'unreadable'; detail: string } {
  return { kind: 'unreadable', detail };
}

/** The sampled token counts even if it is not among the listed ones. */
function alternatives({ token, logprob, top }: TokenLogprob): readonly { token: string; logprob: number }[] {
  return top.some((alternative) => alternative.token === token) ? top : [...top, { token, logprob }];
}

const THOUGHT_END = '</think>';
const THOUGHT_START = '<think>';
/** Only whitespace, in any tokenizer's spelling. */
const BLANK = /^[\s\u2581\u0120\u010A]*$/;

/**
 * Finds the verdict among the generated tokens: the token after the last `tag` that follows the last `</think>`, however tag
 * and verdict are split. A verdict inside an unfinished thought is a draft and does not count.
 * @returns the token's index, and the part of it that belongs to the tag; null when there is none
 */
export function verdictPosition(tokens: readonly string[], tag: string): { index: number; before: string } | null {
  const text = tokens.join('');
  const thought = text.lastIndexOf(THOUGHT_END);
  if (text.lastIndexOf(THOUGHT_START) > thought) return null;
  const at = text.lastIndexOf(tag);
  if (at < Math.max(0, thought)) return null;
  return tokenAfter(tokens, at + tag.length);
}

function tokenAfter(tokens: readonly string[], at: number): { index: number; before: string } | null {
  let start = 0;
  for (const [index, token] of tokens.entries()) {
    const end = start + token.length;
    const cut = Math.max(0, at - start);
    if (end > at && !BLANK.test(token.slice(cut))) return { index, before: token.slice(0, cut) };
    start = end;
  }
  return null;
}

export const JUDGEMENT_TAG = '<judgement>';
const VERDICTS = ['YES', 'NO'] as const;
type Word = (typeof VERDICTS)[number];

/** One answer: P(YES) given YES or NO, and the total probability of the two. */
export type Judgement =
  | { readonly kind: 'read'; readonly yes: number; readonly mass: number }
  | { readonly kind: 'unreadable'; readonly detail: string };

/**
 * P(YES) / (P(YES) + P(NO)) at the token after `<judgement>`, each summed over its spellings (R2E-Gym, arXiv
 * 2504.07164, C.2, which looks up one spelling at a fixed position).
 */
export function readJudgement(logprobs: readonly TokenLogprob[] | null): Judgement {
  const read = readTaggedToken(logprobs, JUDGEMENT_TAG, readWord);
  return read.kind === 'read' ? { kind: 'read', yes: read.share.get('YES') ?? 0, mass: read.mass } : read;
}

/** The last verdict stated in the text of an answer, or null; a draft in an unfinished thought does not count. */
export function statedJudgement(text: string): Word | null {
  const answer = text.slice(text.lastIndexOf('</think>') + 1);
  if (answer.includes('<think>')) return null;
  const [, ...said] = answer.split(/<judgement>/i);
  const stated = /^\s*(YES|NO)\b/i.exec(said.at(-1) ?? '')?.[1]?.toUpperCase();
  return VERDICTS.find((word) => word === stated) ?? null;
}

/** The verdict a token begins: `YES`, `Yes`, `no`, `YES</`, or its first letters when the tokenizer splits it. */
function readWord(text: string): Word | null {
  const match = /^([A-Za-z]+)(?![\p{L}\p{N}_])(.*)$/su.exec(text);
  if (match === null) return null;
  const [, letters = '', rest] = match;
  const word = letters.toUpperCase();
  return VERDICTS.find((verdict) => word === verdict || (rest === '' && verdict.startsWith(word))) ?? null;
}

/** No answer that follows a schema has nearly as many. */
const MOST_VALUES = 10_000;

/** The answer parsed as JSON, without its thoughts; null if that fails. */
export function jsonOf(text: string): unknown {
  const thought = text.lastIndexOf(THOUGHT_END);
  return asSmallJson(thought === -1 ? text : text.slice(thought + THOUGHT_END.length), MOST_VALUES) ?? null;
}
