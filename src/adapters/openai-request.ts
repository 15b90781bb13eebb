import type OpenAI from 'openai';
import type { CompletionRequest, Message } from '../ports/llm-client.js';

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

/** A request in the words of Chat Completions, and, for a turn to be continued, of vLLM and SGLang. */
export function onTheWire(request: CompletionRequest): Body {
  return {
    model: request.model,
    messages: request.messages.map(wireMessage),
    temperature: request.temperature,
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- its successor is unknown to many local servers
    max_tokens: request.maxTokens,
    ...(request.topLogprobs === undefined ? {} : { logprobs: true, top_logprobs: request.topLogprobs }),
    ...(request.stop === undefined ? {} : { stop: [...request.stop] }),
    ...(request.continueFinal === true ? { continue_final_message: true, add_generation_prompt: false } : {}),
    ...constraints(request),
  };
}

function constraints({ tools, responseSchema }: CompletionRequest): Partial<Body> {
  return {
    ...(tools === undefined ? {} : { tools: tools.map((tool) => ({ type: 'function', function: { ...tool } })) }),
    ...(responseSchema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { ...responseSchema, strict: true } } }),
  };
}

function wireMessage({ role, content, tool_calls: calls, tool_call_id: id }: Message): Body['messages'][number] {
  if (role === 'tool') return { role, content, tool_call_id: id ?? '' };
  if (role !== 'assistant' || calls === undefined) return { role, content };
  const tool_calls = calls.map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  return { role, content, tool_calls };
}
