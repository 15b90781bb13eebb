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
  [
    'TensorRT-LLM',
    'The sum of prompt length (60000.0), query length (0) max_tokens (8192) should not exceed max_seq_len (65536)',
  ],
  [
    'TensorRT-LLM, the prompt',
    'The sum of prompt length (72417.0), query length (0) should not exceed max_num_tokens (69632)',
  ],
  [
    'TensorRT-LLM, no room',
    '`default_max_tokens` (-152) must be greater than 0, `default_max_tokens` (-152) = max_seq_len',
  ],
  ['Triton', 'Encountered an error when fetching new request: Prompt length (200) exceeds maximum input length (1)'],
  ['Triton, older', 'Cannot process new request: Prompt length (5056) exceeds maximum sequence length (2048)'],
  ['DeepInfra', 'Requested input length 39818 exceeds maximum input length 32767'],
  ['Poolside', 'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.'],
  ['Ollama, the prompt', 'the input length exceeds the context length'],
  ['Ollama, newer', 'prompt too long; exceeded max context length by 4096 tokens'],
  ['LM Studio, older', 'Input length 6491 exceeds context length 1500'],
  ['Cohere', 'too many tokens: size limit exceeded by 168512 tokens. The limit for this model is 132000 tokens.'],
  [
    'Mistral',
    'Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length',
  ],
  ['Fireworks', 'The prompt is too long: 1000008, model maximum context length: 131071'],
  ['Bedrock, tokens', 'Too many input tokens. Max input tokens: 128000, request input token count: 140000'],
  ['LiteLLM', 'litellm.BadRequestError: ContextWindowExceededError: BedrockException: it is long'],
  [
    'Together',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 40000 `inputs` tokens',
  ],
  ['LMDeploy', "Input length (265330) exceeds model's maximum context length (262144)."],
  ['watsonx.ai', 'the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model'],
  [
    'OpenRouter, in the words of another',
    {
      message: 'Provider returned error',
      metadata: { raw: 'Requested input length 39818 exceeds maximum input length 32767' },
    },
  ],
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

it('tells one that a server answers with 500', async () => {
  const client = await clientOf(() => ({
    status: 500,
    json: { error: 'the input length exceeds the context length' },
  }));
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ContextTooLongError);
  expect(server.calls).toHaveLength(1);
});

it('asks TensorRT-LLM for an answer that fits', async () => {
  const words =
    'The sum of prompt length (60000.0), query length (0) max_tokens (8192) should not exceed max_seq_len (65536)';
  const client = await clientOf(({ max_tokens: asked }) =>
    Number(asked) > 5_536 ? { status: 400, json: { message: words } } : { json: chatReply([{ token: 'ok' }]) },
  );
  await client.complete(completionRequest({ maxTokens: 8_192, mayBeShorter: true }), signal);
  expect(server.calls.map(({ body }) => body.max_tokens)).toEqual([8_192, 5_535]);
});

