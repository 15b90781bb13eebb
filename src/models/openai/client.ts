import type OpenAI from 'openai';
import { z } from 'zod';
import { abortable, withDeadline, DeadlineError, backOffMs, pause } from '../../core/async/time.js';
import { FairSemaphore } from '../../core/async/concurrency.js';
import type { UnavailableError } from '../../core/errors/errors.js';
import { ContextTooLongError, ModelUnavailableError } from '../../core/errors/unavailable.js';
import {
  type Completion,
  type CompletionRequest,
  type HeadRoute,
  LlmClient,
  type Message,
} from '../../ports/llm-client.js';
import { connect, DEFAULT_BASE_URL, type OpenAiEndpoint } from './connection.js';
import { cutReply, readReply, readUsage, UnreadableReplyError, Usage } from './reply.js';

export interface OpenAiOptions extends OpenAiEndpoint {
  /** Maximum concurrent calls; one waiting for a retry does not count. */
  readonly concurrency: number;
  /** Time limit of one attempt, from sending to the last byte of the answer. */
  readonly timeoutS: number;
  /** Retries after a failure that may be temporary. */
  readonly maxRetries: number;
  /** How long to wait for an unavailable server that has answered before; 0 = only as long as the retries take. */
  readonly patienceMs?: number;
  /** Resolves when a call may be sent; awaited once the call has a slot. */
  readonly mayAsk?: (signal: AbortSignal) => Promise<void>;
  /** Called before each retry, with the kind of the previous failure. */
  readonly onRetry?: (reason: Failure['kind']) => void;
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random?: () => number;
}

type Outcome = { readonly completion: Completion } | { readonly failure: Failure };

/** Client for any server with Chat Completions: OpenAI, vLLM, SGLang, llama.cpp. */
export class OpenAiLlmClient extends LlmClient {
  readonly #options: OpenAiOptions;
  readonly #slots: FairSemaphore;
  readonly #secrets: readonly string[];
  /** Parameters that each model has refused. */
  readonly #refused = new Map<string, ReadonlySet<Refusable>>();
  #connection: Promise<OpenAI> | undefined;
  #answered = false;

  constructor(options: OpenAiOptions) {
    super();
    this.#options = options;
    this.#slots = new FairSemaphore(options.concurrency);
    this.#secrets = secretsOf(options);
  }

  async complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    let waited = 0;
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      const outcome = await this.#inTurn(request, signal);
      if ('completion' in outcome) return outcome.completion;
      const { failure } = outcome;
      const hope = attempt < this.#options.maxRetries || this.#comesBack(failure, waited);
      if (!failure.retryable || !hope) throw this.#unavailable(failure, attempt + 1);
      this.#options.onRetry?.(failure.kind);
      const wait = backOffMs(attempt, failure.retryAfterMs, this.#options.random ?? Math.random);
      waited += wait;
      await (this.#options.pause ?? pause)(wait, signal);
    }
  }

  /** An aborted call keeps its slot until it has ended. */
  async #inTurn(request: CompletionRequest, signal: AbortSignal): Promise<Outcome> {
    const release = await this.#slots.take(signal);
    return abortable(this.#attempt(request, signal).finally(release), signal);
  }

  async #attempt(request: CompletionRequest, signal: AbortSignal): Promise<Outcome> {
    signal.throwIfAborted();
    await this.#options.mayAsk?.(signal);
    const timeoutMs = this.#options.timeoutS * 1000;
    this.#connection ??= connect(this.#options, timeoutMs);
    const client = await this.#connection;
    const refused = this.#refused.get(request.model) ?? new Set();
    try {
      const { head } = request;
      if (head !== undefined) return { completion: await this.#askHead(client, { ...request, head }, signal) };
      const raw = await withDeadline(timeoutMs, signal, async (both) =>
        client.chat.completions.create(onTheWire(request, refused), { signal: both }),
      );
      this.#answered = true;
      return { completion: readReply(raw, request.model) };
    } catch (error) {
      signal.throwIfAborted();
      const failure = describeFailure(error, this.#secrets, Date.now());
      if (failure.cutWithinThoughts) return { completion: cutReply(request.model) };
      const parameter = refusedParameter(failure);
      if (parameter === null || refused.has(parameter)) return { failure };
      this.#refused.set(request.model, new Set([...(this.#refused.get(request.model) ?? []), parameter]));
      return this.#attempt(request, signal);
    }
  }

  async #askHead(client: OpenAI, request: HeadRequest, signal: AbortSignal): Promise<Completion> {
    const { url, body } = headCall(request, this.#options.baseUrl ?? DEFAULT_BASE_URL);
    const raw: unknown = await withDeadline(this.#options.timeoutS * 1000, signal, async (both) =>
      client.post(url, { body, signal: both }),
    );
    this.#answered = true;
    return readHead(raw, request.model);
  }

  /** A wrong address should fail soon; a server that restarts is worth waiting for. */
  #comesBack({ away }: Failure, waitedMs: number): boolean {
    return away && this.#answered && waitedMs < (this.#options.patienceMs ?? 0);
  }

