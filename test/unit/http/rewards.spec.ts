import { type BestkProblem } from '../../../examples/client/bestk-client.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import { patchIn } from '../../../src/http/rewards/reward-bodies.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { EngineUnavailableError } from '../../../src/core/errors/unavailable.js';
import { givenRequest, PATCH, rankedResult } from '../../fixtures/runs.js';
import { serveRuns, type TestServer } from './http-world.js';

const { issue } = givenRequest();
const SAID = `I changed the sign.\n\n\`\`\`diff\n${PATCH}\`\`\`\n`;
const message = (text: string) => ({ output: [{ type: 'message', content: [{ type: 'output_text', text }] }] });

let executor: ScriptedExecutor;
/** Patches of each run. */
let given: string[][];
let server: TestServer;
beforeEach(async () => {
  given = [];
  executor = new ScriptedExecutor(async (run) => {
    given.push((RunRequest.parse(run.request).candidates ?? []).map(({ patch }) => patch));
    return rankedResult(run);
  });
  server = await serveRuns(new MemoryRunStore(), executor);
});
afterEach(() => server.close());

async function refusal(asked: Promise<unknown>): Promise<BestkProblem> {
  return asked.then(
    () => {
      throw new Error('It was answered.');
    },
    (error: unknown) => error as BestkProblem,
  );
}

