import { type Completion, type CompletionRequest, LlmClient } from '../../src/ports/llm-client.js';

/** What to answer, or to throw. */
export type ScriptedCompletion = Completion | Error;

/**
 * Answers by script: a list, which throws when it runs out, or a function of the request. Keeps what it was asked.
 */
export class FakeLlmClient extends LlmClient {
  readonly requests: CompletionRequest[] = [];
  readonly #script: readonly ScriptedCompletion[] | ((request: CompletionRequest) => ScriptedCompletion);

  constructor(script: readonly ScriptedCompletion[] | ((request: CompletionRequest) => ScriptedCompletion)) {
    super();
    this.#script = script;
  }

  async complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    signal.throwIfAborted();
    const index = this.requests.push(request) - 1;
    // A real client always yields.
    await new Promise((resolve) => setImmediate(resolve));
    const answer = typeof this.#script === 'function' ? this.#script(request) : this.#script[index];
    if (answer === undefined) throw new Error(`The script ends before call ${index + 1}.`);
    if (answer instanceof Error) throw answer;
    signal.throwIfAborted();
    return answer;
  }
}
