import { appendFile, chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { recordingLine, RecordingLlmClient, ReplayLlmClient } from '../../../src/models/recording.js';
import { BadInputError } from '../../../src/core/errors/errors.js';
import { ModelUnavailableError, RecordingMissError } from '../../../src/core/errors/unavailable.js';
import { completionRequest, judgementCompletion } from '../../fakes/completions.js';
import { FakeLlmClient } from '../../fakes/fake-llm-client.js';

const { signal } = new AbortController();
const requests = Array.from({ length: 20 }, (_, sample) => completionRequest({ sample }));
const answers = new FakeLlmClient(({ sample }) => judgementCompletion(sample / 20));

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-recording-'));
  file = join(folder, 'calls.jsonl');
});
afterEach(() => rm(folder, { recursive: true }));

const lines = async (): Promise<string[]> => (await readFile(file, 'utf8')).split('\n').slice(0, -1);
const replay = (request = requests[0] ?? completionRequest()): Promise<unknown> =>
  new ReplayLlmClient(file).complete(request, signal);

it('replays what concurrent calls recorded, one whole line a call', async () => {
  const recorder = new RecordingLlmClient(answers, file);
  await Promise.all(requests.map((request) => recorder.complete(request, signal)));
  expect((await lines()).map((line) => JSON.parse(line) as object)).toHaveLength(20);
  const player = new ReplayLlmClient(file);
  for (const request of requests) {
    expect(await player.complete(request, signal)).toEqual(judgementCompletion(request.sample / 20));
  }
});

it.each([0o022, 0o000])('records into a file for its user alone, under the umask %o', async (umask) => {
  const before = process.umask(umask);
  try {
    await new RecordingLlmClient(answers, file).complete(completionRequest(), signal);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    await chmod(file, 0o644);
    await new RecordingLlmClient(answers, file).complete(completionRequest(), signal);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await lines()).toHaveLength(1);
  } finally {
    process.umask(before);
  }
});

it('writes the agreed members', async () => {
  await new RecordingLlmClient(answers, file).complete(completionRequest(), signal);
  const [line = ''] = await lines();
  expect(JSON.parse(line)).toEqual({
    key: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    request: {
      model: 'judge',
      messages: completionRequest().messages,
      temperature: 1,
      max_tokens: 16,
      top_logprobs: 20,
      sample: 0,
      purpose: 'judge',
    },
    completion: judgementCompletion(0),
  });
});

it('finds an answer whoever asks, and misses every other call', async () => {
  await writeFile(file, recordingLine(completionRequest(), judgementCompletion(0.3)));
  await expect(replay(completionRequest({ purpose: 'someone-else' }))).resolves.toEqual(judgementCompletion(0.3));
  const others = [
    { sample: 1 },
    { model: 'x' },
    { temperature: 0 },
    { maxTokens: 17 },
    { topLogprobs: 5 },
    { messages: [] },
  ];
  for (const other of others) {
    await expect(replay(completionRequest(other))).rejects.toBeInstanceOf(RecordingMissError);
  }
});

it('does not record a call again, in the same client or a later one', async () => {
  const first = new RecordingLlmClient(answers, file);
  await Promise.all([first.complete(completionRequest(), signal), first.complete(completionRequest(), signal)]);
  await new RecordingLlmClient(answers, file).complete(completionRequest(), signal);
  expect(await lines()).toHaveLength(1);
});

it('goes on in a file whose last line has no end', async () => {
  await writeFile(file, recordingLine(completionRequest({ sample: 7 }), judgementCompletion(0.7)).trimEnd());
  await new RecordingLlmClient(answers, file).complete(completionRequest(), signal);
  expect(await lines()).toHaveLength(2);
  await expect(replay(completionRequest({ sample: 7 }))).resolves.toEqual(judgementCompletion(0.7));
});

it('knows no answer that the server broke off, and records the whole one', async () => {
  await writeFile(file, recordingLine(completionRequest(), { ...judgementCompletion(0.2), finish_reason: 'abort' }));
  await expect(replay()).rejects.toBeInstanceOf(RecordingMissError);
  await new RecordingLlmClient(answers, file).complete(completionRequest(), signal);
  await expect(replay()).resolves.toEqual(judgementCompletion(0));
});

it('records nothing for a call that failed', async () => {
  const failing = new FakeLlmClient([new ModelUnavailableError('gone')]);
  await expect(new RecordingLlmClient(failing, file).complete(completionRequest(), signal)).rejects.toThrow('gone');
  expect(await readFile(file, 'utf8')).toBe('');
});

describe('a bad recording is bad input', () => {
  const good = recordingLine(completionRequest(), judgementCompletion(0.5));
  const tampered = good.replace('Is it right?', 'Is it wrong?');
  it.each([
    ['a torn line', `${good}${good.slice(0, 80)}`, /line 2: is not JSON/],
    ['a wrong member', good.replace('"text":', '"txt":'), /line 1, field "completion.text"/],
    ['a key of another request', `${good}\n${tampered}`, /line 3, field "key"/],
  ])('%s', async (_name, text, place) => {
    await writeFile(file, text);
    const error: unknown = await replay().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(BadInputError);
    expect((error as BadInputError).message).toMatch(place);
    expect((error as BadInputError).place.file).toBe(file);
  });

  it('a file that is not there', async () => {
    await expect(replay()).rejects.toThrow(/calls\.jsonl: cannot be read \(ENOENT/);
  });

  it('is found before a model is asked', async () => {
    await appendFile(file, 'damaged');
    const inner = new FakeLlmClient([]);
    await expect(new RecordingLlmClient(inner, file).complete(completionRequest(), signal)).rejects.toThrow('line 1');
    const elsewhere = new RecordingLlmClient(inner, join(folder, 'missing', 'calls.jsonl'));
    await expect(elsewhere.complete(completionRequest(), signal)).rejects.toThrow(/cannot be written \(ENOENT/);
    expect(inner.requests).toHaveLength(0);
  });
});
