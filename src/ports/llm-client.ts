import { z } from 'zod';

/** A function call requested by the model; `arguments` is its raw text, which may not be JSON. */
export const ToolCall = z.object({ id: z.string(), name: z.string(), arguments: z.string() });
export type ToolCall = z.infer<typeof ToolCall>;

export const Message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  /** An assistant's reasoning before its calls: reasoning models expect it back. Not sent to other models. */
  reasoning: z.string().optional(),
  /** Calls of an assistant message. */
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

/** A JSON schema that the answer's text must conform to. */
export const ResponseSchema = z.object({ name: z.string(), schema: z.record(z.string(), z.json()) });
export type ResponseSchema = z.infer<typeof ResponseSchema>;

/**
 * Endpoint of a server for a model with a classification or scoring head: vLLM's `/classify`, `/pooling` and `/score`,
 * SGLang's `/v1/classify`. The text is the single message; `score` compares two.
 */
export const HEAD_ROUTES = ['classify', 'pooling', 'score', 'sglang'] as const;
export const HeadRoute = z.enum(HEAD_ROUTES);
export type HeadRoute = z.infer<typeof HeadRoute>;

/** One model call, in the terms of Chat Completions. */
export const CompletionRequest = z.object({
  model: z.string(),
  messages: z.array(Message).readonly(),
  temperature: z.number(),
  /** Absent = the server's default. */
  topP: z.number().exactOptional(),
  maxTokens: z.int(),
  /** The answer may have fewer tokens if no more fit behind the prompt: a turn of an agent that chose no limit itself. */
  mayBeShorter: z.boolean().exactOptional(),
  /** Alternatives to return at each position, 1..20; absent = no log-probabilities are requested. */
  topLogprobs: z.int().exactOptional(),
  tools: z.array(ToolSpec).readonly().exactOptional(),
  responseSchema: ResponseSchema.exactOptional(),
  /** Texts that end the answer and are not part of it. */
  stop: z.array(z.string()).readonly().exactOptional(),
  /** The last message begins an assistant turn that the server continues (vLLM, SGLang). */
  continueFinal: z.boolean().exactOptional(),
  /** Requests numbers from the model's head instead of an answer. */
  head: HeadRoute.exactOptional(),
  /** Index among samples of otherwise equal requests, from 0; separates their recordings and stored answers. */
  sample: z.int(),
  /** For accounting: `judge`, `test-writer`, `agent`, `agent-judge`. */
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

/** Tokens of one call: ten times the longest context of any model, so that sums over all calls of a run stay exact. */
export const TokenCount = z.int().min(0).max(100_000_000);

export const CompletionUsage = z.object({
  input_tokens: TokenCount,
  /** The part of `input_tokens` served from the server's prefix cache. */
  cached_input_tokens: TokenCount,
  output_tokens: TokenCount,
});
export type CompletionUsage = z.infer<typeof CompletionUsage>;

export const Completion = z.object({
  text: z.string(),
  /** Reasoning before the answer, if the server returns it separately; empty otherwise. */
  reasoning: z.string().default(''),
  tool_calls: z.array(ToolCall).default([]),
  /** One entry per generated token, in order; null when the server gives none. */
  logprobs: z.array(TokenLogprob).nullable(),
  /** Output of a head, one number per output; absent = no head was requested. */
  outputs: z.array(z.number()).exactOptional(),
  finish_reason: z.string(),
  /** The answer was asked for with fewer tokens, as {@link CompletionRequest.mayBeShorter} allows, and reached those. */
  fills_context: z.boolean().exactOptional(),
  /** Null when the server does not report it, or a number that cannot be right, which earlier versions stored. */
  usage: CompletionUsage.nullable().catch(null),
  /**
   * Usage of this answer, if `usage` is another: it also counts attempts that the server broke off, or another rollout paid.
   * Null when the server does not report it.
   */
  answer_usage: CompletionUsage.nullable().catch(null).exactOptional(),
  /** Name of the model as reported by the server. */
  model: z.string(),
});
export type Completion = z.infer<typeof Completion>;

/** What servers write in place of a token's text: vLLM with `--return-tokens-as-token-ids`, and bare numbers. */
const NUMBERED = /^<?(?:token_id:|token:|id:|token_)?\d+>?$/;

/** The first token of log-probabilities that name all tokens by numbers, which say nothing; null for any others. */
export function numberedToken({ logprobs, text }: Pick<Completion, 'logprobs' | 'text'>): string | null {
  const tokens = logprobs?.map(({ token }) => token) ?? [];
  const [first = null] = tokens;
  return tokens.every((token) => NUMBERED.test(token)) && tokens.join('') !== text ? first : null;
}

/** Has another process call the model and store the answer under `key`; null = call it here. */
export type RemoteCall = (key: string, request: CompletionRequest, signal: AbortSignal) => Promise<Completion | null>;

/** Model calls in bestk's own types. The adapter owns concurrency, retries and time-outs. */
export abstract class LlmClient {
  /** @throws ModelUnavailableError, ContextTooLongError, RecordingMissError, BudgetSpentError */
  abstract complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>;
}

/** Checks that the models' servers answer, without calling a model. */
export abstract class ModelProbe {
  /** @throws ModelUnavailableError when a server that a configured model needs does not answer or refuses the key */
  abstract check(signal: AbortSignal): Promise<void>;
}

/**
 * Length of a text in tokens. Tokenizers of models differ, so a count is an estimate with an error of some per cent.
 */
export abstract class Tokenizer {
  /** @returns tokens of `text`, at least 0; takes linear time on any text */
  abstract count(text: string): Promise<number>;
}
