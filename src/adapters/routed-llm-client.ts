import { type Completion, type CompletionRequest, LlmClient } from '../ports/llm-client.js';

/** Asks the server that has the model; each has its own limit of calls under way. */
export class RoutedLlmClient extends LlmClient {
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
