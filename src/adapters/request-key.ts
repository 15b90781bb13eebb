import { contentKey } from '../core/fingerprint.js';
import { type CompletionRequest, Message } from '../ports/llm-client.js';

/** A model call as recordings and stored answers know it: everything the answer depends on, in the words of the wire. */
export function wireRequest(request: CompletionRequest): Record<string, unknown> {
  return {
    model: request.model,
    messages: request.messages.map((message) => Message.parse(message)),
    temperature: request.temperature,
    max_tokens: request.maxTokens,
    top_logprobs: request.topLogprobs,
    tools: request.tools,
    response_schema: request.responseSchema,
    stop: request.stop,
    continue_final: request.continueFinal,
    sample: request.sample,
  };
}

/** Content key of the call. Who asks (`purpose`) takes no part: the answer is the same. */
export function requestKey(request: CompletionRequest): string {
  return contentKey(wireRequest(request));
}
