import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import {
  Completion,
  type CompletionRequest,
  HeadRoute,
  Message,
  ResponseSchema,
  ToolSpec,
} from '../../ports/llm-client.js';
import { contentKey } from '../../core/fingerprint.js';
import { maskedKey, requestKey, turnKey, wireRequest } from './request-key.js';

const RecordedRequest = z.strictObject({
  model: z.string(),
  messages: z.array(Message),
  temperature: z.number(),
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
export const RecordedCall = z.object({ key: z.string(), request: RecordedRequest, completion: Completion });
export type RecordedCall = z.infer<typeof RecordedCall>;

/** The line that records an answer, with its end of line. */
export function recordingLine(request: CompletionRequest, completion: Completion): string {
  const { purpose } = request;
  return `${JSON.stringify({ key: requestKey(request), request: { ...wireRequest(request), purpose }, completion })}\n`;
}

/** Whether it is a turn of an agent, whose answers depend on what commands printed. */
function isTurn({ purpose }: { readonly purpose: string }): boolean {
  return purpose === 'agent' || purpose === 'agent-judge';
}

/** What a recording answers to a call; null when it does not hold it. */
export class Recording {
  private readonly exact = new Map<string, Completion>();
  private readonly turns = new Map<string, Completion>();
  /** Null where calls with different answers look alike. */
  private readonly masked = new Map<string, Completion | null>();

  /** Of two answers to one call the first counts. */
  add({ key, request, completion }: RecordedCall): void {
    if (this.exact.has(key)) return;
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

  /** The same call, or the same but for what differs from one execution to the next. */
  answer(request: CompletionRequest): Completion | null {
    const wire = wireRequest(request);
    const exact = this.exact.get(requestKey(request));
    if (exact !== undefined) return exact;
    return (isTurn(request) ? this.turns.get(turnKey(wire)) : this.masked.get(maskedKey(wire))) ?? null;
  }
}

/**
 * Only the answers are held in memory.
 * @throws BadInputError with file and line for a damaged line or a key that is not its request's; with the file when
 * it cannot be read
 */
export async function readRecording(file: string): Promise<Recording> {
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
  const parsed = RecordedCall.safeParse(parseJson(text, place));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new BadInputError(issue?.message ?? 'is wrong', { ...place, field: issue?.path.join('.') });
  }
  const { key, request } = parsed.data;
  if (contentKey({ ...request, purpose: undefined }) !== key)
    throw new BadInputError('is not the key of its request', { ...place, field: 'key' });
  return parsed.data;
}

function parseJson(text: string, place: { file: string; line: number }): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadInputError('is not JSON; the line is damaged', place);
  }
}
