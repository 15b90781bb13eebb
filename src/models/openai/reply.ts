import { z } from 'zod';
import { DeadlineError } from '../../core/async/time.js';
import type { Completion, TokenLogprob } from '../../ports/llm-client.js';

/** The server answered 200 with something that is not a whole chat completion. */
export class UnreadableReplyError extends Error {
  /** @param usage what the server counts for it all the same */
  constructor(
    message: string,
    readonly usage: Completion['usage'] = null,
  ) {
    super(message);
  }
}

/** What vLLM reports for a token without a probability, since JSON has no -Infinity. */
const NO_LOGPROB = -9999;

const Position = z.object({
  token: z.string(),
  logprob: z.unknown(),
  top_logprobs: z.array(z.unknown()).nullish(),
});
const Alternative = z.object({ token: z.string(), logprob: z.number() });

const Texts = z.array(z.object({ text: z.string() })).transform((parts) => parts.map(({ text }) => text).join(''));
const Part = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z
    .object({ type: z.literal('thinking'), thinking: z.union([z.string(), Texts]) })
    .transform(({ type, thinking: text }) => ({ type, text })),
  z.object({ type: z.string() }).transform(() => ({ type: 'other', text: '' })),
]);
/** A text, or the list of parts that Mistral's reasoning models send; parts that are neither text nor thoughts are dropped. */
const Content = z
  .union([z.string().transform((text) => [{ type: 'text', text }]), z.array(Part)])
  .nullish()
  .transform((parts) => {
    const of = (wanted: string): string =>
      (parts ?? []).map(({ type, text }) => (type === wanted ? text : '')).join('');
    return { text: of('text'), thoughts: of('thinking') };
  });

const Call = z.object({ id: z.string().nullish(), function: z.object({ name: z.string(), arguments: z.string() }) });
const Choice = z.object({
  message: z.object({
    content: Content,
    // Servers use either name.
    reasoning_content: z.string().nullish().catch(null),
    reasoning: z.string().nullish().catch(null),
    tool_calls: z.array(Call).nullish(),
  }),
  finish_reason: z.string().nullish(),
  error: z.unknown().optional(),
  logprobs: z
    .object({ content: z.array(Position).nullish() })
    .nullish()
    .catch(null),
});

export const Usage = z
  .object({
    prompt_tokens: z.int().min(0),
    completion_tokens: z.int().min(0),
    prompt_tokens_details: z
      .object({ cached_tokens: z.int().min(0).nullish() })
      .nullish()
      .catch(null),
  })
  .nullish()
  .catch(null);

const Reply = z.object({ model: z.string().nullish(), choices: z.tuple([Choice], z.unknown()), usage: Usage });

/** Finish reasons of a server that failed: vLLM and SGLang, gateways, DeepSeek, Z.ai. */
const BREAKS = new Set(['abort', 'error', 'insufficient_system_resource', 'network_error']);

/** Whether the server, not the model, ended the answer, so that asking again may give a whole one. */
export function isBrokenOff({ finish_reason }: Pick<Completion, 'finish_reason'>): boolean {
  return BREAKS.has(finish_reason);
}

/** @throws UnreadableReplyError with the beginning of the reply, or if the server broke it off */
export function readReply(raw: unknown, requestedModel: string): Completion {
  const parsed = Reply.safeParse(raw);
  if (!parsed.success) throw new UnreadableReplyError(describeReply(raw));
  const { model, choices, usage } = parsed.data;
  const [choice] = choices;
  const finish_reason = choice.finish_reason ?? 'unknown';
  if (choice.error != null || isBrokenOff({ finish_reason })) {
    const why = JSON.stringify(choice.error ?? finish_reason).slice(0, 200);
    throw new UnreadableReplyError(`it broke off its answer: ${why}`, readUsage(usage));
  }
  return {
    ...readMessage(choice.message),
    logprobs: readLogprobs(choice),
    finish_reason,
    usage: readUsage(usage),
    model: model ?? requestedModel,
  };
}

