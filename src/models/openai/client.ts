import type OpenAI from 'openai';
import { abortable, pause, withDeadline } from '../../core/async/time.js';
import { FairSemaphore } from '../../core/async/concurrency.js';
import type { UnavailableError } from '../../core/errors/errors.js';
import { ContextTooLongError, ModelUnavailableError } from '../../core/errors/unavailable.js';
import { type Completion, type CompletionRequest, LlmClient, type Message } from '../../ports/llm-client.js';
import { answerLimits, readAnswer } from './answer-body.js';
import { connect, DEFAULT_BASE_URL, type OpenAiEndpoint } from './connection.js';
import { describeFailure, type Failure } from './failure.js';
import { headCall, type HeadRequest, readHead } from './head.js';
import { ContextKnowledge, statedContext } from './overflow.js';
import { type AnswerBody, cutReply, readReply, sumUsage } from './reply.js';
import { backOffMs } from '../../core/async/retries.js';

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

type Send = (signal: AbortSignal) => { asResponse(): Promise<Response> };
/** A list of models is short, and is asked for only to understand a rejection. */
const LIST_DEADLINE_MS = 10_000;
/** OpenRouter's list has some hundred models. */
const LISTING = { maxTokens: 50_000 };

type Outcome = { readonly completion: Completion } | { readonly failure: Failure; readonly tookMs: number };

/** Client for any server with Chat Completions: OpenAI, vLLM, SGLang, llama.cpp. */
export class OpenAiLlmClient extends LlmClient {
  readonly #options: OpenAiOptions;
  readonly #slots: FairSemaphore;
  readonly #secrets: readonly string[];
  /** Parameters that each model has refused. */
  readonly #refused = new Map<string, ReadonlySet<Refusable>>();
  /** What each model's server has shown of its context. */
  readonly #contexts = new Map<string, ContextKnowledge>();
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
    let spent: Completion['usage'] = null;
    for (let attempt = 0; ; attempt += 1) {
      signal.throwIfAborted();
      const outcome = await this.#inTurn(request, signal);
      if ('completion' in outcome) return withUsage(outcome.completion, spent);
      const { failure, tookMs } = outcome;
      spent = sumUsage(spent, failure.usage);
      waited += tookMs;
      const isPatient = attempt >= this.#options.maxRetries;
      const hope = !isPatient || this.#comesBack(failure, waited);
      if (!failure.retryable || !hope) throw this.#unavailable(failure, attempt + 1);
      this.#options.onRetry?.(failure.kind);
      const random = this.#options.random ?? Math.random;
      const asked = backOffMs(attempt, failure.retryAfterMs, random);
      // Without the second, a server that asks for hardly any delay would be called hundreds of times.
      const wait = isPatient ? Math.max(asked, backOffMs(attempt, null, random)) : asked;
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
    this.#connection ??= connect(this.#options, this.#options.timeoutS * 1000);
    const client = await this.#connection;
    const refused = this.#refused.get(request.model) ?? new Set();
    const start = performance.now();
    try {
      const { head } = request;
      if (head !== undefined) return { completion: await this.#askHead(client, { ...request, head }, signal) };
      return { completion: await this.#askChat(client, request, { signal, refused }) };
    } catch (error) {
      signal.throwIfAborted();
      const failure = describeFailure(error, this.#secrets, Date.now());
      if (failure.cutWithinThoughts) return { completion: cutReply(request.model) };
      const maxTokens = shorterAnswer(failure, request);
      if (maxTokens !== null) return filling(await this.#attempt({ ...request, maxTokens }, signal));
      const parameter = refusedParameter(failure, request, refused);
      if (parameter === null) {
        const tooLong = await this.#isTooLong(failure, request, client, signal);
        return { failure: { ...failure, tooLong }, tookMs: performance.now() - start };
      }
      this.#refuse(request, parameter);
      return this.#attempt(request, signal);
    }
  }

  async #askChat(
    client: OpenAI,
    request: CompletionRequest,
    { signal, refused }: { readonly signal: AbortSignal; readonly refused: ReadonlySet<Refusable> },
  ): Promise<Completion> {
    const body = await this.#receive(request, signal, (both) =>
      client.chat.completions.create(onTheWire(request, refused), { signal: both }),
    );
    const completion = readReply(body, request);
    this.#contextOf(request).accept(request, completion.usage?.input_tokens);
    return completion;
  }

  #refuse({ model }: CompletionRequest, parameter: Refusable): void {
    this.#refused.set(model, new Set([...(this.#refused.get(model) ?? []), parameter]));
  }

  async #askHead(client: OpenAI, request: HeadRequest, signal: AbortSignal): Promise<Completion> {
    const { url, body } = headCall(request, this.#options.baseUrl ?? DEFAULT_BASE_URL);
    const { value } = await this.#receive(request, signal, (both) => client.post(url, { body, signal: both }));
    return readHead(value, request.model);
  }

  /** Sends a request and reads its answer, both within the time limit of one attempt. */
  #receive(request: CompletionRequest, signal: AbortSignal, send: Send): Promise<AnswerBody> {
    return withDeadline(this.#options.timeoutS * 1000, signal, async (both) => {
      const answer = await readAnswer(await send(both).asResponse(), answerLimits(request));
      this.#answered = true;
      return answer;
    });
  }

  #contextOf({ model }: CompletionRequest): ContextKnowledge {
    const known = this.#contexts.get(model) ?? new ContextKnowledge();
    this.#contexts.set(model, known);
    return known;
  }

  async #isTooLong(
    { tooLong, rejected, status, detail }: Failure,
    request: CompletionRequest,
    client: OpenAI,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (tooLong || !rejected || status === undefined) return tooLong;
    return this.#contextOf(request).isOverflow(request, { status, detail }, () =>
      withDeadline(LIST_DEADLINE_MS, signal, async (both) => {
        const response = await client.get('/models', { signal: both }).asResponse();
        return statedContext((await readAnswer(response, answerLimits(LISTING))).value, request.model);
      }).catch(() => null),
    );
  }

  /** A wrong address should fail soon; a server that restarts is worth waiting for. */
  #comesBack({ away }: Failure, waitedMs: number): boolean {
    return away && this.#answered && waitedMs < (this.#options.patienceMs ?? 0);
  }

  #unavailable({ detail, rejected: refused, tooLong }: Failure, attempts: number): UnavailableError {
    if (tooLong) return new ContextTooLongError(`${this.#endpoint()} said: ${detail}`);
    const tries = attempts === 1 ? '' : ` (${attempts} attempts)`;
    return new ModelUnavailableError(`${this.#endpoint()} said: ${detail}${tries}`, { refused });
  }

  #endpoint(): string {
    const { baseUrl } = this.#options;
    return baseUrl === undefined ? 'api.openai.com' : new URL(baseUrl).host;
  }
}

