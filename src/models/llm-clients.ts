import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { BudgetLedger } from '../core/budget/budget.js';
import { type Completion, type CompletionRequest, LlmClient } from '../ports/llm-client.js';
import { OpenAiLlmClient, type OpenAiOptions } from './openai/client.js';
import { DEFAULT_BASE_URL } from './openai/connection.js';
import { RecordingLlmClient, ReplayLlmClient } from './recording.js';

const MAX_RETRIES = 5;
/** A server of models takes minutes to load one. */
const PATIENCE_MS = 180_000;

type Hooks = Pick<OpenAiOptions, 'onRetry' | 'mayAsk'>;

interface LlmSettings {
  readonly baseUrl: string | undefined;
  /** Base URLs of models that another server has. */
  readonly modelUrls: Readonly<Record<string, string>>;
  readonly apiKey: string | undefined;
  readonly concurrency: number;
  readonly timeoutS: number;
  readonly replay: string | undefined;
  readonly record: string | undefined;
}

/** The client the settings ask for: a replay, the model, or the model with a recorder around it. */
export function createLlmClient(settings: LlmSettings, hooks: Hooks = {}): LlmClient {
  const { baseUrl, modelUrls, replay, record } = settings;
  if (replay !== undefined) return new ReplayLlmClient(replay);
  const servers = new Map([...new Set(Object.values(modelUrls))].map((url) => [url, serverAt(url, settings, hooks)]));
  const model = new RoutedLlmClient(serverAt(baseUrl, settings, hooks), (name) => servers.get(modelUrls[name] ?? ''));
  return record === undefined ? model : new RecordingLlmClient(model, record);
}

function serverAt(
  baseUrl: string | undefined,
  { apiKey, concurrency, timeoutS }: LlmSettings,
  hooks: Hooks,
): LlmClient {
  return new OpenAiLlmClient({
    ...hooks,
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(apiKey === undefined ? {} : { apiKey }),
    concurrency,
    timeoutS,
    maxRetries: MAX_RETRIES,
    patienceMs: PATIENCE_MS,
  });
}

/** Base URL of the server that has a model; null when a recording answers. */
export function serverOf({ baseUrl, modelUrls, replay }: LlmSettings, model: string): string | null {
  return replay === undefined ? (modelUrls[model] ?? baseUrl ?? DEFAULT_BASE_URL) : null;
}

/**
 * Who answers, as part of the key of stored answers: a replay's answers are never taken for a model's, nor those of a
 * recording for those of another.
 */
export function endpointName(settings: LlmSettings, model: string): string {
  const server = serverOf(settings, model);
  if (server !== null) return server;
  const replay = settings.replay ?? '';
  const file = statSync(replay, { throwIfNoEntry: false });
  return `replay:${resolve(replay)}:${file?.size ?? 0}:${file?.mtimeMs ?? 0}`;
}

/** Asks the server that has the model; each has its own limit of calls under way. */
class RoutedLlmClient extends LlmClient {
  readonly #others: LlmClient;
  readonly #serverOf: (model: string) => LlmClient | undefined;

  /** @param others answers for every model that `serverOf` does not know */
  constructor(others: LlmClient, serverOf: (model: string) => LlmClient | undefined) {
    super();
    this.#others = others;
    this.#serverOf = serverOf;
  }

  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    return (this.#serverOf(request.model) ?? this.#others).complete(request, signal);
  }
}

/** Bytes of a token in the densest text that is common (code, Chinese); real prompts have more. */
const BYTES_PER_TOKEN = 3;

/** Asks only what the budget has room for: the prompt by its length, the answer at its longest. */
export class BudgetedLlmClient extends LlmClient {
  readonly #inner: LlmClient;
  readonly #ledger: BudgetLedger;

  constructor(inner: LlmClient, ledger: BudgetLedger) {
    super();
    this.#inner = inner;
    this.#ledger = ledger;
  }

  /** @throws BudgetSpentError, and what the inner client throws */
  async complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    const reservation = await this.#ledger.reserve(request.purpose, request.model, {
      input_tokens: longestPrompt(request),
      cached_input_tokens: 0,
      output_tokens: request.maxTokens,
    });
    try {
      const completion = await this.#inner.complete(request, signal);
      await reservation.settle(completion.usage);
      return completion;
    } finally {
      await reservation.release();
    }
  }
}

function longestPrompt({ messages }: CompletionRequest): number {
  return messages.reduce((sum, { content }) => sum + Math.ceil(Buffer.byteLength(content) / BYTES_PER_TOKEN), 0);
}
