/** One generated position: the sampled token and the listed alternatives with their probabilities. */
export interface ReplyToken {
  readonly token: string;
  readonly top?: Readonly<Record<string, number>>;
}

/** A chat completion as an OpenAI-style server sends it; its text is the tokens joined. */
export function chatReply(tokens: readonly ReplyToken[], model = 'judge'): Record<string, unknown> {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model,
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: tokens.map(({ token }) => token).join('') },
        logprobs: { content: tokens.map(position) },
      },
    ],
    usage: { prompt_tokens: 100, completion_tokens: tokens.length, prompt_tokens_details: { cached_tokens: 64 } },
  };
}

/** The answer of a judge that says YES with probability `yes` and NO with the rest. */
export function judgementReply(yes: number, model = 'judge'): Record<string, unknown> {
  const verdict = { token: yes >= 0.5 ? 'YES' : 'NO', top: { YES: yes, NO: 1 - yes } };
  return chatReply(
    [...['<', 'jud', 'gement', '>'].map((token) => ({ token })), verdict, { token: '</judgement>' }],
    model,
  );
}

function position({ token, top = { [token]: 1 } }: ReplyToken): Record<string, unknown> {
  const alternatives = Object.entries(top).map(([text, p]) => ({ token: text, logprob: toLogprob(p), bytes: null }));
  return { token, logprob: toLogprob(top[token] ?? 0), bytes: null, top_logprobs: alternatives };
}

function toLogprob(probability: number): number {
  return probability === 0 ? -9999 : Math.log(probability);
}