  #unavailable({ detail, tooLong }: Failure, attempts: number): UnavailableError {
    if (tooLong) return new ContextTooLongError(`${this.#endpoint()} said: ${detail}`);
    const tries = attempts === 1 ? '' : ` (${attempts} attempts)`;
    return new ModelUnavailableError(`${this.#endpoint()} said: ${detail}${tries}`);
  }

  #endpoint(): string {
    const { baseUrl } = this.#options;
    return baseUrl === undefined ? 'api.openai.com' : new URL(baseUrl).host;
  }
}

function secretsOf({ apiKey, baseUrl }: OpenAiEndpoint): readonly string[] {
  const password = baseUrl === undefined ? '' : decodeURIComponent(new URL(baseUrl).password);
  return [apiKey ?? '', password].filter((secret) => secret !== '');
}

/** A call to a model's classification head. */
type HeadRequest = CompletionRequest & { readonly head: HeadRoute };

/** URL and body for a head. @param baseUrl of Chat Completions; vLLM's own routes come without its version */
function headCall(request: HeadRequest, baseUrl: string): { readonly url: string; readonly body: object } {
  const { model, head, messages } = request;
  const [first = '', second = ''] = messages.map(({ content }) => content);
  const base = baseUrl.replace(/\/$/, '');
  const root = base.replace(/\/v\d+$/, '');
  switch (head) {
    case 'classify':
      return { url: `${root}/classify`, body: { model, input: first } };
    case 'sglang':
      return { url: `${base}/classify`, body: { model, input: first } };
    case 'pooling':
      // Requested raw and applied in bestk, since the activation differs between versions.
      return { url: `${root}/pooling`, body: { model, input: first, task: 'classify', use_activation: false } };
    case 'score':
      return { url: `${root}/score`, body: { model, text_1: first, text_2: second } };
  }
}

const Numbers = z.array(z.number()).min(1);
const Reply = z.object({
  model: z.string().nullish(),
  data: z.tuple([
    z.union([
      z.object({ probs: Numbers }).transform(({ probs }) => probs),
      z.object({ data: Numbers }).transform(({ data }) => data),
      z.object({ score: z.number() }).transform(({ score }) => [score]),
    ]),
  ]),
  usage: Usage,
});

/** @throws UnreadableReplyError with the beginning of the reply */
function readHead(raw: unknown, requestedModel: string): Completion {
  const parsed = Reply.safeParse(raw);
  if (!parsed.success) {
    throw new UnreadableReplyError(
      `its answer has no outputs of a classification head: ${JSON.stringify(raw ?? null).slice(0, 200)}`,
    );
  }
  const { model, data, usage } = parsed.data;
  const nothing = { text: '', reasoning: '', tool_calls: [], logprobs: null, finish_reason: 'stop' };
  return { ...nothing, outputs: data[0], usage: readUsage(usage), model: model ?? requestedModel };
}

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

/** Parameters that reasoning models of some services refuse, by the services' names. */
const REFUSABLE = ['max_tokens', 'temperature', 'top_p', 'logprobs', 'stop'] as const;
type Refusable = (typeof REFUSABLE)[number];
const REFUSAL = /unsupported|not support|not allowed|not permitted/i;

/** The parameter that was refused, if the request can be made without it; null for any other failure. */
function refusedParameter({ detail, kind, tooLong }: Failure): Refusable | null {
  if (kind !== 'refused' || tooLong || !REFUSAL.test(detail)) return null;
  return REFUSABLE.find((name) => new RegExp(`\\b(?:top_)?${name}\\b`).test(detail)) ?? null;
}

