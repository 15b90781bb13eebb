import { createInspector } from '../../../../src/agent/rollout.js';
import { AgentLimits } from '../../../../src/core/run/agent.js';
import { contentKey } from '../../../../src/core/identifier.js';
import {
  EngineUnavailableError,
  ModelUnavailableError,
  SandboxLostError,
} from '../../../../src/core/errors/unavailable.js';
import type { TrajectoryStep } from '../../../../src/core/run/candidate.js';
import { DOES_NOT_APPLY, type Inspection, Rollout } from '../../../../src/core/run/rollout.js';
import { createAgentVerifier, type JudgeAgent } from '../../../../verifiers/execution-free/agent/agent.js';
import { FakeLlmClient } from '../../../fakes/fake-llm-client.js';
import { exited, FakeSandbox } from '../../../fakes/fake-sandbox.js';
import { MemoryResultStore } from '../../../fakes/memory-result-store.js';
import { bash, call } from '../../../fixtures/agent-script.js';
import { PlayedModel, runs, says } from '../../agent/rollout-world.js';
import { candidate, judged, prompts, tokenizer } from './judge-world.js';

const verdictOf = (word: string, steps = '1'): string =>
  call('finish', {
    command: 'submit',
    result: `<reasons>It was run.</reasons>\n<steps>${steps}</steps>\n<judgement>${word}</judgement>`,
  });

function look(action: string, more: Partial<Rollout> = {}): Rollout {
  const step = { thought: 'So.', observation: '', exit_code: null, llm_s: 1, env_s: 0 };
  const counts = { input_tokens: 10, cached_input_tokens: 0, output_tokens: 1 };
  return Rollout.parse({
    ...{ instance_id: 'i', candidate_id: '', model: 'judge', format: 'xml', exit_reason: 'agent', malformed: 0 },
    ...{ patch: '', patch_problem: null, left_out: [], system_prompt: '', instance_prompt: '' },
    steps: [
      { ...step, ...counts, action: bash('python3 /tmp/check_1.py'), exit_code: 1 },
      { ...step, ...counts, action },
    ],
    ...more,
  });
}

/** An agent that says what it is told to say, look by look. */
function agentOf(says: (inspection: Inspection) => Rollout | Error, { samples = 5, harvested = false } = {}) {
  const asked: Inspection[] = [];
  const agent: JudgeAgent = {
    inspect: async (_issue, inspection) => {
      asked.push(inspection);
      const said = says(inspection);
      if (said instanceof Error) throw said;
      return said;
    },
    ...{ system: 'agent/xml-judge', steps: 7, actionS: 90, harvested },
  };
  return {
    agent,
    asked,
    make: (options: Parameters<typeof createAgentVerifier>[0]) => createAgentVerifier({ ...options, samples }, agent),
  };
}

const llm = new FakeLlmClient([]);

it('scores by votes, with reasons and the commands that were really run', async () => {
  const { make, asked } = agentOf(({ sample }) => look(verdictOf(sample === 1 ? 'YES' : 'NO', '1, 2, 99')));
  const { c1 } = await judged(make, llm, [candidate('c1')]);
  // Three looks make the majority of five; they disagree once, so a fourth follows.
  expect(asked.map(({ sample }) => sample)).toEqual([0, 1, 2, 3]);
  expect(asked[0]?.question).toContain('You have 7 steps');
  const commands = [
    { step: 1, command: bash('python3 /tmp/check_1.py'), exit_code: 1 },
    { step: 2, command: expect.stringContaining('finish') as string, exit_code: null },
  ];
  expect(c1).toMatchObject({
    kind: 'scored',
    measure: 'execution_free',
    score: 2 / 6,
    evidence: { method: 'agent-votes', votes: 4, yes: 1, looks: { length: 4 } },
  });
  expect(c1?.evidence.looks).toMatchObject([{ verdict: 'NO', reasons: 'It was run.', commands, steps: 2 }, {}, {}, {}]);
});

it.each([
  [['YES', 'YES', 'YES'], 3, 4 / 5],
  [['NO', 'NO', 'NO'], 3, 1 / 5],
  [['YES', 'NO', 'YES', 'NO', 'YES'], 5, 4 / 7],
] as const)('stops as soon as votes cannot turn: %j', async (words, looks, score) => {
  const { make, asked } = agentOf(({ sample }) => look(verdictOf(words[sample] ?? 'never')));
  const { c1 } = await judged(make, llm, [candidate('c1')]);
  expect(asked).toHaveLength(looks);
  expect(c1).toMatchObject({ score });
});

it('looks once at equal changes, and not at what changes no source', async () => {
  const { make, asked } = agentOf(() => look(verdictOf('YES')), { samples: 1 });
  const same = candidate('c1').patch;
  const onlyTests = same.replaceAll('a.py', 'tests/test_a.py');
  const all = [candidate('c1'), candidate('c2', { patch: same }), candidate('c3', { patch: onlyTests })];
  const { c1, c2, c3 } = await judged(make, llm, [...all, candidate('c4', { patch: '' })]);
  expect(asked).toHaveLength(1);
  expect(c2).toEqual({ ...c1, candidate_id: 'c2', evidence: { ...c1?.evidence, judged_as: 'c1' } });
  expect(c3).toMatchObject({ kind: 'abstained', reason: 'no-source-change' });
});

