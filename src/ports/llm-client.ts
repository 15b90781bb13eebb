import { z } from 'zod';

export const Message = z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() });
export type Message = z.infer<typeof Message>;

/** One model call, in the words of Chat Completions. */
export interface CompletionRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly temperature: number;
  readonly maxTokens: number;
  /** How many alternatives to return at each position, 1..20; absent = no log-probabilities asked for. */
  readonly topLogprobs?: number;
  /** n-th independent sample of otherwise equal requests, from 0; separates their records and stored answers. */
  readonly sample: number;
  /** Who asks, for accounting: `judge`, `test-writer`, `agent`. */
  readonly purpose: string;
}

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
  /** One entry per generated token, in order; null when the server gives none. */
  logprobs: z.array(TokenLogprob).nullable(),
  finish_reason: z.string(),
  /** Null when the server does not report it. */
  usage: CompletionUsage.nullable(),
  /** The model as the server names it. */
  model: z.string(),
});
export type Completion = z.infer<typeof Completion>;

/** Model calls in our own words. The adapter owns concurrency, retries and time-outs. */
export abstract class LlmClient {
  /** @throws ModelUnavailableError, RecordingMissError */
  abstract complete(request: CompletionRequest, signal: AbortSignal): Promise<Completion>;
}
