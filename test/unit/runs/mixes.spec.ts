import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readPlan } from '../../../src/commands/bench/bench-plan.js';
import { candidateIdOf, turnsOf } from '../../../src/core/run/agent.js';
import { RunRequest, runRequest } from '../../../src/core/run/run-request.js';
import { placedAgents, readAgents } from '../../../src/io/inputs/yaml.js';
import { BenchmarkWorld } from '../reports/benchmark-world.js';
import { calculatorIssue as issue } from '../../fixtures/calculator.js';

const folder = mkdtempSync(join(tmpdir(), 'bestk-agents-'));

function fileOf(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

describe('rollouts of several agents', () => {
  const ids = (shares: readonly number[], count: number): string[] =>
    turnsOf(
      shares.map((share, index) => ({ name: 'abc'.charAt(index), share })),
      count,
    ).map(candidateIdOf);

  it('are shared as asked, also by the first of them', () => {
    expect(ids([1, 1], 4)).toEqual(['a-1', 'b-1', 'a-2', 'b-2']);
    expect(ids([2, 1], 6)).toEqual(['a-1', 'b-1', 'a-2', 'a-3', 'b-2', 'a-4']);
    for (const count of [1, 5, 12, 40]) {
      for (const [index, share] of [3, 1, 1].entries()) {
        const had = ids([3, 1, 1], count).filter((id) => id.startsWith('abc'.charAt(index))).length;
        expect(Math.abs(had - (share * count) / 5)).toBeLessThanOrEqual(1);
      }
    }
  });

  it('of a run with one agent are called as ever', () => {
    expect(turnsOf(null, 3).map(candidateIdOf)).toEqual(['rollout-1', 'rollout-2', 'rollout-3']);
  });
});

describe('a request for several agents', () => {
  it.each<[string, object, RegExp]>([
    ['that have one name', { agents: [{ name: 'a' }, { name: 'a', model: 'm' }] }, /two agents have the same name/],
    [
      'that are one',
      {
        agents: [
          { name: 'a', model: 'm' },
          { name: 'b', model: 'm', share: 2 },
        ],
      },
      /nothing but name/,
    ],
    ['beside one', { agent: { model: 'm' }, agents: [{ name: 'a' }] }, /combined with agents/],
    ['more than rollouts', { k: 1, agents: [{ name: 'a' }, { name: 'b', model: 'm' }] }, /are 2, more than the 1/],
    ['at an endpoint', { agents: [{ name: 'a', endpoint: 'http://evil.example/v1' }] }, /endpoint/],
    ['whose calls do not fit', { agents: [{ name: 'a', format: 'bash', prompt: 'r2e' }] }, /describes calls as tags/],
    ['and candidates', { agents: [{ name: 'a' }], candidates: [{ candidate_id: 'c', patch: '' }] }, /for sampling/],
  ])('%s is refused', (_, asked, message) => {
    expect(() => runRequest({ issue, ...asked })).toThrow(message);
  });

  it('reads itself again unchanged', () => {
    const request = runRequest({
      issue,
      k: 4,
      agents: [
        { name: 'a', limits: { max_steps: 5 } },
        { name: 'b', top_p: 0.9 },
      ],
    });
    expect(RunRequest.parse(JSON.parse(JSON.stringify(request)))).toEqual(request);
  });
});

describe('a file of agents', () => {
  const AGENTS =
    '- {name: a, model: m, share: 2}\n- {name: b, model: n, endpoint: "http://b.example/v1", format: tools}\n';

  it('names them, and where their models are', async () => {
    const all = await readAgents(fileOf('list.yaml', AGENTS));
    expect(all.map(({ name, share }) => [name, share])).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
    expect(await readAgents(fileOf('below.yaml', `agents:\n${AGENTS}`), ['b'])).toMatchObject([{ name: 'b' }]);
    const { agents, settings } = placedAgents(all);
    expect(settings).toEqual({ BESTK_MODEL_URLS: 'n=http://b.example/v1' });
    expect(runRequest({ issue, agents }).agents).toMatchObject([{ name: 'a' }, { name: 'b', format: 'tools' }]);
  });

  it.each([
    ['an unknown name', AGENTS, ['c'], /has no agent "c"/],
    ['an unknown member', '- {name: a, modle: m}\n', [], /modle/],
    ['an endpoint without a model', '- {name: a, endpoint: "http://b.example/v1"}\n', [], /needs a model/],
    ['no list', 'agents: {a: {model: m}}\n', [], /agents/],
  ])('is refused for %s', async (_, text, names, message) => {
    await expect(readAgents(fileOf('bad.yaml', text), names)).rejects.toThrow(message);
  });

  it('may be named by an arm, and is read with the bench file', async () => {
    fileOf('agents.yaml', AGENTS);
    const bench =
      'dataset: rows.jsonl\narms: [{name: mix, k: 4, agents: agents.yaml}, {name: one, agent: {model: m, top_p: 0.5}}]\n';
    const plan = await readPlan(fileOf('bench.yaml', bench), {});
    expect(plan.arms).toMatchObject([
      { agents: [{ name: 'a' }, { name: 'b' }] },
      { agent: { model: 'm', top_p: 0.5 } },
    ]);
  });
});

describe('a report of runs with several agents', () => {
  it('has Pass@K of each', async () => {
    const world = new BenchmarkWorld();
    const tried = (agent: string, rights: readonly boolean[]) =>
      rights.map((right, index) => ({ id: `${agent}-${index + 1}`, p: 0.5, passed: 5, right }));
    await world.sampled('r__x-1', [...tried('a', [true, false]), ...tried('b', [false])]);
    await world.sampled('r__x-2', [...tried('a', [false, false]), ...tried('b', [true])]);
    const { agents } = await world.report();
    expect(agents).toEqual([
      { agent: 'a', issues: 2, candidates: 4, pass_at_k: { 1: 0.25, 2: 0.5 } },
      { agent: 'b', issues: 2, candidates: 2, pass_at_k: { 1: 0.5 } },
    ]);
  });
});
