import { z } from 'zod';
import { listOf } from '../../core/json.js';
import { type Completion, type CompletionRequest, TokenCount, type TokenLogprob } from '../../ports/llm-client.js';

/** The server answered 200 with something that is not a whole chat completion. */
export class UnreadableReplyError extends Error {
  /** @param usage what the server counts for it all the same */
  constructor(
    message: string,
    readonly usage: Completion['usage'] = null,
  ) {
    super(message);
  }
}

/** What vLLM reports for a token without a probability, since JSON has no -Infinity. */
const NO_LOGPROB = -9999;

const Position = z.object({
  token: z.string(),
  logprob: z.unknown(),
  top_logprobs: z.array(z.unknown()).nullish(),
});
const Alternative = z.object({ token: z.string(), logprob: z.number() });
/** Servers list at most twenty and the sampled one. */
const MOST_ALTERNATIVES = 64;

/** More parts than an answer of thoughts has. */
const MOST_PARTS = 10_000;
const Text = z.object({ text: z.string() });
const Texts = listOf(Text, MOST_PARTS).transform((parts) => parts.map(({ text }) => text).join(''));
const Part = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z
    .object({ type: z.literal('thinking'), thinking: z.union([z.string(), Texts]) })
    .transform(({ type, thinking: text }) => ({ type, text })),
  z.object({ type: z.string() }).transform(() => ({ type: 'other', text: '' })),
]);
/** A text, or the list of parts that Mistral's reasoning models send; parts that are neither text nor thoughts are dropped. */
const Content = z
  .union([z.string().transform((text) => [{ type: 'text', text }]), listOf(Part, MOST_PARTS)])
  .nullish()
  .transform((parts) => {
    const of = (wanted: string): string =>
      (parts ?? []).map(({ type, text }) => (type === wanted ? text : '')).join('');
    return { text: of('text'), thoughts: of('thinking') };
  });

