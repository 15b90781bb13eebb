import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { BadInputError } from '../core/errors.js';
import { Completion, type CompletionRequest, Message, ResponseSchema, ToolSpec } from '../ports/llm-client.js';
import { contentKey } from '../core/fingerprint.js';
import { requestKey, wireRequest } from './request-key.js';

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
  sample: z.int().min(0),
  purpose: z.string(),
});

/** One line of a recording: a model call and its answer. `key` is the content key of `request` without `purpose`. */
export const RecordedCall = z.object({ key: z.string(), request: RecordedRequest, completion: Completion });

/** The line that records an answer, with its end of line. */
export function recordingLine(request: CompletionRequest, completion: Completion): string {
  const { purpose } = request;
  return `${JSON.stringify({ key: requestKey(request), request: { ...wireRequest(request), purpose }, completion })}\n`;
}

/**
 * Answers by call key; of two answers to one call the first counts. Only the answers are held in memory.
 * @throws BadInputError with file and line for a damaged line or a key that is not its request's; with the file when
 * it cannot be read
 */
export async function readRecording(file: string): Promise<Map<string, Completion>> {
  const answers = new Map<string, Completion>();
  const stream = createReadStream(file);
  let line = 0;
  try {
    for await (const text of createInterface({ input: stream, crlfDelay: Infinity })) {
      line += 1;
      if (text.trim() === '') continue;
      const { key, completion } = readLine(text, { file, line });
      if (!answers.has(key)) answers.set(key, completion);
    }
  } catch (error) {
    if (error instanceof BadInputError) throw error;
    throw new BadInputError(`cannot be read (${(error as Error).message})`, { file });
  } finally {
    stream.destroy();
  }
  return answers;
}

function readLine(text: string, place: { file: string; line: number }): z.infer<typeof RecordedCall> {
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
