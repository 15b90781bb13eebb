import { contentKey } from '../core/fingerprint.js';
import type { CompletionRequest } from '../ports/llm-client.js';

/** A model call as recordings and stored answers know it: everything the answer depends on, in the words of the wire. */
export function wireRequest(request: CompletionRequest): Record<string, unknown> {
  return {
    model: request.model,
    messages: request.messages.map(({ role, content }) => ({ role, content })),
    temperature: request.temperature,
    max_tokens: request.maxTokens,
    top_logprobs: request.topLogprobs,
    sample: request.sample,
  };
}

/** Content key of the call. Who asks (`purpose`) takes no part: the answer is the same. */
export function requestKey(request: CompletionRequest): string {
  return contentKey(wireRequest(request));
}