describe('rewards over HTTP', () => {
  it('answer slime with a bare number, of one run however often it asks', async () => {
    const body = { prompt: 'Fix it', response: SAID, label: JSON.stringify(issue) };
    expect(await server.client.reward(body)).toBe(0.7);
    expect(await server.client.reward({ ...body, label: { issue } })).toBe(0.7);
    expect(executor.started).toHaveLength(1);
    expect(await server.client.reward({ ...body, response: 'I gave up.' })).toBe(0);
  });

  it('are audited under the runs they started, whatever ids the body claims', async () => {
    const claims = { id: 'run_of_another', runs: [{ id: 'x' }] };
    const asked = { responses_create_params: { input: [] }, response: message(SAID), verifier_metadata: issue };
    const { outcome } = await server.client.verify({ ...asked, ...claims });
    expect(server.audited).toMatchObject([{ action: 'reward', runs: [outcome.run_id] }]);
  });

  it('answer OpenRLHF in the order of its queries, with equal issues as one pool', async () => {
    const other = { ...issue, instance_id: 'demo-2' };
    const example = `Answer like this:\n${SAID}`;
    const answer = await server.client.reward({
      query: [`${example}${SAID}`, `${example}nothing`, SAID],
      prompts: [example, example, ''],
      labels: [issue, other, issue],
    });
    expect(answer).toMatchObject({
      rewards: [0.7, 0, 0.7],
      scores: [0.7, 0, 0.7],
      outcomes: [
        { instance_id: 'demo-1', basis: 'hybrid', log_odds: { regression: 1.25 } },
        { instance_id: 'demo-2', basis: 'none', flags: ['empty-patch'] },
        { instance_id: 'demo-1', candidate_id: 'response-2' },
      ],
    });
    expect(executor.started).toHaveLength(2);
    // OpenRLHF asks each of several servers, and most for nothing.
    const nothing = await server.client.reward({ query: [], prompts: [], labels: [] });
    expect(nothing).toEqual({ rewards: [], scores: [], outcomes: [] });
  });

  it('answer a run request with an outcome for each candidate, and refuse one without candidates', async () => {
    const answer = await server.client.reward(givenRequest());
    expect(answer).toMatchObject({ rewards: [0, 0.7], outcomes: [{ candidate_id: 'a' }, { candidate_id: 'b/2 ?#%' }] });
    const { status, problem } = await refusal(server.client.reward({ issue }));
    expect({ status, errors: problem.errors }).toMatchObject({ status: 422, errors: [{ path: 'candidates' }] });
  });

  it('answer NeMo Gym with its own request and the reward, and compare responses to one prompt', async () => {
    const row = { responses_create_params: { input: 'Fix it' }, response: message(SAID), verifier_metadata: { issue } };
    expect(await server.client.verify(row)).toMatchObject({ ...row, reward: 0.7, mask_sample: false });
    const compared = await server.client.compare({
      conversation_history: [{ role: 'user', content: 'Fix it' }],
      response_objs: [message(SAID), message('nothing')],
      principle: JSON.stringify(issue),
    });
    expect(compared).toMatchObject({
      rewards: [0.7, 0],
      comparison_results: [
        { response_i: 0, response_j: 1, score_1: 0.7, score_2: 0 },
        { response_i: 1, response_j: 0, score_1: 0, score_2: 0.7 },
      ],
      metrics: { mean_reward: 0.35 },
    });
  });

  it("read the assistant's messages alone of what NeMo Gym's agent sends, and return its tokens", async () => {
    expect(await server.client.seedSession({ responses_create_params: {}, verifier_metadata: { issue } })).toEqual({});
    const ids = Array.from({ length: 5_000 }, (_, index) => index + 1);
    const tokens = { prompt_token_ids: ids, generation_token_ids: ids, generation_log_probs: ids.map((id) => -id / 7) };
    const text = `\`\`\`diff\n${PATCH.replace('ü', 'draft')}\`\`\`\n`;
    const output = [
      { type: 'reasoning', content: [{ type: 'reasoning_text', text }], ...tokens },
      { type: 'message', role: 'user', content: text },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: PATCH }], ...tokens },
      { type: 'function_call_output', output: text, content: text },
    ];
    const row = { responses_create_params: { input: 'Fix it' }, response: { output }, verifier_metadata: { issue } };
    expect(await server.client.verify(row)).toMatchObject({ ...row, reward: 0.7 });
    const body = { conversation_history: [], response_objs: [{ output }, { output }], principle: { issue } };
    expect(await server.client.compare(body)).toMatchObject({ rewards: [0.7, 0.7] });
    expect(given).toEqual([[PATCH], [PATCH, PATCH]]);
  });

  it.each([
    ['values other than tokens', { verifier_metadata: { issue, tests: Array.from({ length: 20_000 }, () => []) } }],
    [
      'tokens',
      { response: { output: [{ type: 'message', prompt_token_ids: Array.from({ length: 500_000 }, () => 1) }] } },
    ],
  ])('refuse too many %s', async (_, some) => {
    const row = { responses_create_params: {}, response: { output: [] }, verifier_metadata: { issue }, ...some };
    expect((await refusal(server.client.verify(row))).status).toBe(413);
  });

  it.each([
    ['label', { response: SAID, label: 'no json' }],
    ['label.issue.environment', { response: SAID, label: { ...issue, environment: undefined } }],
    ['labels', { query: [SAID, SAID], labels: [issue] }],
    ['prompts', { query: [`${SAID}nothing`, SAID], prompts: [SAID], labels: [issue, issue] }],
    ['labels.1.issue.instance_id', { query: [SAID, SAID], labels: [issue, {}] }],
    ['label', { response: SAID, label: `{"issue":${'['.repeat(101)}${']'.repeat(101)}}` }],
    ['label', { response: SAID, label: `[${'1,'.repeat(20_001)}1]` }],
    ['query.1', { query: [SAID, `it.\n${SAID}`], prompts: ['', 'Fix it.\n'], labels: [issue, issue] }],
  ])('name what is wrong: %s', async (path, body) => {
    const { status, problem } = await refusal(server.client.reward(body));
    expect(status).toBe(422);
    expect(problem.errors?.map((each) => each.path)).toContain(path);
  });

  it('refuse a query whose tokenizer dropped spaces, as those of its patch are lost, too', async () => {
    const body = { query: [`Is x!= y?\n${SAID}`], prompts: ['Is x != y ?\n'], labels: [issue] };
    const { problem } = await refusal(server.client.reward(body));
    expect(problem.errors).toMatchObject([
      { path: 'query.0', message: expect.stringContaining('clean_up_tokenization_spaces') as string },
    ]);
  });
});

it('lets others be answered between the runs of one request', async () => {
  let made = 0;
  class CountingStore extends MemoryRunStore {
    override create(...asked: Parameters<MemoryRunStore['create']>): ReturnType<MemoryRunStore['create']> {
      made += 1;
      return super.create(...asked);
    }
  }
  const many = await serveRuns(new CountingStore(), executor);
  const labels = Array.from({ length: 1_000 }, (_, index) => ({ ...issue, instance_id: `demo-${index}` }));
  const rewards = many.client.reward({ query: labels.map(() => SAID), labels });
  let [before, answered] = [0, 0];
  while (made < labels.length) {
    await fetch(`${many.url}/healthz`);
    if (made === before) continue;
    [before, answered] = [made, answered + 1];
  }
  expect(answered).toBeGreaterThan(3);
  expect(await rewards).toMatchObject({ rewards: labels.map(() => 0.7) });
  await many.close();
});