/** Some servers send an empty token list if they have no log-probabilities. */
function readLogprobs({ logprobs, message }: z.infer<typeof Choice>): Completion['logprobs'] {
  const positions = logprobs?.content ?? null;
  return positions?.length === 0 && message.content.text !== '' ? null : (positions?.map(readPosition) ?? null);
}

/** An answer whose tokens ran out before it began. */
export function cutReply(model: string): Completion {
  return { text: '', reasoning: '', tool_calls: [], logprobs: null, finish_reason: 'length', usage: null, model };
}

function readMessage(
  message: z.infer<typeof Choice>['message'],
): Pick<Completion, 'text' | 'reasoning' | 'tool_calls'> {
  const calls = message.tool_calls ?? [];
  return {
    text: message.content.text,
    reasoning: message.reasoning_content ?? message.reasoning ?? message.content.thoughts,
    tool_calls: calls.map(({ id, function: called }, index) => ({ id: id ?? `call_${index}`, ...called })),
  };
}

export function readUsage(usage: z.infer<typeof Usage>): Completion['usage'] {
  if (usage == null) return null;
  return {
    input_tokens: usage.prompt_tokens,
    cached_input_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output_tokens: usage.completion_tokens,
  };
}

/** Tokens of several attempts; null when none is known. */
export function sumUsage(a: Completion['usage'], b: Completion['usage']): Completion['usage'] {
  if (a === null || b === null) return a ?? b;
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  };
}

/**
 * Every generated token is kept, whatever its log-probability, so that the text stays whole. Unreadable alternatives are
 * dropped.
 */
function readPosition({ token, logprob, top_logprobs: top }: z.infer<typeof Position>): TokenLogprob {
  return {
    token,
    logprob: typeof logprob === 'number' && Number.isFinite(logprob) ? logprob : NO_LOGPROB,
    top: (top ?? []).flatMap((entry) => {
      const alternative = Alternative.safeParse(entry);
      return alternative.success ? [alternative.data] : [];
    }),
  };
}

function describeReply(raw: unknown): string {
  if (typeof raw === 'string') return `it answered with text, not with JSON: ${raw.slice(0, 200)}`;
  return `its answer is not a chat completion: ${JSON.stringify(raw ?? null).slice(0, 200)}`;
}

/** Why one attempt gave no completion. */
export interface Failure {
  readonly detail: string;
  /** The parameter that the server names as the cause; '' when it names none. */
  readonly param: string;
  /** The category used in metrics. */
  readonly kind: 'rate-limited' | 'server-error' | 'refused' | 'no-answer';
  readonly retryable: boolean;
  readonly usage: Completion['usage'];
  /** Waiting helps: the server, or the one behind a proxy, was unreachable, or has too many calls. */
  readonly away: boolean;
  /** The delay that the server requested; null when it gave none. */
  readonly retryAfterMs: number | null;
  /** The server does not take this request, whoever sends it. */
  readonly rejected: boolean;
  /** Prompt and requested answer exceed the model's context. */
  readonly tooLong: boolean;
  /** The model spent all its answer tokens on reasoning, which OpenAI reports as an error. */
  readonly cutWithinThoughts: boolean;
}

const RETRYABLE_STATUS = new Set([408, 409, 429]);
const REJECTED_STATUS = new Set<number | undefined>([400, 413, 422]);
const AWAY_STATUS = new Set([429, 502, 503, 504, 529]);
/** The code of a 429 that no waiting helps: the account has no money left. */
const NO_QUOTA = 'insufficient_quota';
/** Codes and messages of services and servers; there is no common code. */
const TOO_LONG = new RegExp(
  [
    'context[_ ]length[_ ]exceeded',
    '(maximum|max) (context|model|prompt) length',
    "exceeds? the (available|maximum|model'?s) (allowed |context )",
    "(longer|greater) than the (model'?s )?context",
    'must (be <=|have less than) .{0,40}(tokens|max_)',
    'input tokens exceed',
    'token count .{0,30}exceeds the (maximum|limit)',
    'exceeds? (the context window|context limit)',
    'context window exceeds',
    'exceeded model token limit',
    'reduce the length of the (messages|prompt|input)',
    'prompt (exceeds max length|is too long)',
    'input is too long',
    'range of input length',
  ].join('|'),
  'i',
);
const CUT = /could not finish the message because max_(completion_)?tokens/i;
const MAX_DETAIL = 500;

