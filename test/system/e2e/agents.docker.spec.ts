import { calcTest, calculatorIssue } from '../../fixtures/calculator.js';
import { finish, playScripts, replace, saidBefore } from '../../fixtures/agent-script.js';
import { CommandLine } from '../../fixtures/command-line.js';
import { type ChatBody, ModelServer } from '../../fakes/model-server.js';

const CALC = `${calculatorIssue.environment.workdir}/calc.py`;
const RIGHT = [`It subtracts.\n${replace(CALC, 'return a - b', 'return a + b')}`, finish];
const WRONG = [`Quick.\n${replace(CALC, 'a - b', 'abs(a) + b')}`, finish];

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serving(script: readonly string[], model: string): Promise<ModelServer> {
  const server = await ModelServer.start(playScripts([script]), [model]);
  servers.push(server);
  return server;
}

const asked = ({ calls }: ModelServer): ChatBody[] => calls.map(({ body }) => body);

describe('bestk solve with several agents', () => {
  it('shares the rollouts, each by its own model and settings, and tells of each', async () => {
    const [good, bad] = [await serving(RIGHT, 'good'), await serving(WRONG, 'bad')];
    const cli = new CommandLine({ OPENAI_BASE_URL: good.baseUrl, BESTK_AGENT_MODEL: 'good' });
    const agents = [
      { name: 'careful', model: 'good', share: 2, instructions: 'Think of negative numbers.' },
      { name: 'quick', model: 'bad', endpoint: bad.baseUrl, temperature: 0.5, top_p: 0.9, limits: { max_steps: 3 } },
    ];
    const solve = (out: string, ...more: readonly string[]) => [
      ...['solve', '--issue', cli.write('issue.json', JSON.stringify(calculatorIssue)), '--verifiers', 'eb', '--json'],
      ...['--tests', cli.jsonl('tests.jsonl', [calcTest('sum', 'add(2, 3) == 5')]), '--out', cli.path(out), ...more],
    ];
    const file = cli.write('agents.yaml', JSON.stringify({ agents }));
    const { code, stderr } = await cli.run(solve('out', '-k', '3', '--agents', file));
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(cli.readLines('out/candidates.jsonl').map(({ candidate_id }) => candidate_id)).toEqual([
      'careful-1',
      'quick-1',
      'careful-2',
    ]);
    expect(cli.readJson('out/selection.json')).toMatchObject({
      candidate_id: expect.stringMatching(/^careful-/) as string,
    });
    const run = cli.readJson('out/run.json') as { statistics: { agents: { expected_pass_at_k: number }[] } };
    expect(run).toMatchObject({
      provenance: {
        agent: null,
        agents: [
          { name: 'careful', model: 'good' },
          { name: 'quick', top_p: 0.9 },
        ],
      },
      statistics: {
        agents: [
          { agent: 'careful', k: 2, distinct_patches: 1 },
          { agent: 'quick', k: 1 },
        ],
      },
    });
    const [careful, quick] = run.statistics.agents.map(({ expected_pass_at_k }) => expected_pass_at_k);
    expect(careful).toBeGreaterThan(quick ?? 1);
    expect(asked(bad)[0]).toMatchObject({ model: 'bad', temperature: 0.5, top_p: 0.9 });
    const words = (server: ModelServer): string => JSON.stringify(asked(server)[0]?.messages);
    expect([words(good), words(bad)].map((text) => text.includes('Think of negative numbers.'))).toEqual([true, false]);
    expect(words(bad)).toContain('You have 3 steps');

    // One of them alone finds what it made in the mix.
    const before = good.calls.length;
    const alone = await cli.run(solve('alone', '-k', '2', '--agents', file, '--agent', 'careful'));
    expect({ code: alone.code, stderr: alone.stderr }).toMatchObject({ code: 0 });
    expect(good.calls).toHaveLength(before);
    // A run with one agent is what it was.
    expect((await cli.run(solve('one', '-k', '1'))).code).toBe(0);
    expect(cli.readLines('one/candidates.jsonl')).toMatchObject([{ candidate_id: 'rollout-1' }]);
    expect(asked(good).at(-1)?.top_p).toBeUndefined();
    expect(saidBefore(asked(good)[before] as ChatBody)).toEqual([]);
  });
});
