import type OpenAI from 'openai';
import type { CompletionRequest, Message } from '../../ports/llm-client.js';
import type { Failure } from './failure.js';

type Body = OpenAI.ChatCompletionCreateParamsNonStreaming;

/** What reasoning models of some services refuse, each named as the services name it. */
const REFUSABLE = ['max_tokens', 'temperature', 'logprobs', 'stop'] as const;
export type Refusable = (typeof REFUSABLE)[number];
const REFUSAL = /unsupported|not support|not allowed|not permitted/i;

/** The parameter that a refusal is about, where the model can be asked without it; null for any other failure. */
export function refusedParameter({ detail, kind, tooLong }: Failure): Refusable | null {
  if (kind !== 'refused' || tooLong || !REFUSAL.test(detail)) return null;
  return REFUSABLE.find((name) => new RegExp(`\\b(?:top_)?${name}\\b`).test(detail)) ?? null;
}

/** A request in the words of Chat Completions, and, for a turn to be continued, of vLLM and SGLang. */
export function onTheWire(request: CompletionRequest, refused: ReadonlySet<Refusable> = new Set()): Body {
  const { temperature, maxTokens, topLogprobs, stop } = request;
  return {
    model: request.model,
    messages: request.messages.map(wireMessage),
    ...(refused.has('temperature') ? {} : { temperature }),
    ...(refused.has('max_tokens')
      ? { max_completion_tokens: maxTokens }
      : // eslint-disable-next-line @typescript-eslint/no-deprecated -- its successor is unknown to many local servers
        { max_tokens: maxTokens }),
    ...(topLogprobs === undefined || refused.has('logprobs') ? {} : { logprobs: true, top_logprobs: topLogprobs }),
    ...(stop === undefined || refused.has('stop') ? {} : { stop: [...stop] }),
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

function wireMessage({
  role,
  content,
  reasoning,
  tool_calls: calls,
  tool_call_id: id,
}: Message): Body['messages'][number] {
  if (role === 'tool') return { role, content, tool_call_id: id ?? '' };
  if (role !== 'assistant' || calls === undefined) return { role, content };
  const tool_calls = calls.map((call) => ({
    id: call.id,
    type: 'function' as const,
    function: { name: call.name, arguments: call.arguments },
  }));
  return { role, content, tool_calls, ...(reasoning === undefined ? {} : { reasoning_content: reasoning }) };
}
