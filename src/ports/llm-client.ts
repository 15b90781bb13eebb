import { z } from 'zod';

/** A function call that the model asked for; `arguments` is what it wrote, JSON or not. */
export const ToolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });
export type ToolCall = z.infer<typeof ToolCall>;

export const Message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  /** What an assistant thought before its calls: models that think between calls want it back. Shown to no other. */
  reasoning: z.string().optional(),
  /** Calls of an assistant's turn. */
  tool_calls: z.array(ToolCall).optional(),
  /** The call that a `tool` message answers. */
  tool_call_id: z.string().optional(),
});
export type Message = z.infer<typeof Message>;

/** A function the model may call; `parameters` is a JSON schema. */
export const ToolSpec = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.json()),
});
export type ToolSpec = z.infer<typeof ToolSpec>;

/** A JSON schema that the answer's text must follow. */
export const ResponseSchema = z.object({ name: z.string(), schema: z.record(z.string(), z.json()) });
export type ResponseSchema = z.infer<typeof ResponseSchema>;

/**
 * How the server of a model with a head is asked: vLLM's `/classify`, `/pooling` and `/score`, SGLang's `/v1/classify`. The text is
 * the one message; `score` compares two.
 */
export const HEAD_ROUTES = ['classify', 'pooling', 'score', 'sglang'] as const;
export const HeadRoute = z.enum(HEAD_ROUTES);
export type HeadRoute = z.infer<typeof HeadRoute>;

/** One model call, in the words of Chat Completions. */
export const CompletionRequest = z.object({
  model: z.string(),
  messages: z.array(Message).readonly(),
  temperature: z.number(),
  /** Absent = the server's. */
  topP: z.number().exactOptional(),
  maxTokens: z.int(),
  /** How many alternatives to return at each position, 1..20; absent = no log-probabilities asked for. */
  topLogprobs: z.int().exactOptional(),
  tools: z.array(ToolSpec).readonly().exactOptional(),
  responseSchema: ResponseSchema.exactOptional(),
  /** Texts that end the answer; they are not part of it. */
  stop: z.array(z.string()).readonly().exactOptional(),
  /** The last message is the beginning of an assistant's turn, which the server goes on with (vLLM, SGLang). */
  continueFinal: z.boolean().exactOptional(),
  /** Asks the model's head for numbers, in place of an answer. */
  head: HeadRoute.exactOptional(),
  /** n-th independent sample of otherwise equal requests, from 0; separates their records and stored answers. */
  sample: z.int(),
  /** Who asks, for accounting: `judge`, `test-writer`, `agent`, `agent-judge`. */
  purpose: z.string(),
});
export type CompletionRequest = Readonly<z.infer<typeof CompletionRequest>>;

const Alternative = z.object({ token: z.string(), logprob: z.number() });

export const TokenLogprob = z.object({
  token: z.string(),
  logprob: z.number(),
  top: z.array(Alternative),
});
export type TokenLogprob = z.infer<typeof TokenLogprob>;

export const CompletionUsage = z.object({
  input_tokens: z.int().min(0),
  /** Part of `input_tokens` that the server answered from its prefix cache. */
  cached_input_tokens: z.int().min(0),
  output_tokens: z.int().min(0),
});
export type CompletionUsage = z.infer<typeof CompletionUsage>;

export const Completion = z.object({
  text: z.string(),
  /** What a reasoning model thought before it answered, where the server sets that apart; empty otherwise. */
  reasoning: z.string().default(''),
  tool_calls: z.array(ToolCall).default([]),
  /** One entry per generated token, in order; null when the server gives none. */
  logprobs: z.array(TokenLogprob).nullable(),
  /** What a head gave, one number an output; absent = it was not asked. */
  outputs: z.array(z.number()).exactOptional(),
  finish_reason: z.string(),
  /** Null when the server does not report it. */
  usage: CompletionUsage.nullable(),
  /** The model as the server names it. */
  model: z.string(),
});
export type Completion = z.infer<typeof Completion>;

/** Has a model called where there is room, and the answer stored under `key`; null = it is to be called here. */
export type RemoteCall = (key: string, request: CompletionRequest, signal: AbortSignal) => Promise<Completion | null>;

/** Model calls in our own words. The adapter owns concurrency, retries and time-outs. */
export abstract class LlmClient {
  /** @throws ModelUnavailableError, ContextTooLongError, RecordingMissError, BudgetSpentError */
  abstract complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>;
}

/** Whether the models' servers answer, without asking a model anything. */
export abstract class ModelProbe {
  /** @throws ModelUnavailableError when a server that a configured model needs does not answer, or refuses the key */
  abstract check(signal: AbortSignal): Promise<void>;
}

/** How long a text is to a model. Other models cut text otherwise, so a count is an estimate with some per cent of error. */
export abstract class Tokenizer {
  /** @returns tokens of `text`, at least 0; linear in its length, whatever the text */
  abstract count(text: string): Promise<number>;
}
