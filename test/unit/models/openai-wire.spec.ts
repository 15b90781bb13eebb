import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { RecordingLlmClient, ReplayLlmClient } from '../../../src/models/recording.js';
import type { CompletionRequest } from '../../../src/ports/llm-client.js';
import { chatReply } from '../../fakes/chat-reply.js';
import { completionRequest } from '../../fakes/completions.js';
import { type AnswerChat } from '../../fakes/model-server.js';
import { clientOf, server } from './served-client.js';

const { signal } = new AbortController();
const call = { id: 'c1', name: 'execute_bash', arguments: '{"command":"ls"}' };
const withTools: CompletionRequest = completionRequest({
  messages: [
    { role: 'user', content: 'Fix it.' },
    { role: 'assistant', content: 'I look.', tool_calls: [call] },
    { role: 'tool', content: 'a.py', tool_call_id: 'c1' },
  ],
  tools: [{ name: 'execute_bash', description: 'Runs it.', parameters: { type: 'object', properties: {} } }],
  stop: ['</function>'],
});

function replyOf(message: unknown): Record<string, unknown> {
  return { model: 'm', choices: [{ message, finish_reason: 'tool_calls' }] };
}

it('speaks of tools in the words of Chat Completions', async () => {
  const client = await clientOf(() => ({ json: chatReply([{ token: 'ok' }]) }));
  await client.complete(withTools, signal);
  expect(server.calls[0]?.body).toMatchObject({
    stop: ['</function>'],
    tools: [{ type: 'function', function: { name: 'execute_bash', description: 'Runs it.' } }],
    messages: [
      { role: 'user', content: 'Fix it.' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'execute_bash', arguments: '{"command":"ls"}' } }],
      },
      { role: 'tool', content: 'a.py', tool_call_id: 'c1' },
    ],
  });
});

it.each([
  ['several content codings', { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip, gzip' } }],
  ['the status 999', { status: 999 }],
])('reads no answer with %s', async (fault, answer) => {
  const json = JSON.stringify(chatReply([{ token: 'ok' }]));
  const client = await clientOf(() => ({ ...answer, text: gzipSync(gzipSync(json)) }));
  await expect(client.complete(completionRequest(), signal)).rejects.toThrow(fault);
});

it('asks for a turn to be continued, and for an answer that follows a schema', async () => {
  const client = await clientOf(() => ({ json: chatReply([{ token: 'YES' }]) }));
  const messages = [
    { role: 'user' as const, content: 'Right?' },
    { role: 'assistant' as const, content: '<judgement>' },
  ];
  await client.complete(completionRequest({ messages, continueFinal: true }), signal);
  await client.complete(completionRequest({ responseSchema: { name: 'grade', schema: { type: 'object' } } }), signal);
  const [continued, schema] = server.calls.map(({ body }) => body);
  expect(continued).toMatchObject({ messages, continue_final_message: true, add_generation_prompt: false });
  expect(schema).toMatchObject({
    response_format: { type: 'json_schema', json_schema: { name: 'grade', strict: true, schema: { type: 'object' } } },
  });
});

it.each([
  ['vLLM', { content: 'b', reasoning_content: 'a' }],
  ['newer vLLM and OpenRouter', { content: 'b', reasoning: 'a' }],
  [
    'Mistral',
    {
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'a' }] },
        { type: 'reference', reference_ids: [1] },
        { type: 'text', text: 'b' },
      ],
    },
  ],
])('sets reasoning apart as %s sends it', async (_name, message) => {
  const client = await clientOf(() => ({ json: replyOf(message) }));
  expect(await client.complete(withTools, signal)).toMatchObject({ text: 'b', reasoning: 'a' });
});

it('reads calls, also those without an id, and leaves their arguments as they are', async () => {
  const message = {
    content: null,
    tool_calls: [
      { id: 'x', type: 'function', function: { name: 'finish', arguments: '{"command": "submit"' } },
      { function: { name: 'search', arguments: '{}' } },
    ],
  };
  const client = await clientOf(() => ({ json: replyOf(message) }));
  expect((await client.complete(withTools, signal)).tool_calls).toEqual([
    { id: 'x', name: 'finish', arguments: '{"command": "submit"' },
    { id: 'call_1', name: 'search', arguments: '{}' },
  ]);
});

