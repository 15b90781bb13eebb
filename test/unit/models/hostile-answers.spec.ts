import type { AddressInfo } from 'node:net';
import { EventEmitter, once } from 'node:events';
import { ModelUnavailableError } from '../../../src/core/errors/unavailable.js';
import { OpenAiLlmClient } from '../../../src/models/openai/client.js';
import { chatReply } from '../../fakes/chat-reply.js';
import { completionRequest } from '../../fakes/completions.js';
import { HOSTILE_ANSWERS, hostileServer } from '../../fixtures/hostile-answers.js';
import { clientOf, server } from './served-client.js';

const { signal } = new AbortController();
const MIB = 2 ** 20;
/** What an answer to sixteen tokens may have, and what fills the buffers of two sockets. */
const MOST_SENT = 16 * MIB;

describe('answers larger than a request can have', () => {
  const sent = new EventEmitter();
  const hostile = hostileServer((index, bytes) => sent.emit(String(index), bytes));
  beforeAll(() => once(hostile.listen(0, '127.0.0.1'), 'listening'));
  afterAll(() => {
    hostile.closeAllConnections();
    hostile.close();
  });

  it.each(HOSTILE_ANSWERS.map((answer, index) => [answer.name, answer, index] as const))(
    'are refused while they arrive: %s',
    async (_name, { packed, size }, index) => {
      const baseUrl = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}/${index}/v1`;
      const client = new OpenAiLlmClient({ baseUrl, concurrency: 1, timeoutS: 120, maxRetries: 0 });
      const hungUp = once(sent, String(index));
      const refusal = await client.complete(completionRequest(), signal).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(ModelUnavailableError);
      expect((refusal as Error).message.length).toBeLessThan(1_000);
      const [bytes] = (await hungUp) as [number];
      if (packed === undefined && size === undefined) expect(bytes).toBeLessThan(MOST_SENT);
    },
  );
});

describe('an answer as large as an honest one can be', () => {
  const tokens = 1_500;
  const bytes = Array.from(Buffer.from(' function'));
  const top_logprobs = Array.from({ length: 20 }, (_, at) => ({
    token: at === 0 ? 'a' : ` function${at}`,
    logprob: -12.345678901234567,
    bytes,
  }));
  const content = Array.from({ length: tokens }, () => ({ token: 'a', logprob: -0.1, bytes, top_logprobs }));

  it('is read whole with all its log-probabilities', async () => {
    const choices = [{ message: { content: 'a'.repeat(tokens) }, finish_reason: 'length', logprobs: { content } }];
    const client = await clientOf(() => ({ json: { choices } }));
    const { logprobs, text } = await client.complete(completionRequest({ maxTokens: tokens }), signal);
    expect(text).toHaveLength(tokens);
    expect(logprobs).toHaveLength(tokens);
    expect(logprobs?.at(-1)?.top).toHaveLength(20);
  });

  it('may be behind blanks that keep the connection open', async () => {
    const text = ' \n'.repeat(100_000) + JSON.stringify(chatReply([{ token: 'ok' }]));
    const client = await clientOf(() => ({ text, headers: { 'content-type': 'application/json' } }));
    expect((await client.complete(completionRequest(), signal)).text).toBe('ok');
  });

  it('keeps the first of thousands of calls that a model repeats', async () => {
    const call = { id: 'a', type: 'function', function: { name: 'finish', arguments: '{}' } };
    const message = { content: '', tool_calls: Array.from({ length: 2_000 }, () => call) };
    const client = await clientOf(() => ({ json: { choices: [{ message, finish_reason: 'tool_calls' }] } }));
    const { tool_calls } = await client.complete(completionRequest({ maxTokens: 20_000 }), signal);
    expect([tool_calls.length, tool_calls[0]?.name]).toEqual([100, 'finish']);
  });
});

it.each([
  ['in another choice', '"choices":[{"message":{"content":"a"}},{"logprobs":{"content":[{"token":"b","logprob":0}]}}]'],
  ['elsewhere', '"usage":{"logprobs":{"content":[{"token":"b","logprob":0}]}},"choices":[{"message":{"content":"a"}}]'],
  ['in a text', String.raw`"choices":[{"message":{"content":"a","x":"\"logprobs\":{\"content\":[{"}}]`],
])('takes only the log-probabilities of its own answer: %s', async (_name, members) => {
  const client = await clientOf(() => ({ text: `{${members}}`, headers: { 'content-type': 'application/json' } }));
  expect(await client.complete(completionRequest(), signal)).toMatchObject({ text: 'a', logprobs: null });
  expect(server.calls).toHaveLength(1);
});

it('reads log-probabilities before the message, in any spacing', async () => {
  const text = `{ "choices" : [ { "logprobs" : { "content" : [ { "token" : "],[" , "logprob" : -1 } , { "token" : "b" , "logprob" : null } ] } ,
    "message" : { "content" : "a" } } ] }`;
  const client = await clientOf(() => ({ text, headers: { 'content-type': 'application/json' } }));
  const { logprobs } = await client.complete(completionRequest(), signal);
  expect(logprobs?.map(({ token, logprob }) => [token, logprob])).toEqual([
    ['],[', -1],
    ['b', -9999],
  ]);
});

it('refuses headers of any size', async () => {
  const client = await clientOf(() => ({ headers: { 'x-long': 'x'.repeat(200_000) }, json: {} }), { maxRetries: 0 });
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ModelUnavailableError);
});
