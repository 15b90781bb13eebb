import { z } from 'zod';
import type { Completion, TokenLogprob } from '../../ports/llm-client.js';

/** The server answered 200 with something that is not a chat completion. */
export class UnreadableReplyError extends Error {}

/** What vLLM reports for a token without a probability, since JSON has no -Infinity. */
const NO_LOGPROB = -9999;

const Position = z.object({
  token: z.string(),
  logprob: z.unknown(),
  top_logprobs: z.array(z.unknown()).nullish(),
});
const Alternative = z.object({ token: z.string(), logprob: z.number() });

const Call = z.object({ id: z.string().nullish(), function: z.object({ name: z.string(), arguments: z.string() }) });
const Choice = z.object({
  message: z.object({
    content: z.string().nullish(),
    // Servers use either name.
    reasoning_content: z.string().nullish().catch(null),
    reasoning: z.string().nullish().catch(null),
    tool_calls: z.array(Call).nullish(),
  }),
  finish_reason: z.string().nullish(),
  logprobs: z
    .object({ content: z.array(Position).nullish() })
    .nullish()
    .catch(null),
});

export const Usage = z
  .object({
    prompt_tokens: z.int().min(0),
    completion_tokens: z.int().min(0),
    prompt_tokens_details: z
      .object({ cached_tokens: z.int().min(0).nullish() })
      .nullish()
      .catch(null),
  })
  .nullish()
  .catch(null);

const Reply = z.object({ model: z.string().nullish(), choices: z.tuple([Choice], z.unknown()), usage: Usage });

/** @throws UnreadableReplyError with the beginning of the reply */
export function readReply(raw: unknown, requestedModel: string): Completion {
  const parsed = Reply.safeParse(raw);
  if (!parsed.success) throw new UnreadableReplyError(describeReply(raw));
  const { model, choices, usage } = parsed.data;
  const [choice] = choices;
  return {
    ...readMessage(choice.message),
    logprobs: readLogprobs(choice),
    finish_reason: choice.finish_reason ?? 'unknown',
    usage: readUsage(usage),
    model: model ?? requestedModel,
  };
}

/** Some servers send an empty token list if they have no log-probabilities. */
function readLogprobs({ logprobs, message }: z.infer<typeof Choice>): Completion['logprobs'] {
  const positions = logprobs?.content ?? null;
  return positions?.length === 0 && message.content ? null : (positions?.map(readPosition) ?? null);
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
    text: message.content ?? '',
    reasoning: message.reasoning_content ?? message.reasoning ?? '',
    tool_calls: calls.map(({ id, function: called }, index) => ({ id: id ?? `call_${index}`, ...called })),
  };
}

export function readUsage(usage: z.infer<typeof Usage>): Completion['usage'] {
  if (usage == null) return null;
  return {
    input_tokens: usage.prompt_tokens,
    cached_input_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output_tokens: usage.completion_tokens,
  };
}

/**
 * Every generated token is kept, whatever its log-probability, so that the text stays whole. Unreadable alternatives are
 * dropped.
 */
function readPosition({ token, logprob, top_logprobs: top }: z.infer<typeof Position>): TokenLogprob {
  return {
    token,
    logprob: typeof logprob === 'number' && Number.isFinite(logprob) ? logprob : NO_LOGPROB,
    top: (top ?? []).flatMap((entry) => {
      const alternative = Alternative.safeParse(entry);
      return alternative.success ? [alternative.data] : [];
    }),
  };
}

function describeReply(raw: unknown): string {
  if (typeof raw === 'string') return `it answered with text, not with JSON: ${raw.slice(0, 200)}`;
  return `its answer is not a chat completion: ${JSON.stringify(raw ?? null).slice(0, 200)}`;
}
