import { gzipSync } from 'node:zlib';
import { OpenAiLlmClient, type OpenAiOptions } from '../../../src/models/openai/client.js';
import { ModelUnavailableError } from '../../../src/core/errors/unavailable.js';
import { chatReply, judgementReply } from '../../fakes/chat-reply.js';
import { completionRequest } from '../../fakes/completions.js';
import { type AnswerChat, ModelServer, type ScriptedAnswer } from '../../fakes/model-server.js';

const KEY = 'sk-very-secret-0123456789';
const OK: ScriptedAnswer = { json: judgementReply(0.9) };
const { signal } = new AbortController();

let server: ModelServer;
let waits: number[];
afterEach(() => server.close());

async function clientOf(answer: AnswerChat, options: Partial<OpenAiOptions> = {}): Promise<OpenAiLlmClient> {
  server = await ModelServer.start(answer);
  waits = [];
  return new OpenAiLlmClient({
    baseUrl: server.baseUrl,
    apiKey: KEY,
    concurrency: 4,
    timeoutS: 5,
    maxRetries: 3,
    random: () => 0.5,
    pause: async (ms) => {
      waits.push(ms);
    },
    ...options,
  });
}

const thenOk =
  (first: ScriptedAnswer): AnswerChat =>
  (_body, index) =>
    index === 0 ? first : OK;

async function failure(client: OpenAiLlmClient): Promise<ModelUnavailableError> {
  const error: unknown = await client.complete(completionRequest(), signal).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ModelUnavailableError);
  return error as ModelUnavailableError;
}

it('sends what was asked, and the key as a bearer token', async () => {
  const client = await clientOf(() => OK);
  await client.complete(completionRequest(), signal);
  const [call] = server.calls;
  expect(call?.body).toEqual({
    model: 'judge',
    messages: completionRequest().messages,
    temperature: 1,
    max_tokens: 16,
    logprobs: true,
    top_logprobs: 20,
  });
  expect(call?.headers.authorization).toBe(`Bearer ${KEY}`);
});

it('sends no Authorization without a key and asks for no log-probabilities unless told', async () => {
  const client = await clientOf(() => OK, { apiKey: undefined });
  const plain = completionRequest();
  delete (plain as { topLogprobs?: number }).topLogprobs;
  await client.complete(plain, signal);
  expect(server.calls[0]?.headers).not.toHaveProperty('authorization');
  expect(server.calls[0]?.body).not.toHaveProperty('logprobs');
});