/** @param spent by attempts that were broken off */
function withUsage(completion: Completion, spent: Completion['usage']): Completion {
  const { usage } = completion;
  if (spent === null) return completion;
  return { ...completion, usage: sumUsage(spent, usage), answer_usage: usage };
}

function secretsOf({ apiKey, baseUrl }: OpenAiEndpoint): readonly string[] {
  const password = baseUrl === undefined ? '' : decodeURIComponent(new URL(baseUrl).password);
  return [apiKey ?? '', password].filter((secret) => secret !== '');
}

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

/** Parameters that some models or services refuse, by how they name them; the first two are members of messages. */
const REFUSABLE = {
  reasoning_content: /\breasoning_content\b/i,
  reasoning: /['"`.]reasoning\b/i,
  max_tokens: /\bmax_tokens\b/i,
  temperature: /\btemperature\b/i,
  top_p: /\btop_p\b/i,
  /** More alternatives than {@link FEWER}. */
  top_logprobs: /\btop_logprobs\b/i,
  logprobs: /\b(?:top_)?logprobs\b/i,
  stop: /\bstop\b/i,
} as const;
type Refusable = keyof typeof REFUSABLE;
const NAMES = Object.keys(REFUSABLE) as readonly Refusable[];
const REFUSAL = /unsupported|not support|not allowed|not permitted|not enabled|unknown|unrecognized|cannot find/i;
/** How Azure, vLLM and TGI say that fewer alternatives may be asked for. */
const TOO_MANY = /\btop_logprobs\b|\blogprobs of \d|\btop_n_tokens\b/i;
/** Where pydantic says what it refused, before it repeats the input. */
const PLACE = /['"]loc['"]: ?([[(][^\])]*)/;
/** The most alternatives that services with a limit allow. */
const FEWER = 5;

/** The parameter that was refused, if the request can be made without it; null for any other failure. */
function refusedParameter(
  failure: Failure,
  { topLogprobs = 0 }: CompletionRequest,
  refused: ReadonlySet<Refusable>,
): Refusable | null {
  const { detail, kind, tooLong } = failure;
  if (kind !== 'refused' || tooLong) return null;
  const said = namedIn(failure);
  const asks = topLogprobs > 0 && !refused.has('logprobs');
  if (asks && TOO_MANY.test(said)) return tooManyFor(topLogprobs, refused);
  if (!REFUSAL.test(detail)) return null;
  return NAMES.find((name) => !refused.has(name) && REFUSABLE[name].test(said)) ?? null;
}

/** How vLLM, SGLang and TensorRT-LLM state the tokens of the context and of the prompt. */
const CONTEXT = /(?:context length (?:is|of)(?: only)? |max_seq_len \()(\d{1,9})(?: tokens|\))/i;
const PROMPT =
  /(?:\b|prompt length \()(\d{1,9})(?: input tokens| in the messages| tokens from the input|(?:\.0)?\), query)/i;
/** Less is no answer. */
const SHORTEST_ANSWER = 256;

/**
 * The tokens of a shorter answer that may fit behind a prompt; null if none does. vLLM from 0.16 on counts no further than the
 * first token that does not fit; then half of the tokens are tried. Some versions of SGLang leave the last token of the context
 * unused.
 */
function shorterAnswer({ detail, tooLong }: Failure, { maxTokens, mayBeShorter }: CompletionRequest): number | null {
  if (!tooLong || mayBeShorter !== true) return null;
  const room = Number(CONTEXT.exec(detail)?.[1]) - Number(PROMPT.exec(detail)?.[1]);
  const next = room === maxTokens - 1 ? Math.floor(maxTokens / 2) : room - 1;
  return next >= SHORTEST_ANSWER && next < maxTokens ? next : null;
}

/** @param outcome of asking for a shorter answer */
function filling(outcome: Outcome): Outcome {
  if (!('completion' in outcome) || outcome.completion.finish_reason !== 'length') return outcome;
  return { completion: { ...outcome.completion, fills_context: true } };
}

function tooManyFor(topLogprobs: number, refused: ReadonlySet<Refusable>): Refusable {
  return topLogprobs > FEWER && !refused.has('top_logprobs') ? 'top_logprobs' : 'logprobs';
}

/** What the server names as refused, or else all of its words, which may repeat the request. */
function namedIn({ detail, param }: Failure): string {
  if (NAMES.some((name) => REFUSABLE[name].test(param))) return param;
  return PLACE.exec(detail)?.[1] ?? detail;
}

/** A request in the format of Chat Completions, with the members of vLLM and SGLang for continuing a turn. */
function onTheWire(request: CompletionRequest, refused: ReadonlySet<Refusable> = new Set()): Body {
  const { maxTokens, topLogprobs, stop } = request;
  const most = refused.has('top_logprobs') ? FEWER : Infinity;
  return {
    model: request.model,
    messages: request.messages.map((message) => wireMessage(message, refused)),
    ...draws(request, refused),
    ...(refused.has('max_tokens')
      ? { max_completion_tokens: maxTokens }
      : // eslint-disable-next-line @typescript-eslint/no-deprecated -- its successor is unknown to many local servers
        { max_tokens: maxTokens }),
    ...(topLogprobs === undefined || refused.has('logprobs')
      ? {}
      : { logprobs: true, top_logprobs: Math.min(topLogprobs, most) }),
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

function wireMessage(
  { role, content, reasoning, tool_calls: calls, tool_call_id: id }: Message,
  refused: ReadonlySet<Refusable>,
): Body['messages'][number] {
  if (role === 'tool') return { role, content, tool_call_id: id ?? '' };
  if (role !== 'assistant' || calls === undefined) return { role, content };
  const tool_calls = calls.map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  // Servers read either name. Most ignore the other, and those that refuse it are then asked without it.
  const names = (['reasoning_content', 'reasoning'] as const).filter((name) => !refused.has(name));
  const thoughts = reasoning === undefined ? [] : names.map((name) => [name, reasoning] as const);
  return { role, content, tool_calls, ...Object.fromEntries(thoughts) };
}
