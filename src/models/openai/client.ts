import type OpenAI from 'openai';
import { abortable, withDeadline } from '../../core/async/deadline.js';
import { backOffMs, pause } from '../../core/async/retry.js';
import { FairSemaphore } from '../../core/async/semaphore.js';
import type { UnavailableError } from '../../core/errors/errors.js';
import { ContextTooLongError, ModelUnavailableError } from '../../core/errors/unavailable.js';
import { type Completion, type CompletionRequest, LlmClient } from '../../ports/llm-client.js';
import { connect, DEFAULT_BASE_URL, type OpenAiEndpoint } from './connection.js';
import { describeFailure, type Failure } from './failure.js';
import { headCall, type HeadRequest, readHead } from './head.js';
import { cutReply, readReply } from './reply.js';
import { onTheWire, refusedParameter, type Refusable } from './wire.js';

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
