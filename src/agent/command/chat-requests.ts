import { z } from 'zod';
import { asSmallJson } from '../../core/json.js';
import type { Completion, CompletionRequest, Message, ToolSpec } from '../../ports/llm-client.js';
import { isCutOff } from '../call-formats/action-format.js';

/** An HTTP response to the program. */
export interface RouteAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const TextPart = z.object({ type: z.enum(['text', 'input_text']), text: z.string() });
/** Text, or text parts; other parts (images) are not needed by these agents, and a text-only model refuses them. */
const Content = z
  .union([z.string(), z.array(TextPart).transform((parts) => parts.map(({ text }) => text).join('\n'))])
  .nullish()
  .transform((text) => text ?? '');

const WireCall = z.object({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const WireMessage = z.object({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: Content,
  // Programs use either name.
  reasoning_content: z.string().nullish(),
  reasoning: z.string().nullish().catch(null),
  tool_calls: z.array(WireCall).nullish(),
  tool_call_id: z.string().nullish(),
});

const WireTool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: z.string(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.json()).nullish(),
  }),
});

/** A chat completion request as OpenAI clients send it; members not listed here are ignored. */
const ChatRequest = z.object({
  messages: z.array(WireMessage).min(1),
  tools: z.array(WireTool).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  stop: z.union([z.string().transform((text) => [text]), z.array(z.string())]).nullish(),
  n: z.literal(1).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
});
export type ChatRequest = z.infer<typeof ChatRequest>;

/** Of thousands of messages. */
const MOST_VALUES = 50_000;

/** @returns the request, or the answer that says what is wrong with it */
export function readChat(body: string): ChatRequest | RouteAnswer {
  const value = asSmallJson(body, MOST_VALUES);
  if (value === undefined) return refusal(400, 'invalid_request_error', 'the body is not JSON, or too much of it');
  const parsed = ChatRequest.safeParse(value);
  if (parsed.success) return parsed.data;
  const [problem] = parsed.error.issues;
  return refusal(400, 'invalid_request_error', `${problem?.path.join('.') ?? ''}: ${problem?.message ?? 'is wrong'}`);
}

/** An error in OpenAI's format. */
export function refusal(status: number, code: string, message: string): RouteAnswer {
  return json({ error: { message, type: code, code, param: null } }, status);
}

export function json(value: unknown, status = 200): RouteAnswer {
  return { status, type: 'application/json', text: JSON.stringify(value) };
}

/** The parts of a request that are passed to the model. */
export function askedIn({
  messages,
  tools,
  stop,
  top_p: topP,
}: ChatRequest): Pick<CompletionRequest, 'messages' | 'tools' | 'stop' | 'topP'> {
  return {
    messages: messages.map(messageOf),
    ...(tools == null || tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    ...(stop == null ? {} : { stop }),
    ...(topP == null ? {} : { topP }),
  };
}

function messageOf({ role, content, ...more }: z.infer<typeof WireMessage>): Message {
  const reasoning = more.reasoning_content ?? more.reasoning;
  const calls = (more.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called }));
  return {
    role: role === 'developer' ? 'system' : role,
    content,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(calls.length === 0 || reasoning == null ? {} : { reasoning }),
    ...(more.tool_call_id == null ? {} : { tool_call_id: more.tool_call_id }),
  };
}

function toolOf({ function: { name, description, parameters } }: z.infer<typeof WireTool>): ToolSpec {
  return { name, description: description ?? '', parameters: parameters ?? { type: 'object', properties: {} } };
}

/** A completion in the format a client expects: whole, or as a stream of one chunk and its end. */
export function chatAnswer(request: ChatRequest, completion: Completion, id: string): RouteAnswer {
  const { text, reasoning, tool_calls: called, model } = completion;
  const calls = called.map(({ id: call, name, arguments: given }) => ({
    id: call,
    type: 'function',
    function: { name, arguments: given },
  }));
  const message = {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
  };
  // A program has to know that a call may be incomplete.
  const finish_reason = calls.length > 0 && !isCutOff(completion) ? 'tool_calls' : completion.finish_reason;
  const counts = countsOf(completion);
  // No timestamp, so that an answer from the store is identical.
  const about = { id: `chatcmpl-${id}`, created: 0, model };
  const withCalls = (list: readonly object[]): object =>
    list.length === 0 ? message : { ...message, tool_calls: list };
  if (request.stream !== true) {
    const choices = [{ index: 0, message: withCalls(calls), finish_reason, logprobs: null }];
    return json({ ...about, object: 'chat.completion', choices, usage: counts });
  }
  const indexed = calls.map((call, index) => ({ index, ...call }));
  const asked = request.stream_options?.include_usage === true;
  const last = asked ? [{ ...about, object: 'chat.completion.chunk', choices: [], usage: counts }] : [];
  return streamed([...pieces(about, withCalls(indexed), finish_reason), ...last]);
}

/** Of the answer alone: programs take `prompt_tokens` as the length of their conversation. */
function countsOf({ usage, answer_usage: own = usage }: Completion): object | null {
  return (
    own && {
      prompt_tokens: own.input_tokens,
      completion_tokens: own.output_tokens,
      total_tokens: own.input_tokens + own.output_tokens,
      prompt_tokens_details: { cached_tokens: own.cached_input_tokens },
    }
  );
}

/** The whole message in one chunk, and the end. */
function pieces(about: object, delta: object, finish_reason: string): readonly object[] {
  const piece = (change: object, ended: string | null): object => ({
    ...about,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: change, finish_reason: ended }],
  });
  return [piece(delta, null), piece({}, finish_reason)];
}

function streamed(pieces: readonly object[]): RouteAnswer {
  const lines = [...pieces.map((each) => JSON.stringify(each)), '[DONE]'];
  return { status: 200, type: 'text/event-stream', text: lines.map((line) => `data: ${line}\n\n`).join('') };
}