/** A request in the format of Chat Completions, with the members of vLLM and SGLang for continuing a turn. */
function onTheWire(request: CompletionRequest, refused: ReadonlySet<Refusable> = new Set()): Body {
  const { maxTokens, topLogprobs, stop } = request;
  return {
    model: request.model,
    messages: request.messages.map(wireMessage),
    ...draws(request, refused),
    ...(refused.has('max_tokens')
      ? { max_completion_tokens: maxTokens }
      : // eslint-disable-next-line @typescript-eslint/no-deprecated -- its successor is unknown to many local servers
        { max_tokens: maxTokens }),
    ...(topLogprobs === undefined || refused.has('logprobs') ? {} : { logprobs: true, top_logprobs: topLogprobs }),
    ...(stop === undefined || refused.has('stop') ? {} : { stop: [...stop] }),
    ...(request.continueFinal === true ? { continue_final_message: true, add_generation_prompt: false } : {}),
    ...constraints(request),
  };
}

/** Sampling parameters. */
function draws({ temperature, topP }: CompletionRequest, refused: ReadonlySet<Refusable>): Partial<Body> {
  return {
    ...(refused.has('temperature') ? {} : { temperature }),
    ...(topP === undefined || refused.has('top_p') ? {} : { top_p: topP }),
  };
}

function constraints({ tools, responseSchema }: CompletionRequest): Partial<Body> {
  return {
    ...(tools === undefined ? {} : { tools: tools.map((tool) => ({ type: 'function', function: { ...tool } })) }),
    ...(responseSchema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { ...responseSchema, strict: true } } }),
  };
}

function wireMessage({
  role,
  content,
  reasoning,
  tool_calls: calls,
  tool_call_id: id,
}: Message): Body['messages'][number] {
  if (role === 'tool') return { role, content, tool_call_id: id ?? '' };
  if (role !== 'assistant' || calls === undefined) return { role, content };
  const tool_calls = calls.map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  return { role, content, tool_calls, ...(reasoning === undefined ? {} : { reasoning_content: reasoning }) };
}

/** Why one attempt gave no completion. */
export interface Failure {
  readonly detail: string;
  /** The category used in metrics. */
  readonly kind: 'rate-limited' | 'server-error' | 'refused' | 'no-answer';
  readonly retryable: boolean;
  /** The server, or the one behind a proxy, was unreachable. */
  readonly away: boolean;
  /** The delay that the server requested; null when it gave none. */
  readonly retryAfterMs: number | null;
  /** Prompt and requested answer exceed the model's context. */
  readonly tooLong: boolean;
  /** The model spent all its answer tokens on reasoning, which OpenAI reports as an error. */
  readonly cutWithinThoughts: boolean;
}

const RETRYABLE_STATUS = new Set([408, 409, 429]);
const AWAY_STATUS = new Set([502, 503, 504]);
/** Messages of OpenAI, vLLM, SGLang, TGI and llama.cpp; there is no common code. */
const TOO_LONG =
  /context_length_exceeded|(maximum|max) (context|model) length|exceeds? the (available|maximum|model'?s) (allowed |context )|longer than the model'?s context|must (be <=|have less than) .{0,40}(tokens|max_)/i;
const CUT = /could not finish the message because max_(completion_)?tokens/i;
const MAX_DETAIL = 500;

/**
 * The only place that classifies failures. A status comes from the server: 408, 409, 429 and 5xx are temporary, other 4xx are
 * not. Failures without one (refused or reset connections, time-outs, truncated JSON, a gateway's HTML page) belong to the
 * transport and may be temporary.
 */
export function describeFailure(error: unknown, secrets: readonly string[], now: number): Failure {
  const { status, headers } = statusOf(error);
  const detail = secrets.reduce((text, secret) => text.replaceAll(secret, '[hidden]'), describe(error));
  return {
    kind: kindOf(status),
    detail: detail.length > MAX_DETAIL ? `${detail.slice(0, MAX_DETAIL)}…` : detail,
    retryable: status === undefined || status >= 500 || RETRYABLE_STATUS.has(status),
    away: status === undefined ? !isAnswer(error) : AWAY_STATUS.has(status),
    retryAfterMs: headers === undefined ? null : retryAfter(headers, now),
    tooLong: status !== undefined && [400, 413, 422].includes(status) && TOO_LONG.test(detail),
    cutWithinThoughts: status === 400 && CUT.test(detail),
  };
}

function kindOf(status: number | undefined): Failure['kind'] {
  if (status === undefined) return 'no-answer';
  if (status === 429) return 'rate-limited';
  return status >= 500 ? 'server-error' : 'refused';
}

// Matched by shape, not by class: the SDK is loaded late, and its errors wrap those of fetch and of the socket.
const StatusError = z.object({ status: z.number(), headers: z.custom<Headers>().optional() });
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

function statusOf(error: unknown): { status?: number | undefined; headers?: Headers | undefined } {
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
