import { SingleFlight } from '../core/async/concurrency.js';
import { contentKey } from '../core/identifier.js';
import type { ModelUsage } from '../core/run/run-result.js';
import type { ModelCall } from '../core/run/verifier.js';
import {
  Completion,
  type CompletionRequest,
  type CompletionUsage,
  LlmClient,
  type RemoteCall,
  Tokenizer,
} from '../ports/llm-client.js';
import type { ResultStore } from '../ports/result-store.js';
import { wireRequest } from './recording.js';

interface Answer {
  readonly completion: Completion;
  readonly stored: boolean;
  readonly seconds: number;
}

/** Calls of this process that are being paid, by key: a run that is taken over finds those of its earlier owner here. */
export type Payments = SingleFlight<Answer>;

interface StoredOptions {
  readonly payments?: Payments;
  readonly elsewhere?: RemoteCall | undefined;
  readonly watch?: ((call: ModelCall) => () => void) | undefined;
}

/**
 * Asks the store before the model and stores every answer the moment it exists. Equal calls under way share one
 * answer. Counts what was asked through it; make one per run to have the run's own account.
 */
export class StoredLlmClient extends LlmClient {
  readonly #inner: LlmClient;
  readonly #results: ResultStore;
  readonly #endpointOf: (model: string) => string;
  readonly #elsewhere: RemoteCall | undefined;
  readonly #payments: Payments;
  readonly #watch: ((call: ModelCall) => () => void) | undefined;
  readonly #flights: Payments = new SingleFlight();
  readonly #ledger = new UsageLedger();

  /**
   * @param endpointOf names who answers for a model (a base URL, a recording): equal calls to another one are other calls
   * @param payments shared by the clients of a process
   * @param elsewhere asked before the model is asked here
   * @param watch told of every call that is under way
   */
  constructor(
    inner: LlmClient,
    results: ResultStore,
    endpointOf: (model: string) => string,
    { payments = new SingleFlight(), elsewhere, watch }: StoredOptions = {},
  ) {
    super();
    this.#elsewhere = elsewhere;
    this.#watch = watch;
    this.#payments = payments;
    this.#inner = inner;
    this.#results = results;
    this.#endpointOf = endpointOf;
  }

  async complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    const key = contentKey({
      kind: 'completion',
      endpoint: this.#endpointOf(request.model),
      request: wireRequest(request),
    });
    const joined = this.#flights.has(key);
    const ended = this.#watch?.(request);
    const { completion, stored, seconds } = await this.#flights
      .join(key, signal, (both, keep) => this.#fetch(key, request, { signal: both, keep }))
      .finally(ended);
    if (stored || joined) this.#ledger.addStored(request);
    else this.#ledger.addCall(request, completion.usage, seconds);
    return completion;
  }

  /** Calls of the same run that another client made. */
  addUsage(counted: readonly ModelUsage[]): void {
    this.#ledger.add(counted);
  }

  usage(): readonly ModelUsage[] {
    return this.#ledger.entries();
  }

  async #fetch(
    key: string,
    request: CompletionRequest,
    { signal, keep }: { signal: AbortSignal; keep: () => void },
  ): Promise<Answer> {
    const start = performance.now();
    if (this.#elsewhere !== undefined) {
      const known = await this.#known(key);
      if (known !== null) return known;
      const completion = await this.#elsewhere(key, request, signal);
      if (completion !== null) return { completion, stored: false, seconds: secondsSince(start) };
    }
    return this.#payments.join(key, signal, async (all, keepForAll) => {
      // Here, not before: what is no longer under way is stored.
      const known = await this.#known(key);
      if (known !== null) return known;
      const completion = await this.#inner.complete(request, all);
      // Paid: whoever takes the work over must find it.
      keep();
      keepForAll();
      await this.#results.put(key, 'completion', completion);
      return { completion, stored: false, seconds: secondsSince(start) };
    });
  }

  async #known(key: string): Promise<Answer | null> {
    const { data } = Completion.safeParse(await this.#results.get(key));
    return data === undefined ? null : { completion: data, stored: true, seconds: 0 };
  }
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}

const COUNTS = ['calls', 'stored_answers', 'input_tokens', 'cached_input_tokens', 'output_tokens', 'seconds'] as const;

/** Model calls summed by purpose and model. */
class UsageLedger {
  readonly #entries = new Map<string, ModelUsage>();

  /** @param seconds from asking to the answer, waiting for a permit and retries included */
  addCall(request: CompletionRequest, usage: CompletionUsage | null, seconds: number): void {
    const entry = this.#entryOf(request);
    entry.calls += 1;
    entry.seconds += seconds;
    entry.input_tokens += usage?.input_tokens ?? 0;
    entry.cached_input_tokens += usage?.cached_input_tokens ?? 0;
    entry.output_tokens += usage?.output_tokens ?? 0;
  }

  addStored(request: CompletionRequest): void {
    this.#entryOf(request).stored_answers += 1;
  }

  /** What was counted elsewhere. */
  add(counted: readonly ModelUsage[]): void {
    for (const other of counted) {
      const entry = this.#entryOf(other);
      for (const count of COUNTS) entry[count] += other[count];
    }
  }

  /** Copies, in order of first use. */
  entries(): readonly ModelUsage[] {
    return [...this.#entries.values()].map((entry) => ({ ...entry, seconds: Math.round(entry.seconds * 1000) / 1000 }));
  }

  #entryOf({ purpose, model }: Pick<ModelUsage, 'purpose' | 'model'>): ModelUsage {
    const key = JSON.stringify([purpose, model]);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: ModelUsage = {
      purpose,
      model,
      calls: 0,
      stored_answers: 0,
      input_tokens: 0,
      cached_input_tokens: 0,
      output_tokens: 0,
      seconds: 0,
    };
    this.#entries.set(key, entry);
    return entry;
  }
}

/** Pieces of this many characters are counted apart: a run of one letter takes the encoder time beyond linear. */
const PIECE = 4_096;

type Count = (text: string) => number;

/** Tokens as OpenAI's `o200k_base` cuts them. The vocabulary is loaded at the first count. */
export class GptTokenizer extends Tokenizer {
  #counter: Promise<Count> | undefined;

  async count(text: string): Promise<number> {
    this.#counter ??= load();
    const count = await this.#counter;
    let tokens = 0;
    for (let at = 0; at < text.length; at += PIECE) tokens += count(text.slice(at, at + PIECE));
    return tokens;
  }
}

async function load(): Promise<Count> {
  const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
  // Words such as <|endoftext|> in a text are text.
  const disallowedSpecial = new Set<string>();
  return (text) => countTokens(text, { disallowedSpecial });
}
