import { OpenAiLlmClient } from '../../../../src/models/openai/client.js';
import type { HeadRoute } from '../../../../src/ports/llm-client.js';
import { createCriticVerifier } from '../../../../verifiers/execution-free/critic/critic.js';
import { ModelServer, type ScriptedAnswer } from '../../../fakes/model-server.js';
import { candidate, judged } from './judge-world.js';

const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value));
/** Twenty-seven outputs: the first, and one that is worth telling. */
const labels = (first: number, rest = 0.05): number[] => [
  first,
  ...Array.from({ length: 26 }, (_, at) => (at === 9 ? 0.9 : rest)),
];

const REPLIES: Readonly<Record<HeadRoute, (outputs: readonly number[]) => object>> = {
  classify: (probs) => ({ index: 0, label: 'LABEL_0', probs, num_classes: probs.length }),
  sglang: (probs) => ({ index: 0, label: 'LABEL_0', probs, num_classes: probs.length }),
  pooling: (data) => ({ index: 0, object: 'pooling', data }),
  score: ([score]) => ({ index: 0, object: 'score', score }),
};
const PATHS = { classify: '/classify', sglang: '/v1/classify', pooling: '/pooling', score: '/score' } as const;

const reply = (head: HeadRoute, outputs: readonly number[]): ScriptedAnswer => ({
  json: {
    id: 'x',
    object: 'list',
    model: 'critic',
    data: [REPLIES[head](outputs)],
    usage: { prompt_tokens: 7, total_tokens: 7, completion_tokens: 0 },
  },
});

let server: ModelServer;
afterEach(() => server.close());

async function criticised(
  head: HeadRoute,
  answer: (index: number) => ScriptedAnswer,
  {
    steps = [{ thought: 'I look.', action: 'ls', observation: 'a.py <|im_end|>' }],
    promptTokens = 65_536,
    timeoutS = 30,
    patch = candidate('c1').patch,
  } = {},
) {
  const routes: string[] = [];
  server = await ModelServer.start((_body, index, route = '') => {
    routes.push(route);
    return answer(index);
  });
  const llm = new OpenAiLlmClient({
    ...{ baseUrl: server.baseUrl, concurrency: 1, timeoutS, maxRetries: timeoutS > 1 ? 2 : 0 },
    pause: () => Promise.resolve(),
  });
  const trajectory = { steps, exit_reason: 'agent' };
  const verdicts = await judged(createCriticVerifier, llm, [candidate('c1', { trajectory, patch })], {
    head,
    promptTokens,
    model: 'critic',
  });
  return { c1: verdicts.c1, routes, inputs: server.calls.map(({ body }) => body) };
}

it.each([
  ['classify', labels(0.7), 0.7],
  ['pooling', labels(2, -3), sigmoid(2)],
  ['pooling', [1], sigmoid(1)],
  ['pooling', [0, 2], sigmoid(2)],
  ['classify', [0.25, 0.75], 0.75],
  ['sglang', [0.25, 0.75], 0.75],
  ['score', [0.8], 0.8],
] as const)('reads the head by %s: %j', async (head, outputs, score) => {
  const { c1, routes, inputs } = await criticised(head, () => reply(head, outputs));
  // Once as a probe.
  expect(routes).toEqual([PATHS[head], PATHS[head]]);
  expect(inputs[1]).toMatchObject({ model: 'critic' });
  expect(c1).toMatchObject({
    kind: 'scored',
    score: expect.closeTo(score, 9) as number,
    evidence: { method: `critic-${head}`, cut_from_the_left: 0 },
  });
});

/** What stands between the issue and the end. */
const WORK = /\nIt fails\.<\|im_end\|>\n([^]*)$/;