describe('passing failures are tried again', () => {
  it.each<[string, ScriptedAnswer]>([
    ['500', { status: 500, json: { error: { message: 'boom' } } }],
    ['503 from a proxy', { status: 503, text: '<html>Service Unavailable</html>' }],
    ['408', { status: 408, json: {} }],
    ['409', { status: 409, json: {} }],
    ['429', { status: 429, json: {} }],
    ['a gateway page with status 200', { text: '<html>please wait</html>' }],
    ['truncated JSON', { truncated: judgementReply(0.9) }],
    ['an empty body', { text: '', headers: { 'content-type': 'application/json' } }],
    ['a reply without choices', { json: { error: { message: 'upstream failed' } } }],
    ['a reset before the headers', { reset: 'before-headers' }],
    ['a reset in the body', { reset: 'in-body' }],
  ])('%s', async (_name, first) => {
    const client = await clientOf(thenOk(first));
    const { text } = await client.complete(completionRequest(), signal);
    expect(text).toBe('<judgement>YES</judgement>');
    expect(server.calls).toHaveLength(2);
    expect(waits).toEqual([250]);
  });

  it.each(['before-headers', 'in-body'] as const)('a server that hangs %s, after the time-out', async (hang) => {
    const client = await clientOf(thenOk({ hang }), { timeoutS: 0.3 });
    await client.complete(completionRequest(), signal);
    expect(server.calls.map(({ abandoned }) => abandoned)).toEqual([true, false]);
  });

  it('nobody listens', async () => {
    const client = await clientOf(() => OK);
    await server.close();
    const error = await failure(client);
    expect(error.message).toMatch(/ECONNREFUSED.*4 attempts/);
  });

  it('a server that answered before and went away, for longer', async () => {
    const client = await clientOf(() => OK, { patienceMs: 20_000 });
    await client.complete(completionRequest(), signal);
    const port = Number(new URL(server.baseUrl).port);
    await server.close();
    const error = await failure(client);
    expect(error.message).toMatch(/ECONNREFUSED.*8 attempts/);
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 15_000]);
    const again = client.complete({ ...completionRequest(), sample: 1 }, signal);
    await server.reopen(port);
    expect((await again).text).toBeTruthy();
  });

  it.each([
    [429, {}, 5],
    [529, {}, 5],
    [429, { error: { code: 'insufficient_quota', message: 'Add money.' } }, 3],
  ])('a server that answered before and has too many calls, for longer: %d %j', async (status, json, tries) => {
    const answer: AnswerChat = (_body, index) => (index === 0 ? OK : { status, json });
    const client = await clientOf(answer, { patienceMs: 7_000 });
    await client.complete(completionRequest(), signal);
    await failure(client);
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000].slice(0, tries));
  });

  it('a server that has too many calls and allows the next at once, ever less often', async () => {
    const busy: ScriptedAnswer = { status: 429, headers: { 'retry-after': '0' }, json: {} };
    const client = await clientOf((_body, index) => (index === 0 ? OK : busy), { patienceMs: 6_000 });
    await client.complete(completionRequest(), signal);
    await failure(client);
    expect(waits).toEqual([250, 250, 250, 2_000, 4_000]);
  });

  it('a server that went away, no longer for failing slowly', async () => {
    const answer: AnswerChat = async (_body, index) => {
      if (index === 0 || index > 4) return OK;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { status: 504, json: {} };
    };
    const client = await clientOf(answer, { maxRetries: 0, patienceMs: 50, random: () => 0 });
    await client.complete(completionRequest(), signal);
    await failure(client);
    expect(server.calls).toHaveLength(2);
  });

  it('a server that answers with an error, for no longer', async () => {
    const answer: AnswerChat = (_body, index) => (index === 0 ? OK : { status: 500, json: {} });
    const client = await clientOf(answer, { patienceMs: 20_000 });
    await client.complete(completionRequest(), signal);
    await failure(client);
    expect(waits).toEqual([250, 500, 1_000]);
  });

  it('with exponential back-off, at most maxRetries times, and the last words of the server', async () => {
    const client = await clientOf(() => ({ status: 500, json: { error: { message: 'out of memory' } } }));
    const error = await failure(client);
    expect(error).toMatchObject({ refused: false });
    expect(error.message).toContain('500 out of memory');
    expect(error.message).toContain(new URL(server.baseUrl).host);
    expect(waits).toEqual([250, 500, 1000]);
    expect(server.calls).toHaveLength(4);
  });

  it.each<[string, Record<string, string>, number]>([
    ['Retry-After in seconds', { 'retry-after': '7' }, 7250],
    ['retry-after-ms', { 'retry-after-ms': '40' }, 290],
    ['an hour, bounded', { 'retry-after': '3600' }, 120_250],
    ['a date in the past', { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 250],
    ['nonsense, as if absent', { 'retry-after': 'soon' }, 250],
  ])('not before the server allows: %s', async (_name, headers, expected) => {
    const client = await clientOf(thenOk({ status: 429, headers, json: {} }));
    await client.complete(completionRequest(), signal);
    expect(waits).toEqual([expected]);
  });
});

describe('final failures', () => {
  it.each([400, 401, 403, 404, 422])('%d is not tried again and carries the server’s words', async (status) => {
    const client = await clientOf(() => ({ status, json: { error: { message: 'no such thing' } } }));
    const error = await failure(client);
    expect(error.message).toContain(`${status} no such thing`);
    expect(error).toMatchObject({ exitCode: 3, refused: status === 400 || status === 422 });
    expect(error.next).toContain('OPENAI_API_KEY');
    expect(server.calls).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ['SGLang', { object: 'error', message: 'context too long', code: 400 }],
    ['FastAPI', { detail: 'context too long' }],
  ])('the words are found where %s puts them', async (_name, json) => {
    const client = await clientOf(() => ({ status: 400, json }));
    expect((await failure(client)).message).toContain('context too long');
  });

  it('goes nowhere else when the server says so', async () => {
    const elsewhere = await ModelServer.start(() => OK);
    const client = await clientOf(() => ({ status: 307, headers: { location: `${elsewhere.baseUrl}/x` }, json: {} }));
    const error = await failure(client);
    expect(error.message).toContain(`307 it redirects to ${elsewhere.baseUrl}/x`);
    expect([server.calls.length, elsewhere.calls.length]).toEqual([1, 0]);
    await elsewhere.close();
  });

  it('reads no more of a packed answer than of a plain one', async () => {
    const packed = gzipSync(Buffer.alloc(80 * 1024 * 1024, ' '));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const client = await clientOf(() => ({ headers, text: packed }), { maxRetries: 0, timeoutS: 60 });
    expect((await failure(client)).message).toContain('its answer has more text than');
  });

  it('never shows the key, even when the server echoes it', async () => {
    const client = await clientOf(() => ({
      status: 401,
      json: { error: { message: `bad key ${KEY}, retry ${KEY}` } },
    }));
    const error = await failure(client);
    expect(error.message).toContain('401 bad key [hidden]');
    expect(JSON.stringify([error.message, error.stack, error.cause ?? null, error])).not.toContain(KEY);
  });
});