it('replays a call with tools, and keeps it apart from one without', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bestk-wire-')), 'recording.jsonl');
  const client = await clientOf(() => ({ json: replyOf({ content: '', tool_calls: [{ id: 'x', function: call }] }) }));
  const recorded = await new RecordingLlmClient(client, file).complete(withTools, signal);
  const replay = new ReplayLlmClient(file);
  expect(await replay.complete(withTools, signal)).toEqual(recorded);
  const without = completionRequest({ messages: withTools.messages });
  await expect(replay.complete(without, signal)).rejects.toThrow(/does not contain/);
});

it('hands thoughts back with the calls that they led to, and with nothing else', async () => {
  const client = await clientOf(() => ({ json: chatReply([{ token: 'ok' }]) }));
  const messages = [
    { role: 'assistant' as const, content: '', reasoning: 'a.py it is', tool_calls: [call] },
    { role: 'tool' as const, content: 'a.py', tool_call_id: 'c1' },
    { role: 'assistant' as const, content: 'Done.', reasoning: 'enough' },
  ];
  await client.complete(completionRequest({ messages }), signal);
  expect(server.calls[0]?.body.messages).toEqual([
    expect.objectContaining({ role: 'assistant', reasoning_content: 'a.py it is', reasoning: 'a.py it is' }),
    { role: 'tool', content: 'a.py', tool_call_id: 'c1' },
    { role: 'assistant', content: 'Done.' },
  ]);
});

it('hands thoughts back under one name where the other is refused', async () => {
  const message =
    "messages.0.assistant.reasoning_content: property 'messages.0.assistant.reasoning_content' is unsupported";
  const client = await clientOf(({ messages: [first] }) =>
    first !== undefined && 'reasoning_content' in first
      ? { status: 400, json: { message } }
      : { json: chatReply([{ token: 'ok' }]) },
  );
  const messages = [{ role: 'assistant' as const, content: '', reasoning: 'a.py it is', tool_calls: [call] }];
  for (const sample of [0, 1]) await client.complete(completionRequest({ messages, sample }), signal);
  expect(server.calls).toHaveLength(3);
  expect(server.calls.at(-1)?.body.messages[0]).toMatchObject({ reasoning: 'a.py it is' });
});

it('sends everything else to a server that refuses both names and repeats the thoughts', async () => {
  const thoughts = 'max_tokens, temperature, top_logprobs: stop there';
  const client = await clientOf(({ messages: [first = {}] }) => {
    const name = ['reasoning_content', 'reasoning'].find((each) => each in first);
    if (name === undefined) return { json: chatReply([{ token: 'ok' }]) };
    const loc = ['body', 'messages', 0, name];
    const extra = { type: 'extra_forbidden', loc, msg: 'Extra inputs are not permitted', input: thoughts };
    return { status: 422, json: { detail: [extra] } };
  });
  const messages = [{ role: 'assistant' as const, content: '', reasoning: thoughts, tool_calls: [call] }];
  await client.complete(completionRequest({ messages, stop: ['x'] }), signal);
  const { body } = server.calls.at(-1) ?? {};
  expect(server.calls).toHaveLength(3);
  expect(body).toMatchObject({ max_tokens: 16, temperature: 1, top_logprobs: 20, stop: ['x'] });
});

it.each([
  ['vLLM and SGLang', { finish_reason: 'abort' }],
  ['a gateway', { finish_reason: 'error' }],
  ['DeepSeek', { finish_reason: 'insufficient_system_resource' }],
  ['Z.ai', { finish_reason: 'network_error' }],
  ['OpenRouter', { finish_reason: 'stop', error: { code: 502, message: 'Provider disconnected' } }],
])('asks again when the server broke off its answer, and counts what that cost: %s', async (_name, choice) => {
  const whole = chatReply([{ token: 'all of it' }]);
  const half = { ...whole, choices: [{ message: { content: 'half of' }, ...choice }] };
  const client = await clientOf((_body, index) => ({ json: index === 0 ? half : whole }));
  expect(await client.complete(completionRequest(), signal)).toMatchObject({
    text: 'all of it',
    usage: { input_tokens: 200, cached_input_tokens: 128, output_tokens: 2 },
    answer_usage: { input_tokens: 100, cached_input_tokens: 64, output_tokens: 1 },
  });
  expect(server.calls).toHaveLength(2);
});

