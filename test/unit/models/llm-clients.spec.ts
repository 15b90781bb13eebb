import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OpenAiLlmClient } from '../../../src/models/openai/client.js';
import { recordingLine, RecordingLlmClient, ReplayLlmClient } from '../../../src/models/recording.js';
import { StoredLlmClient } from '../../../src/models/llm-clients.js';
import { InstrumentedLlmClient } from '../../../src/telemetry/instrumented.js';
import { UNMETERED, UNTRACED } from '../../../src/ports/telemetry.js';
import { contractRequest, llmClientContract } from '../../contracts/llm-client.contract.js';
import { judgementReply } from '../../fakes/chat-reply.js';
import { judgementCompletion } from '../../fakes/completions.js';
import { FakeLlmClient } from '../../fakes/fake-llm-client.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { ModelServer } from '../../fakes/model-server.js';

const answering = (): FakeLlmClient => new FakeLlmClient(() => judgementCompletion(0.9));
const nothing = async (): Promise<void> => undefined;

llmClientContract('fake', async () => ({ client: answering(), close: nothing }));

llmClientContract('watched', async () => ({
  client: new InstrumentedLlmClient(answering(), {
    meter: UNMETERED,
    tracer: UNTRACED,
    prices: {},
    serverOf: () => null,
  }),
  close: nothing,
}));
llmClientContract('stored', async () => ({
  client: new StoredLlmClient(answering(), new MemoryResultStore(), () => 'fake'),
  close: nothing,
}));

llmClientContract('OpenAI over HTTP', async () => {
  const server = await ModelServer.start(() => ({ json: judgementReply(0.9) }));
  const client = new OpenAiLlmClient({ baseUrl: server.baseUrl, concurrency: 2, timeoutS: 5, maxRetries: 0 });
  return { client, close: () => server.close() };
});

async function inFolder<T>(open: (file: string) => Promise<T>): Promise<{ client: T; close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'bestk-recording-'));
  const client = await open(join(folder, 'recording.jsonl'));
  return { client, close: () => rm(folder, { recursive: true }) };
}

llmClientContract('recording', () => inFolder(async (file) => new RecordingLlmClient(answering(), file)));

llmClientContract('replay', () =>
  inFolder(async (file) => {
    await writeFile(file, recordingLine(contractRequest, judgementCompletion(0.9)));
    return new ReplayLlmClient(file);
  }),
);
