import type { BudgetLedger } from '../core/budget/budget-ledger.js';
import { type Completion, type CompletionRequest, LlmClient } from '../ports/llm-client.js';

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