it('does not take what a broken-off answer cost for the usage of an answer without any', async () => {
  const whole = chatReply([{ token: 'all of it' }]);
  const half = { ...whole, choices: [{ message: { content: 'half of' }, finish_reason: 'abort' }] };
  const client = await clientOf((_body, index) => ({ json: index < 2 ? half : { ...whole, usage: null } }));
  expect(await client.complete(completionRequest(), signal)).toMatchObject({
    usage: { input_tokens: 200, cached_input_tokens: 128, output_tokens: 2 },
    answer_usage: null,
  });
});

it('says how the server broke off all its answers', async () => {
  const choices = [{ message: { content: 'half of' }, finish_reason: 'abort' }];
  const client = await clientOf(() => ({ json: { choices } }), { maxRetries: 0 });
  await expect(client.complete(completionRequest(), signal)).rejects.toThrow('it broke off its answer: "abort"');
});

describe('a model that refuses parameters', () => {
  const OPENAI = (name: string, more = ''): string =>
    `Unsupported parameter: '${name}' is not supported with this model.${more}`;
  const REFUSALS: Readonly<Record<string, string>> = {
    max_tokens: OPENAI('max_tokens', " Use 'max_completion_tokens' instead."),
    temperature:
      "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) is supported.",
    logprobs: 'deepseek-reasoner does not support logprobs or top_logprobs',
    stop: OPENAI('stop'),
  };
  const picky: AnswerChat = ({ model, ...body }) => {
    const refused = Object.keys(REFUSALS).find((name) => name in body);
    if (refused === undefined || model !== 'picky') return { json: chatReply([{ token: 'ok' }]) };
    return { status: 400, json: { error: { message: REFUSALS[refused] } } };
  };
  const request = (model: string): CompletionRequest => completionRequest({ model, temperature: 0.7, stop: ['x'] });

  it('is asked without them, found out once and remembered', async () => {
    const client = await clientOf(picky);
    expect(await client.complete(request('picky'), signal)).toMatchObject({ text: 'ok' });
    expect(server.calls).toHaveLength(6);
    await client.complete(request('picky'), signal);
    expect(server.calls).toHaveLength(7);
    const { body } = server.calls[6] ?? {};
    expect(body).toMatchObject({ max_completion_tokens: 16 });
    for (const name of Object.keys(REFUSALS)) expect(body).not.toHaveProperty(name);
    await client.complete(request('another'), signal);
    expect(server.calls[7]?.body).toMatchObject({ max_tokens: 16, temperature: 0.7, logprobs: true, stop: ['x'] });
  });

  it.each([
    ['Azure', "Invalid value for 'top_logprobs': must be less than or equal to 5."],
    ['vLLM', 'Requested sample logprobs of 20, which is greater than max allowed: 5'],
    ['TGI', 'Input validation error: `top_n_tokens` must be >= 0 and <= 5. Given: 20'],
  ])('is asked for five alternatives where it allows no more: %s', async (_name, message) => {
    const client = await clientOf(({ top_logprobs: most }) =>
      Number(most) > 5 ? { status: 422, json: { error: { message } } } : { json: chatReply([{ token: 'ok' }]) },
    );
    for (const sample of [0, 1]) await client.complete(completionRequest({ sample }), signal);
    expect(server.calls.map(({ body }) => body.top_logprobs)).toEqual([20, 5, 5]);
  });

  it.each([
    ['Azure', "Invalid value for 'top_logprobs': must be less than or equal to 0.", [20, 5, undefined]],
    ['Gemini', 'Logprobs is not enabled for models/gemini-2.5-pro', [20, undefined]],
    ['Gemini', 'Invalid JSON payload received. Unknown name "logprobs": Cannot find field.', [20, undefined]],
  ])('is asked for no log-probabilities where it gives none: %s', async (_name, message, expected) => {
    const client = await clientOf(({ logprobs }) =>
      logprobs === true ? { status: 400, json: { error: { message } } } : { json: chatReply([{ token: 'ok' }]) },
    );
    expect(await client.complete(completionRequest(), signal)).toMatchObject({ text: 'ok' });
    expect(server.calls.map(({ body }) => body.top_logprobs)).toEqual(expected);
  });

  it('is asked for log-probabilities although a call without them was refused in such words', async () => {
    const message = "Invalid message: 'a thought about top_logprobs'";
    const client = await clientOf((_body, index) =>
      index === 0 ? { status: 400, json: { error: { message } } } : { json: chatReply([{ token: 'ok' }]) },
    );
    const plain = request('m');
    delete (plain as { topLogprobs?: number }).topLogprobs;
    await expect(client.complete(plain, signal)).rejects.toThrow(message);
    await client.complete(request('m'), signal);
    expect(server.calls[1]?.body).toMatchObject({ top_logprobs: 20 });
  });

  it('and names one as such is asked without that one', async () => {
    const error = { message: "'stop' is not supported; max_tokens is", param: 'stop' };
    const client = await clientOf(({ stop }) =>
      stop === undefined ? { json: chatReply([{ token: 'ok' }]) } : { status: 400, json: { error } },
    );
    await client.complete(request('m'), signal);
    expect(server.calls.map(({ body }) => body.max_tokens)).toEqual([16, 16]);
  });

  it('is found out by calls that are under way at once', async () => {
    const client = await clientOf(picky);
    const all = await Promise.all(Array.from({ length: 4 }, () => client.complete(request('picky'), signal)));
    expect(all.map(({ text }) => text)).toEqual(['ok', 'ok', 'ok', 'ok']);
  });

  it('and goes on refusing fails, as does one that refuses something else', async () => {
    for (const message of [OPENAI('stop'), OPENAI('seed'), 'max_tokens must be at least 1']) {
      const client = await clientOf(() => ({ status: 400, json: { error: { message } } }));
      await expect(client.complete(request('m'), signal)).rejects.toThrow(message);
      expect(server.calls).toHaveLength(message === OPENAI('stop') ? 2 : 1);
      await server.close();
    }
    await clientOf(picky);
  });
});