describe('abort', () => {
  it('closes the connection at once and throws the reason', async () => {
    const stop = new AbortController();
    const client = await clientOf(() => {
      setTimeout(() => {
        stop.abort(new Error('enough'));
      }, 50);
      return { hang: 'in-body' };
    });
    await expect(client.complete(completionRequest(), stop.signal)).rejects.toThrow('enough');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.calls.map(({ abandoned }) => abandoned)).toEqual([true]);
  });

  it('ends a back-off', async () => {
    const stop = new AbortController();
    const { pause } = await import('../../../src/core/async/time.js');
    const client = await clientOf(() => ({ status: 429, headers: { 'retry-after': '60' }, json: {} }), { pause });
    setTimeout(() => {
      stop.abort(new Error('enough'));
    }, 100);
    await expect(client.complete(completionRequest(), stop.signal)).rejects.toThrow('enough');
    expect(server.calls).toHaveLength(1);
  });

  it('frees a call that waits for its turn', async () => {
    const stop = new AbortController();
    const first = new AbortController();
    const client = await clientOf(() => ({ hang: 'before-headers' }), { concurrency: 1 });
    const running = client.complete(completionRequest(), first.signal).catch(() => 'stopped');
    const waiting = client.complete(completionRequest(), stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    first.abort();
    await expect(running).resolves.toBe('stopped');
  });
});

it('keeps to its concurrency, and a call that waits to try again does not count', async () => {
  const client = await clientOf(
    async (_body, index) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return index < 2 ? { status: 500, json: {} } : OK;
    },
    { concurrency: 2, pause: () => new Promise((resolve) => setTimeout(resolve, 300)) },
  );
  let done = 0;
  const calls = Array.from({ length: 7 }, async () => {
    await client.complete(completionRequest(), signal);
    return (done += 1);
  });
  const order = await Promise.all(calls);
  expect(server.peak).toBe(2);
  expect(order.slice(0, 2).toSorted()).toEqual([6, 7]);
});

it('keeps tokens whose number is missing and drops such alternatives', async () => {
  const reply = chatReply([{ token: 'A' }]);
  const content = [
    { token: 'A', logprob: null, top_logprobs: [null, { token: 'B', logprob: null }, { token: 'C', logprob: -1 }] },
    { token: 'D', logprob: -0.5, top_logprobs: null },
  ];
  const choices = [{ message: { content: null, reasoning_content: 'hm' }, finish_reason: null, logprobs: { content } }];
  const client = await clientOf(() => ({ json: { ...reply, choices, usage: { prompt_tokens: 'many' } } }));
  expect(await client.complete(completionRequest(), signal)).toEqual({
    text: '',
    reasoning: 'hm',
    tool_calls: [],
    logprobs: [
      { token: 'A', logprob: -9999, top: [{ token: 'C', logprob: -1 }] },
      { token: 'D', logprob: -0.5, top: [] },
    ],
    finish_reason: 'unknown',
    usage: null,
    model: 'judge',
  });
});

it.each([
  ['none where it lists no token of a text', 'YES', null],
  ['an empty list where there is no text', '', []],
])('takes log-probabilities to be %s', async (_what, content, logprobs) => {
  const choices = [{ message: { content }, finish_reason: 'stop', logprobs: { content: [] } }];
  const client = await clientOf(() => ({ json: { ...chatReply([]), choices } }));
  expect(await client.complete(completionRequest(), signal)).toMatchObject({ text: content, logprobs });
});

it('asks whether a call may be sent when its turn has come, and sends none that is stopped meanwhile', async () => {
  const stop = new AbortController();
  let asked = 0;
  const mayAsk = async (): Promise<void> => {
    asked += 1;
    stop.abort(new Error('taken over'));
    stop.signal.throwIfAborted();
  };
  const client = await clientOf(() => OK, { mayAsk });
  await expect(client.complete(completionRequest(), stop.signal)).rejects.toThrow('taken over');
  expect(asked).toBe(1);
  expect(server.calls).toHaveLength(0);
});
