import { costOf, type PriceTable } from '../core/budget/budget.js';
import { BestkError } from '../core/errors/errors.js';
import { type Completion, type CompletionRequest, LlmClient } from '../ports/llm-client.js';
import type { Meter } from '../ports/meter.js';
import { ResultStore } from '../ports/result-store.js';
import type { OpenPart, Tracer } from '../ports/tracer.js';

/** Characters of what a server says of itself. */
const MOST_TOLD = 200;

export interface LlmTelemetry {
  readonly meter: Meter;
  readonly tracer: Tracer;
  readonly prices: PriceTable;
  /** Base URL of the server that has a model; null = a recording answers. */
  readonly serverOf: (model: string) => string | null;
}

/** Model calls, counted and traced. Stands behind the store of answers: what is stored is no call. */
export class InstrumentedLlmClient extends LlmClient {
  readonly #inner: LlmClient;
  readonly #watch: LlmTelemetry;

  constructor(inner: LlmClient, watch: LlmTelemetry) {
    super();
    this.#inner = inner;
    this.#watch = watch;
  }

  complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    const { tracer, serverOf } = this.#watch;
    const { model: name, purpose: role, temperature, maxTokens, sample } = request;
    const server = serverOf(name);
    const facts = { role, sample, temperature, max_tokens: maxTokens, ...addressOf(server), replayed: server === null };
    return tracer.within({ kind: 'model-call', name, facts }, (open) => this.#ask(request, open, signal));
  }

  async #ask(request: CompletionRequest, open: OpenPart, signal: AbortSignal): Promise<Completion> {
    const { meter } = this.#watch;
    const { model, purpose: role } = request;
    const start = performance.now();
    const tell = (outcome: string): void => {
      meter.add('bestk_model_calls_total', { model, role, outcome });
    };
    meter.shift('bestk_model_calls_in_flight', { model }, 1);
    try {
      const completion = await this.#inner.complete(request, signal);
      tell('ok');
      meter.time('bestk_model_call_duration_seconds', { model, role }, (performance.now() - start) / 1000);
      this.#account(request, completion, open);
      return completion;
    } catch (error) {
      tell(signal.aborted ? 'stopped' : error instanceof BestkError ? error.code : 'internal');
      throw error;
    } finally {
      meter.shift('bestk_model_calls_in_flight', { model }, -1);
    }
  }

  /** What a recording answers was paid by whoever recorded it. */
  #account({ model, purpose: role }: CompletionRequest, completion: Completion, open: OpenPart): void {
    const { meter, prices, serverOf } = this.#watch;
    const { usage, finish_reason } = completion;
    const [response_model, ended] = [completion.model, finish_reason].map((text) => text.slice(0, MOST_TOLD));
    open.note({ response_model, finish_reason: ended, ...usage });
    if (serverOf(model) === null) {
      meter.add('bestk_replay_hits_total', { role });
      return;
    }
    if (usage === null) return;
    const { input_tokens, cached_input_tokens, output_tokens } = usage;
    const fresh = Math.max(0, input_tokens - cached_input_tokens);
    const counts = { input: fresh, cached: cached_input_tokens, output: output_tokens };
    for (const [kind, count] of Object.entries(counts)) {
      meter.add('bestk_model_tokens_total', { model, role, kind }, count);
    }
    const cost = costOf(model, usage, prices);
    if (cost !== null) meter.add('bestk_model_cost_usd_total', { model, role }, cost);
  }
}

/** Host and port alone. */
function addressOf(baseUrl: string | null): { provider?: string; server?: string; port?: number } {
  if (baseUrl === null) return {};
  const { hostname, port, protocol } = new URL(baseUrl);
  const otherwise = protocol === 'https:' ? 443 : 80;
  return { provider: 'openai', server: hostname, port: port === '' ? otherwise : Number(port) };
}

/** Stored results, with a count of what was found and what had to be done. */
export class InstrumentedResultStore extends ResultStore {
  readonly #inner: ResultStore;
  readonly #meter: Meter;

  constructor(inner: ResultStore, meter: Meter) {
    super();
    this.#inner = inner;
    this.#meter = meter;
  }

  async get(key: string): Promise<unknown> {
    const value = await this.#inner.get(key);
    this.#meter.add('bestk_result_reads_total', { outcome: value === undefined ? 'miss' : 'hit' });
    return value;
  }

  async getAll(keys: readonly string[]): Promise<ReadonlyMap<string, unknown>> {
    const found = await this.#inner.getAll(keys);
    this.#meter.add('bestk_result_reads_total', { outcome: 'hit' }, found.size);
    this.#meter.add('bestk_result_reads_total', { outcome: 'miss' }, keys.length - found.size);
    return found;
  }

  async put(key: string, kind: string, value: unknown): Promise<void> {
    await this.#inner.put(key, kind, value);
    this.#meter.add('bestk_result_writes_total', { kind });
  }
}