/**
 * The only place that classifies failures. A status comes from the server: 408, 409, 429 and 5xx are temporary, other 4xx are
 * not. Failures without one (refused or reset connections, time-outs, truncated JSON, a gateway's HTML page) belong to the
 * transport and may be temporary.
 */
export function describeFailure(error: unknown, secrets: readonly string[], now: number): Failure {
  const answer = statusOf(error);
  const { status, headers, code = '', param = '' } = answer;
  const rejected = REJECTED_STATUS.has(status);
  const detail = secrets.reduce((text, secret) => text.replaceAll(secret, '[hidden]'), describe(error));
  return {
    kind: kindOf(status),
    param,
    detail: detail.length > MAX_DETAIL ? `${detail.slice(0, MAX_DETAIL)}…` : detail,
    retryable: status === undefined || status >= 500 || RETRYABLE_STATUS.has(status),
    usage: error instanceof UnreadableReplyError ? error.usage : null,
    away: isAway(error, answer),
    retryAfterMs: headers === undefined ? null : retryAfter(headers, now),
    rejected,
    tooLong: rejected && TOO_LONG.test(`${code} ${detail}`),
    cutWithinThoughts: status === 400 && CUT.test(detail),
  };
}

function isAway(error: unknown, { status, code }: ReturnType<typeof statusOf>): boolean {
  return status === undefined ? !isAnswer(error) : AWAY_STATUS.has(status) && code !== NO_QUOTA;
}

function kindOf(status: number | undefined): Failure['kind'] {
  if (status === undefined) return 'no-answer';
  if (status === 429) return 'rate-limited';
  return status >= 500 ? 'server-error' : 'refused';
}

// Matched by shape, not by class: the SDK is loaded late, and its errors wrap those of fetch and of the socket.
const StatusError = z.object({
  status: z.number(),
  headers: z.custom<Headers>().optional(),
  code: z.string().optional().catch(undefined),
  param: z.string().optional().catch(undefined),
});
const Thrown = z.object({
  name: z.string(),
  message: z.string(),
  code: z.unknown().optional(),
  cause: z.unknown().optional(),
});

/** Whether the server was reachable: it sent something unreadable, or did not answer in time. */
function isAnswer(error: unknown): boolean {
  if (error instanceof DeadlineError || error instanceof UnreadableReplyError) return true;
  return causes(error)[0]?.name === 'SyntaxError';
}

function statusOf(error: unknown): Partial<z.infer<typeof StatusError>> {
  return StatusError.safeParse(error).data ?? {};
}

function describe(error: unknown): string {
  if (error instanceof DeadlineError || error instanceof UnreadableReplyError) return error.message;
  const chain = causes(error);
  if (chain[0]?.name === 'SyntaxError') return `its answer is cut or no JSON (${chain[0].message})`;
  const words = [...new Set(chain.map(wordsOf))].filter((text) => text !== '');
  return words.length === 0 ? String(error) : words.join(': ');
}

/** The error and its chain of causes: the socket's own message is two or three levels down. */
function causes(error: unknown): readonly z.infer<typeof Thrown>[] {
  const chain: z.infer<typeof Thrown>[] = [];
  let at = Thrown.safeParse(error);
  while (at.success && chain.length < 4) {
    chain.push(at.data);
    at = Thrown.safeParse(at.data.cause);
  }
  return chain;
}

function wordsOf({ message, code }: z.infer<typeof Thrown>): string {
  if (message !== '') return message;
  return typeof code === 'string' ? code : '';
}

/** `retry-after-ms` in milliseconds, or `Retry-After` in seconds or as an HTTP date. */
function retryAfter(headers: Headers, now: number): number | null {
  const milliseconds = Number.parseFloat(headers.get('retry-after-ms') ?? '');
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