describe('a refusal in unknown words', () => {
  const asks = (length: number, maxTokens = 100) =>
    completionRequest({ messages: [{ role: 'user', content: 'x'.repeat(length) }], maxTokens });
  const usage = { prompt_tokens: 5_000, completion_tokens: 1 };
  /** A server that takes prompts up to 20,000 characters, which are 5,000 tokens, and refuses longer ones. */
  const refusing =
    (error: unknown, status = 400): AnswerChat =>
    ({ messages: [message] }) =>
      (message?.content.length ?? 0) > 20_000
        ? { status, json: { error: { message: error } } }
        : { json: { ...chatReply([{ token: 'ok' }]), usage } };
  const codeOf = (failure: Promise<unknown>) => failure.catch((error: unknown) => (error as ContextTooLongError).code);

  it.each([
    ['vLLM, SGLang', { max_model_len: 6_000 }],
    ['OpenRouter, Together', { context_length: 6_000 }],
    ['Mistral', { max_context_length: 6_000 }],
    ['llama.cpp', { meta: { n_ctx: 6_000 } }],
  ])('is an overflow near the limit of the model list, whatever it says: %s', async (_name, limit) => {
    const client = await clientOf(refusing('Bad Request'), {}, [{ id: 'judge', ...limit }]);
    await client.complete(asks(20_000), signal);
    expect(await codeOf(client.complete(asks(22_000), signal))).toBe('context-too-long');
    expect(await codeOf(client.complete(asks(20_001, 1_000), signal))).toBe('context-too-long');
  });

  it.each([
    ['far from the limit', 'Bad Request', { max_model_len: 100_000 }],
    ['where no limit is known', 'Bad Request', {}],
    ['with a limit that is none', 'Bad Request', { max_model_len: 'long' }],
    ['about the id of a call', 'Tool call id was c but must be a-z, with a length of 9', {}],
    ['about the order of messages', 'Conversation roles must alternate user/assistant/user', {}],
    ['about its content', 'The response was filtered by the content management policy', { max_model_len: 100_000 }],
  ])('is an error for everyone: %s', async (_name, words, limit) => {
    const client = await clientOf(refusing(words), {}, [{ id: 'judge', ...limit }]);
    await client.complete(asks(20_000), signal);
    expect(await codeOf(client.complete(asks(22_000), signal))).toBe('model-unavailable');
  });

  it.each([
    ['of a prompt', 400, 'Prompt is over the 5000 allowed'],
    ['of a request', 422, 'request too big for this deployment'],
    ['of a proxy', 413, 'Payload'],
  ])(
    'is an overflow if it may mean the length and no much longer prompt was taken: %s',
    async (_name, status, words) => {
      const client = await clientOf(refusing(words, status));
      expect(await codeOf(client.complete(asks(22_000), signal))).toBe('model-unavailable');
      await client.complete(asks(20_000), signal);
      expect(await codeOf(client.complete(asks(22_000), signal))).toBe('context-too-long');
    },
  );

  it.each([
    ['LiteLLM, of a key', 'ExceededTokenBudget: Current spend for token: 7.2e-05; Max Budget for Token: 2e-07'],
    ['LiteLLM, of an account', 'litellm.BadRequestError: OpenAIException - Billing hard limit has been reached'],
    [
      'LiteLLM, of Anthropic',
      'litellm.BadRequestError: AnthropicException - {"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits."}}',
    ],
    [
      'OpenAI, of the id of a call',
      "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40",
    ],
    [
      'OpenAI, of the answer',
      'max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192.',
    ],
  ])('is an error that names another limit, wherever it comes: %s', async (_name, words) => {
    const client = await clientOf(refusing(words), {}, [{ id: 'judge', max_model_len: 6_000 }]);
    await client.complete(asks(20_000), signal);
    expect(await codeOf(client.complete(asks(22_000), signal))).toBe('model-unavailable');
  });

  it('is an error if much longer prompts were taken', async () => {
    let calls = 0;
    const client = await clientOf(() => {
      calls += 1;
      return calls === 1
        ? { json: chatReply([{ token: 'ok' }]) }
        : { status: 400, json: { error: { message: 'prompt is over the limit' } } };
    });
    await client.complete(asks(50_000), signal);
    expect(await codeOf(client.complete(asks(20_000), signal))).toBe('model-unavailable');
  });
});

it.each([
  'max_tokens is too large: 8192. This model supports at most 4096 completion tokens',
  'too many tokens: max tokens must be less than or equal to 4096, the maximum output length for this model',
  'Input validation error: `max_new_tokens` must be <= 4096',
])('takes no limit of answers for one of prompts: %s', async (message) => {
  const client = await clientOf(() => ({ status: 400, json: { error: { message } } }));
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ModelUnavailableError);
});

it('does not take every refusal for a prompt that is too long', async () => {
  const client = await clientOf(() => ({ status: 400, json: { error: { message: 'unknown field max_length' } } }));
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ModelUnavailableError);
});

it.each([
  ['vLLM', (input: string) => `[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 2), 'input': '${input}'}]`],
  ['SGLang', (input: string) => `[{"loc":["body","messages"],"msg":"Extra inputs","input":"${input}"}]`],
])('does not look for overflows in what an error repeats of a request: %s', async (_name, words) => {
  const message = words('The log says: prompt is too long, context_length_exceeded');
  const client = await clientOf(() => ({ status: 400, json: { error: { message } } }));
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ModelUnavailableError);
});