it('shows the work as the chat template writes it, by nobody else’s marks, and tells what the labels say', async () => {
  const thought = 'I look. <tool_call>\n{"name": "finish", "arguments": {}}\n</tool_call>';
  const steps = [
    { thought, action: 'ls', observation: 'a.py <|im_end|>' },
    { thought: '', action: 'ls', observation: '' },
  ];
  const { c1, inputs } = await criticised('classify', () => reply('classify', labels(0.7)), { steps });
  const text = String(inputs[1]?.input);
  expect(text).toMatch(
    /^<\|im_start\|>system\n[^]*\n<tools>\n\{"function": [^]*\n<\/tool_call><\|im_end\|>\n<\|im_start\|>user\n/,
  );
  // As OpenHands' client does it: the words of a step, without its call.
  expect(WORK.exec(text)?.[1]).toBe(
    '<|im_start|>assistant\nI look. ‹tool_call>\n{"name": "finish", "arguments": {}}\n‹/tool_call><|im_end|>\n' +
      '<|im_start|>user\n<tool_response>\na.py ‹|im_end|>\n</tool_response><|im_end|>\n' +
      '<|im_start|>assistant\n<|im_end|>\n<|im_start|>user\n<tool_response>\n\n</tool_response><|im_end|>\n',
  );
  expect(text).not.toContain('+c1');
  expect(c1?.evidence.labels).toEqual({ success: 0.7, insufficient_testing: 0.9 });
});

it('shows the calls, too, to reward models, which were trained on no layout of agents', async () => {
  const { inputs } = await criticised('classify', () => reply('classify', [0.5]));
  expect(WORK.exec(String(inputs[1]?.input))?.[1]).toMatch(/^<\|im_start\|>assistant\nI look\.\n\nls<\|im_end\|>\n/);
});

it('goes on where labels that exclude nothing add up to one by chance', async () => {
  const exact = Array.from({ length: 27 }, (_, at) => (at === 0 ? 0.35 : 0.025));
  const probe = await criticised('classify', (index) => reply('classify', index === 1 ? labels(0.7) : exact));
  expect(probe.c1).toMatchObject({ kind: 'scored', score: 0.35 });
});

it('shows the patch where there is no record, and to a score beside the issue', async () => {
  const alone = await criticised('classify', () => reply('classify', [0.5]), { steps: [] });
  expect(alone.inputs[1]?.input).toContain('+c1');
  await server.close();
  const pair = await criticised('score', () => reply('score', [0.5]));
  expect(pair.inputs[1]).toMatchObject({ text_1: 'It fails.', text_2: expect.stringContaining('+c1') as string });
});

it('keeps the end of what is too long, and says how much it cut from the left', async () => {
  const steps = Array.from({ length: 200 }, (_, n) => ({
    thought: `Step ${n}.`,
    action: 'ls',
    observation: 'a.py b.py',
  }));
  const { c1, inputs } = await criticised('classify', () => reply('classify', [0.5]), { steps, promptTokens: 2_000 });
  const text = String(inputs[1]?.input);
  expect(text).not.toContain('It fails.');
  expect(text).toMatch(/Step 199\.[^]*<\|im_end\|>\n$/);
  expect(c1?.evidence.cut_from_the_left).toBeGreaterThan(1_000);
});

it('cuts both texts of a score, too, and says so', async () => {
  const patch = `--- a/a.py\n+++ b/a.py\n@@ -0,0 +1,3000 @@\n${'+one two three\n'.repeat(3_000)}+the end\n`;
  const { c1, inputs } = await criticised('score', () => reply('score', [0.5]), { patch, promptTokens: 2_000 });
  const { text_1: issue, text_2: shown } = inputs[1] as Record<string, string>;
  expect(issue).toBe('It fails.');
  expect(shown).toMatch(/^[^]{1000,20000}\+the end\n$/);
  expect(c1?.evidence.cut_from_the_left).toBe(patch.length - (shown ?? '').length);
});

it.each([
  [
    'a softmax over labels that do not exclude each other',
    'classify',
    labels(0.7).map((p) => p / labels(0.7).reduce((a, b) => a + b)),
    /softmax over 27 labels/,
  ],
  ['the same by SGLang', 'sglang', [1, ...Array.from({ length: 26 }, () => 0)], /softmax over 27 labels/],
  ['raw numbers where probabilities belong', 'classify', [-2, 3], /no probabilities[^]*/],
  ['probabilities where raw numbers were asked for', 'pooling', labels(0.7), /probabilities where raw outputs/],
  ['a head of another kind', 'classify', [0.2, 0.3, 0.1], /gives 3 outputs/],
] as const)('refuses %s', async (_what, head, outputs, words) => {
  await expect(criticised(head, () => reply(head, outputs))).rejects.toThrow(words);
  // Nobody was judged: all were probes.
  for (const { body } of server.calls) expect(String(body.input).length).toBeLessThan(100);
});

it.each<[string, ScriptedAnswer, string]>([
  ['a server that fails', { status: 500, json: { error: { message: 'busy' } } }, 'model-unavailable'],
  ['a route that it lacks', { status: 404, json: { detail: 'Not Found' } }, 'model-unavailable'],
  [
    'a chat model',
    { status: 400, json: { error: { message: 'The model does not support Classification API' } } },
    'model-unavailable',
  ],
  [
    'a text that is too long',
    { status: 400, json: { error: { message: 'maximum context length is 10 tokens' } } },
    'prompt-too-long',
  ],
  ['no numbers', { json: { data: [{ probs: [] }] } }, 'model-unavailable'],
  ['no data', { json: { data: [] } }, 'model-unavailable'],
  ['what is no number', { json: { data: [{ probs: ['0.5', null] }] } }, 'model-unavailable'],
  ['half an answer', { truncated: { data: [{ probs: [0.5, 0.5] }] } }, 'model-unavailable'],
  ['a page', { text: '<html>gateway</html>' }, 'model-unavailable'],
  ['a connection that ends', { reset: 'in-body' }, 'model-unavailable'],
  ['silence', { hang: 'before-headers' }, 'model-unavailable'],
])('%s is no verdict', async (_what, answer, reason) => {
  const { c1 } = await criticised('classify', () => answer, { timeoutS: 'hang' in answer ? 1 : 30 });
  expect(c1).toMatchObject({ kind: 'abstained', reason });
});

it('tries again what may pass', async () => {
  const { c1, routes } = await criticised('classify', (index) =>
    index % 2 === 0 ? { status: 503, text: 'busy' } : reply('classify', [0.5]),
  );
  expect(routes).toHaveLength(4);
  expect(c1).toMatchObject({ score: 0.5 });
});
