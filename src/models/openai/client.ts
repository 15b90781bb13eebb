import type OpenAI from 'openai';
import { z } from 'zod';
import { abortable, withDeadline } from '../../core/async/deadline.js';
import { backOffMs, pause } from '../../core/async/retry.js';
import { FairSemaphore } from '../../core/async/semaphore.js';
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
import { describeFailure, type Failure } from './failure.js';
import { cutReply, readReply, readUsage, UnreadableReplyError, Usage } from './reply.js';

export interface OpenAiOptions extends OpenAiEndpoint {
  /** Calls under way at once; one that waits before a retry does not count. */
  readonly concurrency: number;
  /** Limit of one attempt, from sending to the last byte of the answer. */
  readonly timeoutS: number;
  /** Further attempts after a failure that may pass. */
  readonly maxRetries: number;
  /** How long a server that has answered before is waited for when it is away; 0 = no longer than the attempts take. */
  readonly patienceMs?: number;
  /** Resolves when a call may be sent: asked when its turn has come. */
  readonly mayAsk?: (signal: AbortSignal) => Promise<void>;
  /** Told of each further attempt, with what went wrong in the one before. */
  readonly onRetry?: (reason: Failure['kind']) => void;
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random?: () => number;
}

type Outcome = { readonly completion: Completion } | { readonly failure: Failure };

/** Any server that speaks Chat Completions: OpenAI, vLLM, SGLang, llama.cpp. */
export class OpenAiLlmClient extends LlmClient {
  readonly #options: OpenAiOptions;
  readonly #slots: FairSemaphore;
  readonly #secrets: readonly string[];
  /** Parameters that a model was asked with once and refused, by model. */
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

  /** A call that was given up holds its place until it has ended. */
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

  /** A wrong address is told soon; a server that restarts is worth waiting for. */
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

/** A call of a model's head. */
type HeadRequest = CompletionRequest & { readonly head: HeadRoute };

/** Where a head is asked, and with what. @param baseUrl of Chat Completions, whose version vLLM's own routes do not have */
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
      // The activation differs from version to version: it is applied here.
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

/** @throws UnreadableReplyError with the beginning of what came instead */
function readHead(raw: unknown, requestedModel: string): Completion {
  const parsed = Reply.safeParse(raw);
  if (!parsed.success) {
    throw new UnreadableReplyError(
      `its answer holds no numbers of a head: ${JSON.stringify(raw ?? null).slice(0, 200)}`,
    );
  }
  const { model, data, usage } = parsed.data;
  const nothing = { text: '', reasoning: '', tool_calls: [], logprobs: null, finish_reason: 'stop' };
  return { ...nothing, outputs: data[0], usage: readUsage(usage), model: model ?? requestedModel };
}

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

/** What reasoning models of some services refuse, each named as the services name it. */
const REFUSABLE = ['max_tokens', 'temperature', 'top_p', 'logprobs', 'stop'] as const;
type Refusable = (typeof REFUSABLE)[number];
const REFUSAL = /unsupported|not support|not allowed|not permitted/i;

/** The parameter that a refusal is about, where the model can be asked without it; null for any other failure. */
function refusedParameter({ detail, kind, tooLong }: Failure): Refusable | null {
  if (kind !== 'refused' || tooLong || !REFUSAL.test(detail)) return null;
  return REFUSABLE.find((name) => new RegExp(`\\b(?:top_)?${name}\\b`).test(detail)) ?? null;
}

/** A request in the words of Chat Completions, and, for a turn to be continued, of vLLM and SGLang. */
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

/** How tokens are drawn. */
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
