import { contentKey } from '../../core/fingerprint.js';
import { type CompletionRequest, Message } from '../../ports/llm-client.js';

export interface WireRequest {
  readonly messages: readonly Message[];
  readonly [member: string]: unknown;
}

/** A model call as recordings and stored answers know it: everything the answer depends on, in the words of the wire. */
export function wireRequest(request: CompletionRequest): WireRequest {
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
    head: request.head,
    sample: request.sample,
  };
}

/** Content key of the call. Who asks (`purpose`) takes no part: the answer is the same. */
export function requestKey(request: CompletionRequest): string {
  return contentKey(wireRequest(request));
}

/**
 * Content key of an agent's turn in a recording: the prompt and what the model itself said before. What its actions
 * printed takes no part, nor does the room that this left for the answer: times and process numbers differ from run to
 * run, and a recording would answer nothing else than the run it was made of.
 */
export function turnKey({ messages, ...request }: WireRequest): string {
  const start = messages.findIndex(({ role }) => role === 'assistant');
  const prompt = start === -1 ? messages : messages.slice(0, start);
  const said = messages.filter(({ role }) => role === 'assistant');
  return contentKey({ turn: { ...request, max_tokens: undefined, purpose: undefined }, prompt, said });
}

/**
 * Content key of a call with every number and hash in its messages masked: what a test runner says about its time, in a
 * trajectory that a judge reads, differs from run to run. Only as good as a second look: two calls may share it.
 */
export function maskedKey({ messages, ...request }: WireRequest): string {
  const masked = messages.map(({ role, content }) => [role, content.replace(/\b[0-9a-f]{8,}\b|\d+(\.\d+)?/g, '#')]);
  return contentKey({ masked, ...request, purpose: undefined });
}
