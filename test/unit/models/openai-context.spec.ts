import { ContextTooLongError, ModelUnavailableError } from '../../../src/core/errors/unavailable.js';
import { chatReply } from '../../fakes/chat-reply.js';
import { completionRequest } from '../../fakes/completions.js';
import { type AnswerChat } from '../../fakes/model-server.js';
import { clientOf, server } from './served-client.js';

const { signal } = new AbortController();
it.each<[string, unknown]>([
  ['OpenAI', { code: 'context_length_exceeded', message: "This model's maximum context length is 8192" }],
  ['vLLM', "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens"],
  ['SGLang', "The input (70000 tokens) is longer than the model's context length (65536 tokens)."],
  ['TGI', '`inputs` must have less than 4095 tokens. Given: 5000'],
  ['llama.cpp', 'the request exceeds the available context size'],
  ['a code alone', { code: 'context_length_exceeded', message: 'The request was refused.' }],
  ['GPT-5', 'Input tokens exceed the configured limit of 272000 tokens.'],
  ['Responses', 'Your input exceeds the context window of this model.'],
  ['Kimi', 'Invalid request: Your request exceeded model token limit: 262144'],
  ['Groq', 'Please reduce the length of the messages or completion.'],
  ['Z.ai', 'Prompt exceeds max length'],
  ['Anthropic', 'prompt is too long: 210000 tokens > 200000 maximum'],
  ['Anthropic, with the answer', 'input length and `max_tokens` exceed context limit: 188059 + 20000 > 200000'],
  ['Gemini', 'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).'],
  ['xAI', "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ['Bedrock', 'Input is too long for requested model.'],
  ['MiniMax', 'invalid params, context window exceeds limit (2013)'],
  ['Ollama', 'context length exceeded'],
  ['LM Studio', 'The number of tokens to keep from the initial prompt is greater than the context length.'],
  ['DashScope', '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]'],
  ['GitHub Copilot', 'prompt token count of 265330 exceeds the limit of 262144'],
])('tells a prompt that is too long from other refusals, and does not try again: %s', async (_name, error) => {
  const json = { error: typeof error === 'string' ? { message: error } : error };
  const client = await clientOf(() => ({ status: 400, json }));
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ContextTooLongError);
  expect(server.calls).toHaveLength(1);
});

describe('an answer that does not fit behind its prompt', () => {
  const WINDOW = 65_536;
  const counting =
    (prompt: number, words: typeof vllm10, json: unknown = chatReply([{ token: 'ok' }])): AnswerChat =>
    ({ max_tokens: asked }) =>
      // Some versions of SGLang leave the last token unused.
      prompt + Number(asked) < (words === sglang ? WINDOW : WINDOW + 1)
        ? { json }
        : { status: 400, json: { error: { message: words(prompt, Number(asked)) } } };
  const vllm10 = (prompt: number, asked: number): string =>
    `This model's maximum context length is ${WINDOW} tokens. However, you requested ${prompt + asked} tokens (${prompt} in the messages, ${asked} in the completion). Please reduce the length of the messages or completion.`;
  const vllm15 = (prompt: number, asked: number): string =>
    `'max_tokens' or 'max_completion_tokens' is too large: ${asked}. This model's maximum context length is ${WINDOW} tokens and your request has ${prompt} input tokens (${asked} > ${WINDOW} - ${prompt}).`;
  // These count no further than the first token that does not fit.
  const vllm17 = (_prompt: number, asked: number): string =>
    `You passed ${WINDOW + 1 - asked} input tokens and requested ${asked} output tokens. However, the model's context length is only ${WINDOW} tokens, resulting in a maximum input length of ${WINDOW - asked} tokens. Please reduce the length of the input prompt.`;
  const vllm18 = (_prompt: number, asked: number): string =>
    `This model's maximum context length is ${WINDOW} tokens. However, you requested ${asked} output tokens and your prompt contains at least ${WINDOW + 1 - asked} input tokens, for a total of at least ${WINDOW + 1} tokens. Please reduce the length of the input prompt or the number of requested output tokens.`;
  const sglang = (prompt: number, asked: number): string =>
    `Requested token count exceeds the model's maximum context length of ${WINDOW} tokens. You requested a total of ${prompt + asked} tokens: ${prompt} tokens from the input messages and ${asked} tokens for the completion.`;

  it.each<[string, typeof vllm10, unknown[], { prompt?: number; mayBeShorter?: boolean }?]>([
    ['vLLM to 0.10', vllm10, [8_192, 5_535, 'ok']],
    ['vLLM to 0.15', vllm15, [8_192, 5_535, 'ok']],
    ['vLLM to 0.17', vllm17, [8_192, 4_096, 'ok']],
    ['vLLM', vllm18, [8_192, 4_096, 'ok']],
    ['SGLang', sglang, [8_192, 5_535, 'ok']],
    ['SGLang, one token too long', sglang, [8_192, 8_191, 'ok'], { prompt: WINDOW - 8_192 }],
    ['not below 256', vllm18, [8_192, 4_096, 2_048, 1_024, 512, 256, 'context-too-long'], { prompt: 65_300 }],
    ['only where that is allowed', sglang, [8_192, 'context-too-long'], { mayBeShorter: false }],
  ])(
    'is asked for with fewer tokens: %s',
    async (_name, words, expected, { prompt = 60_000, mayBeShorter = true } = {}) => {
      const client = await clientOf(counting(prompt, words));
      const asked = client.complete(completionRequest({ maxTokens: 8_192, mayBeShorter }), signal);
      const { text } = await asked.catch((error: unknown) => ({ text: (error as ContextTooLongError).code }));
      expect([...server.calls.map(({ body }) => body.max_tokens), text]).toEqual(expected);
    },
  );

  it.each([
    [60_000, 'length', true],
    [60_000, 'stop', undefined],
    [50_000, 'length', undefined],
  ])(
    'fills the context if it was cut off, too: behind %d tokens, ended by %s',
    async (prompt, finish_reason, fills) => {
      const json = { ...chatReply([]), choices: [{ message: { content: 'Hm' }, finish_reason }] };
      const client = await clientOf(counting(prompt, vllm15, json));
      const request = completionRequest({ maxTokens: 8_192, mayBeShorter: true });
      expect((await client.complete(request, signal)).fills_context).toBe(fills);
    },
  );
});

it('does not take every refusal for a prompt that is too long', async () => {
  const client = await clientOf(() => ({ status: 400, json: { error: { message: 'unknown field max_length' } } }));
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ModelUnavailableError);
});