it('an answer that ended within its thoughts is an answer that says nothing, however it is told', async () => {
  const message = 'Could not finish the message because max_tokens or model output limit was reached.';
  const client = await clientOf(() => ({ status: 400, json: { error: { message } } }));
  expect(await client.complete(withTools, signal)).toMatchObject({ text: '', finish_reason: 'length', logprobs: null });
});

describe('an answer that used all its tokens', () => {
  const call = {
    id: 'a',
    type: 'function',
    function: { name: 'execute_bash', arguments: '{"command": "rm -rf calc"}' },
  };
  const ended = async (finish_reason: string, completion_tokens: number, tool_calls: object[] = [call]) => {
    const usage = { prompt_tokens: 5, completion_tokens };
    const client = await clientOf(() => ({ json: { choices: [{ message: { tool_calls }, finish_reason }], usage } }));
    return (await client.complete(completionRequest({ maxTokens: 64 }), signal)).finish_reason;
  };

  it.each([
    ['tool_calls', 64],
    ['stop', 64],
    ['max_tokens', 64],
    ['MAX_TOKENS', 20],
    ['model_length', 20],
  ])('is one that was cut off within its call, whatever it is said to be: %s', async (finish_reason, tokens) => {
    expect(await ended(finish_reason, tokens)).toBe('length');
  });

  it('is not one with fewer tokens, with thoughts that do not count, or without a call', async () => {
    expect(await ended('tool_calls', 63)).toBe('tool_calls');
    expect(await ended('tool_calls', 900)).toBe('tool_calls');
    expect(await ended('stop', 64, [])).toBe('stop');
  });
});

describe('counts of tokens that cannot be right', () => {
  const counts = [2 ** 53 - 1, 2 ** 53, 1e308, 1e9, -1, 0.5, '100', [], {}, true, '1e308'];
  const counted = async (usage: unknown) => {
    const client = await clientOf(() => ({ json: { ...chatReply([{ token: 'A' }]), usage } }));
    return client.complete(completionRequest(), signal);
  };

  it.each(counts)('are not counted: %j', async (count) => {
    const sound = { prompt_tokens: 10, completion_tokens: 2 };
    expect(await counted({ ...sound, prompt_tokens: count })).toMatchObject({ text: 'A', usage: null });
    await server.close();
    expect(await counted({ ...sound, completion_tokens: count })).toMatchObject({ text: 'A', usage: null });
    await server.close();
    const cached = await counted({ ...sound, prompt_tokens_details: { cached_tokens: count } });
    expect(cached.usage).toEqual({ input_tokens: 10, cached_input_tokens: 0, output_tokens: 2 });
  });

  it('are never more from the cache than altogether, so that no call costs less than nothing', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 50_000_000 } };
    expect((await counted(usage)).usage).toEqual({ input_tokens: 10, cached_input_tokens: 10, output_tokens: 2 });
  });
});
