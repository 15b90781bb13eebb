/** One generated position: the sampled token and the listed alternatives with their probabilities. */
export interface ReplyToken {
  readonly token: string;
  readonly top?: Readonly<Record<string, number>>;
}

/**
 * A chat completion as an OpenAI-style server sends it; its text is the tokens joined. With the messages it answers, its
 * usage is a quarter of the characters.
 */
export function chatReply(
  tokens: readonly ReplyToken[],
  model = 'judge',
  asked?: readonly { readonly content: string }[],
): Record<string, unknown> {
  const texts = tokens.map(({ token }) => token);
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    model,
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: texts.join('') },
        logprobs: { content: tokens.map(position) },
      },
    ],
    usage:
      asked === undefined
        ? { prompt_tokens: 100, completion_tokens: tokens.length, prompt_tokens_details: { cached_tokens: 64 } }
        : { prompt_tokens: quarter(asked.map(({ content }) => content)), completion_tokens: quarter(texts) },
  };
}

function quarter(texts: readonly string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + text.length, 0) / 4);
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
