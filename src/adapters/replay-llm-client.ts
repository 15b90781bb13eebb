import { RecordingMissError } from '../core/unavailable.js';
import { type Completion, type CompletionRequest, LlmClient } from '../ports/llm-client.js';
import { readRecording, type Recording } from './recording.js';
import { requestKey } from './request-key.js';

/** Answers from a recording, which is read at the first call, and from nothing else. */
export class ReplayLlmClient extends LlmClient {
  readonly #file: string;
  #recording: Promise<Recording> | undefined;

  constructor(file: string) {
    super();
    this.#file = file;
  }

  /** @throws RecordingMissError; BadInputError for a recording that is missing or damaged */
  async complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    signal.throwIfAborted();
    this.#recording ??= readRecording(this.#file);
    const answer = (await this.#recording).answer(request);
    if (answer === null) throw new RecordingMissError(this.#file, requestKey(request));
    return answer;
  }
}
