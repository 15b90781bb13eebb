import { answerLimits, parseAnswer } from '../../src/models/openai/answer-body.js';
import { readReply } from '../../src/models/openai/reply.js';
import type { Completion, CompletionRequest } from '../../src/ports/llm-client.js';
import { chatReply, judgementReply, type ReplyToken } from './chat-reply.js';

/** What the real adapter makes of the reply {@link judgementReply}. */
export function judgementCompletion(yes: number): Completion {
  return read(judgementReply(yes));
}

export function completionOf(tokens: readonly ReplyToken[]): Completion {
  return read(chatReply(tokens));
}

function read(reply: unknown): Completion {
  const request = { model: 'judge', maxTokens: 1_024, topLogprobs: 20 };
  return readReply(parseAnswer(JSON.stringify(reply), answerLimits(request)), request);
}

export function completionRequest(overrides: Partial<CompletionRequest> = {}): CompletionRequest {
  return {
    model: 'judge',
    messages: [
      { role: 'system', content: 'Judge.' },
      { role: 'user', content: 'Is it right?' },
    ],
    temperature: 1,
    maxTokens: 16,
    topLogprobs: 20,
    sample: 0,
    purpose: 'judge',
    ...overrides,
  };
}
