import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { BadInputError, parsed } from '../core/errors/errors.js';
import { RecordingMissError } from '../core/errors/unavailable.js';
import {
  Completion,
  type CompletionRequest,
  HeadRoute,
  LlmClient,
  Message,
  ResponseSchema,
  ToolSpec,
} from '../ports/llm-client.js';
import { contentKey } from '../core/identifier.js';
import { isBrokenOff } from './openai/reply.js';

const RecordedRequest = z.strictObject({
  model: z.string(),
  messages: z.array(Message),
  temperature: z.number(),
  top_p: z.number().optional(),
  max_tokens: z.int(),
  top_logprobs: z.int().optional(),
  tools: z.array(ToolSpec).optional(),
  response_schema: ResponseSchema.optional(),
  stop: z.array(z.string()).optional(),
  continue_final: z.boolean().optional(),
  head: HeadRoute.optional(),
  sample: z.int().min(0),
  purpose: z.string(),
});

/** One line of a recording: a model call and its answer. `key` is the content key of `request` without `purpose`. */
const RecordedCall = z.object({ key: z.string(), request: RecordedRequest, completion: Completion });
type RecordedCall = z.infer<typeof RecordedCall>;

/** The line that records an answer, including its line feed. */
export function recordingLine(request: CompletionRequest, completion: Completion): string {
  const { purpose } = request;
  return `${JSON.stringify({ key: requestKey(request), request: { ...wireRequest(request), purpose }, completion })}\n`;
}

/** Whether it is a turn of an agent, whose answers depend on command output. */
function isTurn({ purpose }: { readonly purpose: string }): boolean {
  return purpose === 'agent' || purpose === 'agent-judge';
}

/** Looks up a recorded answer; null when there is none. */
class Recording {
  private readonly exact = new Map<string, Completion>();
  private readonly turns = new Map<string, Completion>();
  /** Null if calls with different answers have the same masked key. */
  private readonly masked = new Map<string, Completion | null>();

  /** The first of several answers to one call counts, of those that the server did not break off. */
  add({ key, request, completion }: RecordedCall): void {
    if (this.exact.has(key) || isBrokenOff(completion)) return;
    this.exact.set(key, completion);
    if (isTurn(request)) {
      const turn = turnKey(request);
      if (!this.turns.has(turn)) this.turns.set(turn, completion);
      return;
    }
    const masked = maskedKey(request);
    this.masked.set(masked, this.masked.has(masked) ? null : completion);
  }

  keys(): Iterable<string> {
    return this.exact.keys();
  }

  /** The answer to the same call, or to one that differs only in what varies between executions. */
  answer(request: CompletionRequest): Completion | null {
    const wire = wireRequest(request);
    const exact = this.exact.get(requestKey(request));
    if (exact !== undefined) return exact;
    return (isTurn(request) ? this.turns.get(turnKey(wire)) : this.masked.get(maskedKey(wire))) ?? null;
  }
}

/**
 * Reads a recording; only the answers stay in memory.
 * @throws BadInputError with file and line for a damaged line or a key that is not its request's; with the file when it cannot
 * be read
 */
async function readRecording(file: string): Promise<Recording> {
  const recording = new Recording();
  const stream = createReadStream(file);
  let line = 0;
  try {
    for await (const text of createInterface({ input: stream, crlfDelay: Infinity })) {
      line += 1;
      if (text.trim() !== '') recording.add(readLine(text, { file, line }));
    }
  } catch (error) {
    if (error instanceof BadInputError) throw error;
    throw new BadInputError(`cannot be read (${(error as Error).message})`, { file });
  } finally {
    stream.destroy();
  }
  return recording;
}

function readLine(text: string, place: { file: string; line: number }): RecordedCall {
  const call = parsed(RecordedCall, parseJson(text, place), place);
  const { key, request } = call;
  if (contentKey({ ...request, purpose: undefined }) !== key)
    throw new BadInputError('is not the key of its request', { ...place, field: 'key' });
  return call;
}

function parseJson(text: string, place: { file: string; line: number }): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadInputError('is not JSON; the line is damaged', place);
  }
}

interface WireRequest {
  readonly messages: readonly Message[];
  readonly [member: string]: unknown;
}

/** A model call as recordings and stored answers identify it: everything the answer depends on, in wire format. */
export function wireRequest(request: CompletionRequest): WireRequest {
  return {
    model: request.model,
    messages: request.messages.map((message) => Message.parse(message)),
    temperature: request.temperature,
    top_p: request.topP,
    max_tokens: request.maxTokens,
    top_logprobs: request.topLogprobs,
    tools: request.tools,
    response_schema: request.responseSchema,
    stop: request.stop,
    continue_final: request.continueFinal,
    head: request.head,
    sample: request.sample,
  };
}

/** Content key of the call, without `purpose`, which does not affect the answer. */
function requestKey(request: CompletionRequest): string {
  return contentKey(wireRequest(request));
}

/**
 * Content key of an agent's turn in a recording: the prompt and the model's own earlier messages. Command output is left out,
 * and so is the room it left for the answer: times and process ids differ between runs, so a recording would fit only the run
 * it was made from.
 */
function turnKey({ messages, ...request }: WireRequest): string {
  const start = messages.findIndex(({ role }) => role === 'assistant');
  const prompt = start === -1 ? messages : messages.slice(0, start);
  const said = messages.filter(({ role }) => role === 'assistant');
  return contentKey({ turn: { ...request, max_tokens: undefined, purpose: undefined }, prompt, said });
}

/**
 * Content key of a call with every number and hash in its messages masked: test timings, in a trajectory that a judge reads,
 * differ between runs. Ambiguous: two calls may share a key.
 */
function maskedKey({ messages, ...request }: WireRequest): string {
  const masked = messages.map(({ role, content }) => [role, content.replace(/\b[0-9a-f]{8,}\b|\d+(\.\d+)?/g, '#')]);
  return contentKey({ masked, ...request, purpose: undefined });
}

/** Forwards calls and appends each answer to a recording, one whole line at a time. Recorded calls are not added again. */
export class RecordingLlmClient extends LlmClient {
  readonly #inner: LlmClient;
  readonly #file: string;
  #recorded: Promise<Set<string>> | undefined;
  #lastWrite: Promise<void> = Promise.resolve();

  /** @param file created if missing, at the first call and before the model is asked */
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

  /** One write in append mode, synced, so that a crash leaves only whole lines. */
  async #append(line: string): Promise<void> {
    try {
      await using file = await open(this.#file, 'a+', 0o600);
      const { size, uid, mode } = await file.stat();
      // A recording has prompts and patches; earlier versions created it for every user.
      if (uid === process.getuid?.() && (mode & 0o077) !== 0) await file.chmod(mode & 0o700);
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

/** Answers only from a recording, which is read at the first call. */
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