/** Some servers need the id of a call back. */
const LONGEST_ID = 256;
const Call = z.object({
  id: z.string().max(LONGEST_ID).nullish().catch(null),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
const MOST_CALLS = 100;

function firstOf(most: number): (value: unknown) => unknown {
  return (value) => (Array.isArray(value) ? value.slice(0, most) : value);
}

const Choice = z.object({
  message: z.object({
    content: Content,
    // Servers use either name.
    reasoning_content: z.string().nullish().catch(null),
    reasoning: z.string().nullish().catch(null),
    // Only the first is carried out; a model that repeats itself writes thousands.
    tool_calls: z.preprocess(firstOf(MOST_CALLS), listOf(Call).nullish()),
  }),
  finish_reason: z.string().nullish(),
  error: z.unknown().optional(),
});

export const Usage = z
  .object({
    prompt_tokens: TokenCount,
    completion_tokens: TokenCount,
    prompt_tokens_details: z.object({ cached_tokens: TokenCount.nullish() }).nullish().catch(null),
  })
  .nullish()
  .catch(null);

const Reply = z.object({
  model: z.string().nullish(),
  choices: z.preprocess(firstOf(1), z.tuple([Choice])),
  usage: Usage,
});

/** Finish reasons of a server that failed: vLLM and SGLang, gateways, DeepSeek, Z.ai. */
const BREAKS = new Set(['abort', 'error', 'insufficient_system_resource', 'network_error']);

/** Whether the server, not the model, ended the answer, so that asking again may give a whole one. */
export function isBrokenOff({ finish_reason }: Pick<Completion, 'finish_reason'>): boolean {
  return BREAKS.has(finish_reason);
}

/** Other words for an answer that reached a limit: Anthropic and Bedrock, Gemini, Mistral, the Responses API, Z.ai. */
const CUTS = new Set(['max_tokens', 'model_length', 'max_output_tokens', 'model_context_window_exceeded']);
const LONGEST_REASON = 100;

function finishReason({ finish_reason: given }: z.infer<typeof Choice>): string {
  if (given == null) return 'unknown';
  return CUTS.has(given.toLowerCase()) ? 'length' : given.slice(0, LONGEST_REASON);
}

/** What a server answered. */
export interface AnswerBody {
  /** The JSON without its log-probabilities, or the beginning of any other text. */
  readonly value: unknown;
  /** The log-probabilities of the first choice; null if there are none, or none that can be read. */
  readonly logprobs: readonly TokenLogprob[] | null;
}

/** @throws UnreadableReplyError with the beginning of the reply, or if the server broke it off */
export function readReply(
  { value, logprobs }: AnswerBody,
  { model: requestedModel, maxTokens }: Pick<CompletionRequest, 'model' | 'maxTokens'>,
): Completion {
  const parsed = Reply.safeParse(value);
  if (!parsed.success) throw new UnreadableReplyError(describeReply(value));
  const { model, choices, usage } = parsed.data;
  const [choice] = choices;
  const finish_reason = finishReason(choice);
  if (choice.error != null || isBrokenOff({ finish_reason })) {
    const why = JSON.stringify(choice.error ?? finish_reason).slice(0, 200);
    throw new UnreadableReplyError(`it broke off its answer: ${why}`, readUsage(usage));
  }
  const message = readMessage(choice.message);
  // vLLM and others say `tool_calls` of an answer that ended within its call, whose end their parser made up.
  const isCut = message.tool_calls.length > 0 && usage?.completion_tokens === maxTokens;
  return {
    ...message,
    logprobs: readLogprobs(logprobs, message.text),
    finish_reason: isCut ? 'length' : finish_reason,
    usage: readUsage(usage),
    model: model ?? requestedModel,
  };
}

/** Some servers send an empty token list if they have no log-probabilities. */
function readLogprobs(positions: AnswerBody['logprobs'], text: string): Completion['logprobs'] {
  return positions === null || (positions.length === 0 && text !== '') ? null : [...positions];
}

/** An answer whose tokens ran out before it began. */
export function cutReply(model: string): Completion {
  return { text: '', reasoning: '', tool_calls: [], logprobs: null, finish_reason: 'length', usage: null, model };
}

function readMessage(
  message: z.infer<typeof Choice>['message'],
): Pick<Completion, 'text' | 'reasoning' | 'tool_calls'> {
  const calls = message.tool_calls ?? [];
  return {
    text: message.content.text,
    reasoning: message.reasoning_content ?? message.reasoning ?? message.content.thoughts,
    tool_calls: calls.map(({ id, function: called }, index) => ({ id: id ?? `call_${index}`, ...called })),
  };
}

export function readUsage(usage: z.infer<typeof Usage>): Completion['usage'] {
  if (usage == null) return null;
  return {
    input_tokens: usage.prompt_tokens,
    cached_input_tokens: Math.min(usage.prompt_tokens, usage.prompt_tokens_details?.cached_tokens ?? 0),
    output_tokens: usage.completion_tokens,
  };
}

/** Tokens of several attempts; null when none is known. */
export function sumUsage(a: Completion['usage'], b: Completion['usage']): Completion['usage'] {
  if (a === null || b === null) return a ?? b;
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
  };
}

/**
 * Every generated token is kept, whatever its log-probability, so that the text stays whole. Unreadable alternatives are
 * dropped.
 * @returns null for what is not a token
 */
export function readPosition(value: unknown): TokenLogprob | null {
  const parsed = Position.safeParse(value);
  if (!parsed.success) return null;
  const { token, logprob, top_logprobs: top } = parsed.data;
  return {
    token,
    logprob: typeof logprob === 'number' && Number.isFinite(logprob) ? logprob : NO_LOGPROB,
    top: (top ?? []).slice(0, MOST_ALTERNATIVES).flatMap((entry) => {
      const alternative = Alternative.safeParse(entry);
      return alternative.success ? [alternative.data] : [];
    }),
  };
}

function describeReply(raw: unknown): string {
  if (typeof raw === 'string') return `it answered with text, not with JSON: ${raw.slice(0, 200)}`;
  return `its answer is not a chat completion: ${JSON.stringify(raw ?? null).slice(0, 200)}`;
}
