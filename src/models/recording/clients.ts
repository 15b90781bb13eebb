import { open } from 'node:fs/promises';
import { BadInputError } from '../../core/errors/errors.js';
import { RecordingMissError } from '../../core/errors/unavailable.js';
import { type Completion, type CompletionRequest, LlmClient } from '../../ports/llm-client.js';
import { readRecording, type Recording, recordingLine } from './recording.js';
import { requestKey } from './request-key.js';

/** Hands calls on and appends each answer to a recording, one whole line at a time. A call it holds is not added again. */
export class RecordingLlmClient extends LlmClient {
  readonly #inner: LlmClient;
  readonly #file: string;
  #recorded: Promise<Set<string>> | undefined;
  #lastWrite: Promise<void> = Promise.resolve();

  /** @param file is created when missing, at the first call and before the model is asked */
  constructor(inner: LlmClient, file: string) {
    super();
    this.#inner = inner;
    this.#file = file;
  }

  /** @throws what the inner client throws; BadInputError when the recording is damaged or cannot be written */
  async complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion> {
    this.#recorded ??= this.#prepare();
    const recorded = await this.#recorded;
    const completion = await this.#inner.complete(request, signal);
    const key = requestKey(request);
    if (!recorded.has(key)) {
      recorded.add(key);
      this.#lastWrite = this.#lastWrite.then(() => this.#append(recordingLine(request, completion)));
    }
    await this.#lastWrite;
    return completion;
  }

  async #prepare(): Promise<Set<string>> {
    await this.#append('');
    return new Set((await readRecording(this.#file)).keys());
  }

  /** One write in append mode, synced: a crash leaves whole lines behind. */
  async #append(line: string): Promise<void> {
    try {
      await using file = await open(this.#file, 'a+');
      const { size } = await file.stat();
      const last =
        size === 0 ? '\n' : (await file.read({ position: size - 1, length: 1 })).buffer.toString('utf8', 0, 1);
      await file.appendFile(last === '\n' || line === '' ? line : `\n${line}`);
      await file.datasync();
    } catch (error) {
      const reason = (error as Error).message;
      throw new BadInputError(
        `cannot be written (${reason})`,
        { file: this.#file },
        'Choose another file to record to.',
      );
    }
  }
}

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
