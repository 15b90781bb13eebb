import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenAiLlmClient } from '../../../src/models/openai/client.js';
import { RecordingLlmClient } from '../../../src/models/recording/clients.js';
import { ReplayLlmClient } from '../../../src/models/recording/clients.js';
import { ContextTooLongError, ModelUnavailableError } from '../../../src/core/errors/unavailable.js';
import type { CompletionRequest } from '../../../src/ports/llm-client.js';
import { chatReply } from '../../fakes/chat-reply.js';
import { completionRequest } from '../../fakes/completions.js';
import { type AnswerChat, ModelServer } from '../../fakes/model-server.js';

const { signal } = new AbortController();
let server: ModelServer;
afterEach(() => server.close());

async function clientOf(answer: AnswerChat): Promise<OpenAiLlmClient> {
  server = await ModelServer.start(answer);
  return new OpenAiLlmClient({ baseUrl: server.baseUrl, concurrency: 4, timeoutS: 5, maxRetries: 2 });
}

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

it.each([
  ['OpenAI', { error: { code: 'context_length_exceeded', message: "This model's maximum context length is 8192" } }],
  ['vLLM', { message: "This model's maximum context length is 32768 tokens. However, you requested 40000 tokens" }],
  ['SGLang', { message: "The input (70000 tokens) is longer than the model's context length (65536 tokens)." }],
  ['TGI', { error: '`inputs` must have less than 4095 tokens. Given: 5000' }],
  ['llama.cpp', { error: { message: 'the request exceeds the available context size' } }],
])('tells a prompt that is too long from other refusals, and does not try again: %s', async (_name, json) => {
  const client = await clientOf(() => ({ status: 400, json }));
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ContextTooLongError);
  expect(server.calls).toHaveLength(1);
});

it('does not take every refusal for a prompt that is too long', async () => {
  const client = await clientOf(() => ({ status: 400, json: { error: { message: 'unknown field max_length' } } }));
  await expect(client.complete(completionRequest(), signal)).rejects.toBeInstanceOf(ModelUnavailableError);
});

it('replays a call with tools, and keeps it apart from one without', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'bestk-wire-')), 'recording.jsonl');
  const client = await clientOf(() => ({ json: replyOf({ content: '', tool_calls: [{ id: 'x', function: call }] }) }));
  const recorded = await new RecordingLlmClient(client, file).complete(withTools, signal);
  const replay = new ReplayLlmClient(file);
  expect(await replay.complete(withTools, signal)).toEqual(recorded);
  const without = completionRequest({ messages: withTools.messages });
  await expect(replay.complete(without, signal)).rejects.toThrow(/does not hold/);
});