it.each([
  ['a model that is down', new ModelUnavailableError('down'), 'model-unavailable'],
  ['a container that is lost', new SandboxLostError('gone'), 'infrastructure'],
  ['a budget that is spent', look('', { exit_reason: 'budget_limit' }), 'budget-spent'],
  ['a model that takes too long', look('', { exit_reason: 'llm_query_error' }), 'model-unavailable'],
  [
    'a patch that git refuses',
    look('', { exit_reason: DOES_NOT_APPLY, patch_problem: 'corrupt', steps: [] }),
    'does-not-apply',
  ],
] as const)('%s is no vote', async (_what, said, reason) => {
  const { make, asked } = agentOf(() => said);
  const { c1 } = await judged(make, llm, [candidate('c1')]);
  expect(c1).toMatchObject({ kind: 'abstained', reason });
  // Those that were under way together; nobody asks for more of the same.
  expect(asked).toHaveLength(3);
});

it('a trouble that concerns everybody ends the run', async () => {
  const { make } = agentOf(() => new EngineUnavailableError('gone'));
  await expect(judged(make, llm, [candidate('c1'), candidate('c2')])).rejects.toThrow(EngineUnavailableError);
});

it.each([
  ['no verdict', call('finish', { command: 'submit', result: 'It is fine.' }), 'agent'],
  ['another word', verdictOf('MAYBE'), 'agent'],
  ['a verdict that was never submitted', `${bash('ls')} <judgement>YES</judgement>`, 'abs_step_limit'],
])('%s is no vote, and asked for again', async (_what, action, exit_reason) => {
  const { make, asked } = agentOf(({ sample }) =>
    sample === 4 ? look(verdictOf('YES')) : look(action, { exit_reason }),
  );
  const { c1 } = await judged(make, llm, [candidate('c1')]);
  expect(asked).toHaveLength(5);
  expect(c1).toMatchObject({ score: 2 / 3, evidence: { votes: 1, yes: 1 } });
});

it('shows how it worked to who makes tests of it, and works before them then', async () => {
  const told: [string, number][] = [];
  const found = (author: string, steps: readonly TrajectoryStep[]): void => void told.push([author, steps.length]);
  const { make, agent } = agentOf(() => look(verdictOf('YES')), { samples: 1, harvested: true });
  await judged(make, llm, [candidate('c1')], { task: { found } });
  expect(told).toEqual([['judge-1-of-c1', 2]]);
  const options = {} as Parameters<typeof createAgentVerifier>[0];
  expect(createAgentVerifier(options, agent).phase).toBe('before-tests');
  expect(createAgentVerifier(options, { ...agent, harvested: false }).phase).toBeUndefined();
});

it('a patch without room in the prompt is nobody to look at', async () => {
  const { make, asked } = agentOf(() => look(verdictOf('YES')));
  const patch = `${candidate('c1').patch}${`+${contentKey(['x'])}\n`.repeat(2_000)}`.replace('+1 @@', '+1,2001 @@');
  const { c1 } = await judged(make, llm, [candidate('c1', { patch })], { promptTokens: 10_000 });
  expect(c1).toMatchObject({ kind: 'abstained', reason: 'refused-patch' });
  expect(asked).toEqual([]);
});

it('stopped in the middle of a look, goes on from the steps that are stored and asks for none of them again', async () => {
  const results = new MemoryResultStore();
  const sandbox = new FakeSandbox(() => exited(0, 'seen\n'));
  const limits = AgentLimits.parse({});
  const settingsOf = (model: string) => ({ model, endpoint: 'x', format: 'xml', temperature: 1, limits }) as const;
  /** @param stopped before the second step of the second look, once the first look has ended */
  const run = async (stopped: boolean) => {
    const asked: string[] = [];
    let ended: () => void = () => undefined;
    const firstLook = new Promise<void>((resolve) => (ended = resolve));
    const model = new PlayedModel(async ({ messages, sample }) => {
      const step = messages.filter(({ role }) => role === 'assistant').length;
      asked.push(`look ${sample}, step ${step}`);
      if (stopped && sample === 1 && step === 1) {
        await firstLook;
        throw new EngineUnavailableError('stopped here');
      }
      return step < 2 ? runs(`ls ${step}`) : says(verdictOf('YES'));
    });
    const ports = { sandbox, results, prompts, tokenizer, llm: model };
    const inspect = createInspector(ports, settingsOf, async () => undefined);
    const agent = { inspect, system: 'agent/xml-judge', steps: 7, actionS: 90, harvested: false };
    const make = (options: Parameters<typeof createAgentVerifier>[0]) => createAgentVerifier(options, agent);
    const done = judged(make, llm, [candidate('c1')], {
      task: {
        found: () => {
          ended();
        },
      },
    });
    const verdict = await done.then(
      ({ c1 }) => c1,
      (error: unknown) => error,
    );
    return { asked: asked.toSorted(), verdict };
  };
  const before = await run(true);
  expect(before.verdict).toBeInstanceOf(EngineUnavailableError);
  expect(before.asked).toEqual(
    [0, 1, 2].map((step) => `look 0, step ${step}`).concat(['look 1, step 0', 'look 1, step 1']),
  );
  const after = await run(false);
  expect(after.asked).toEqual(['look 1, step 1', 'look 1, step 2']);
  expect(after.verdict).toMatchObject({ kind: 'scored', score: 3 / 4, evidence: { votes: 2, yes: 2 } });
  // All of it is known now.
  expect(await run(false)).toEqual({ asked: [], verdict: after.verdict });
});

it('says by which prompts it asked: another system prompt is another hash', async () => {
  const { agent } = agentOf(() => look(verdictOf('YES')));
  const hashOf = async (system: string) => {
    const { c1 } = await judged((options) => createAgentVerifier(options, { ...agent, system }), llm, [
      candidate('c1'),
    ]);
    return c1?.evidence.prompt_hash;
  };
  const hash = await hashOf('agent/xml-judge');
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  expect(await hashOf('agent/xml-judge')).toBe(hash);
  expect(await hashOf('agent/bash-judge')).not.toBe(hash);
});