it('is an error, never 0, where the surroundings failed, and asking again does what is missing', async () => {
  const [gap, failed] = ['infrastructure', 'engine'];
  const plays = [failed, gap, 'well'];
  executor = new ScriptedExecutor(async (run) => {
    const play = plays.shift();
    if (play === failed) throw new EngineUnavailableError('it is away');
    const [candidate] = rankedResult(run).selection.ranking;
    const verdict = { kind: 'abstained', measure: 'regression', reason: gap, detail: 'lost', evidence: {} };
    const verdicts = play === gap ? [{ ...verdict, candidate_id: candidate?.candidate_id }] : [];
    return { ...rankedResult(run), verdicts } as never;
  });
  await server.close();
  server = await serveRuns(new MemoryRunStore(), executor);
  const body = { response: SAID, label: { issue } };
  expect((await refusal(server.client.reward(body))).problem).toMatchObject({
    status: 503,
    code: 'engine-unavailable',
  });
  expect((await refusal(server.client.reward(body))).problem).toMatchObject({ status: 503, code: 'no-outcome' });
  expect(await server.client.reward(body)).toBe(0.7);
  expect(executor.started).toHaveLength(3);
});

it('is not taken from a run under other settings', async () => {
  let setup = 'one judge';
  executor.setup = () => Promise.resolve(setup);
  const body = { response: SAID, label: { issue } };
  for (setup of ['one judge', 'another judge', 'one judge']) expect(await server.client.reward(body)).toBe(0.7);
  expect(executor.started).toHaveLength(2);
});

it('says when it takes longer than was waited for, and goes on', async () => {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  executor = new ScriptedExecutor(async (run) => {
    await ended;
    return rankedResult(run);
  });
  await server.close();
  server = await serveRuns(new MemoryRunStore(), executor);
  const body = { response: SAID, label: { issue } };
  const late = await refusal(server.client.reward(body, { timeout_s: 1 }));
  expect(late.problem).toMatchObject({ status: 503, code: 'outcome-pending' });
  end();
  expect(await server.client.reward(body)).toBe(0.7);
  expect(executor.started).toHaveLength(1);
});

describe('the patch in what a model said', () => {
  it.each([
    [
      'the last fenced diff',
      `${SAID}Better:\n\`\`\`\n${PATCH.replace('ü', 'v')}\`\`\`\nDone.`,
      PATCH.replace('ü', 'v'),
    ],
    ['a diff alone', PATCH, PATCH],
    ['a diff whose last line is blank context', `${PATCH} \n\n`, `${PATCH} \n`],
    ['a diff after words', `Here it is\n${PATCH}`, PATCH],
    ['a fence that nobody closed', SAID.slice(0, -4), PATCH],
    ['code that is no diff', '\`\`\`python\nx = 1\n\`\`\`\n', ''],
    ['the words of a fence in a line', `Say \`\`\` here\n${PATCH}`, PATCH],
    ['a diff before a fence without one', `${PATCH}\`\`\`\nx\n\`\`\`\n`, `${PATCH}\`\`\`\nx\n\`\`\`\n`],
    ['a diff in a fence before one without', `${SAID}\`\`\`\nx\n\`\`\`\n`, PATCH],
    ['nothing', '', ''],
    ...[
      '<|im_end|>',
      '<|im_end|>\n',
      '<|im_end|>\n<|endoftext|>',
      '<|eot_id|><|endoftext|>',
      '<｜end▁of▁sentence｜>',
      '</s>',
      '<eos>',
      '<end_of_turn>\n<eos><pad><pad>',
      '<seed:eos>',
      '[e~[\n',
    ].map((token): [string, string, string] => [
      `a diff that ends with ${JSON.stringify(token)}`,
      PATCH.replace(/\n$/, token),
      PATCH,
    ]),
    ['a diff before an end of turn in a line of its own', `${PATCH}<|im_end|>`, PATCH],
    ['a diff in a fence before an end of turn', `${SAID.trimEnd()}<|im_end|>`, PATCH],
    ['a diff whose blank context is before an end of turn', `${PATCH} <|im_end|>\n`, `${PATCH} \n`],
    ['a diff that adds what looks like an end of turn', `${PATCH}+</s>\n`, `${PATCH}+</s>\n`],
  ])('is %s', (_, text, patch) => {
    expect(patchIn(text)).toBe(patch);
  });
});
