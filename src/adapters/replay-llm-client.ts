import { RecordingMissError } from '../core/unavailable.js';
import { type Completion, type CompletionRequest, LlmClient } from '../ports/llm-client.js';
import { readRecording } from './recording.js';
import { requestKey } from './request-key.js';

/** Answers from a recording, which is read at the first call, and from nothing else. */
export class ReplayLlmClient extends LlmClient {
  readonly #file: string;
  #answers: Promise<Map<string, Completion>> | undefined;

  constructor(file: string) {
    super();
    this.#file = file;
  }

  /** @throws RecordingMissError; BadInputError for a recording that is missing or damaged */
  async complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    signal.throwIfAborted();
    this.#answers ??= readRecording(this.#file);
    const key = requestKey(request);
    const answer = (await this.#answers).get(key);
    if (answer === undefined) throw new RecordingMissError(this.#file, key);
    return answer;
  }
}
