import { createHash } from 'node:crypto';
import { calcTest, calculatorIssue } from '../../fixtures/calculator.js';
import { bash, call, finish, playScripts, replace, saidBefore } from '../../fixtures/agent-script.js';
import { CommandLine, ended } from '../../fixtures/command-line.js';
import { containersOf } from '../../fixtures/containers.js';
import { until } from '../../fixtures/run-world.js';
import { Service } from '../../fixtures/service.js';
import { chatReply } from '../../fakes/chat-reply.js';
import { type AnswerChat, ModelServer } from '../../fakes/model-server.js';

const { workdir } = calculatorIssue.environment;
const CALC = `${workdir}/calc.py`;
const RIGHT = [
  `I look.\n${call('file_editor', { command: 'view', path: CALC })}`,
  `It subtracts.\n${replace(CALC, 'return a - b', 'return a + b')}`,
  `I try it.\n${bash('python3 -c "from calc import add; print(add(2, 3))" | tee /testbed/test_output.txt')}`,
  finish,
];
const WRONG = [`Quick.\n${replace(CALC, 'a - b', 'abs(a) + b')}`, finish];
const LOST = ['No call at all.', 'Still none.', `Hm.\n${bash('ls; echo x >>notes.md')}`, 'And so on.', 'And on.'];
/** For what a rollout comes to, whatever is made of it. */
const NOT_VERIFIED = ['--verifiers', 'none'];
const TESTS = [calcTest('sum', 'add(2, 3) == 5'), calcTest('negative', 'add(-2, 1) == -1')];

/** What tests came to on base, or on an equal patch, is executed once in this file; conversations are each test's own. */
const SHARED = { DATABASE_URL: `file:${new CommandLine().path('store.sqlite')}` };
let server: ModelServer;
let tests = 0;
afterEach(() => server.close());

function ownIssue(): typeof calculatorIssue {
  tests += 1;
  return { ...calculatorIssue, problem_statement: `${calculatorIssue.problem_statement}\n(${tests})` };
}

async function setUp(
  answer: AnswerChat,
  k: number,
  more: readonly string[] = [],
): Promise<{ cli: CommandLine; args: string[] }> {
  server = await ModelServer.start(answer, ['agent']);
  const cli = new CommandLine({
    ...SHARED,
    OPENAI_BASE_URL: server.baseUrl,
    BESTK_AGENT_MODEL: 'agent',
    BESTK_AGENT_MAX_STEPS: '4',
    BESTK_AGENT_MAX_STEPS_ABSOLUTE: '5',
  });
  const args = [
    ...['solve', '--issue', cli.write('issue.json', JSON.stringify(ownIssue())), '-k', String(k)],
    ...['--tests', cli.jsonl('tests.jsonl', TESTS), '--out', cli.path('out'), '--json', ...more],
  ];
  return { cli, args };
}

/** Requests that were answered, by what they asked; first turns are equal for all rollouts. */
function answered(): { first: number; others: Map<string, number> } {
  const others = new Map<string, number>();
  let first = 0;
  for (const { body, abandoned } of server.calls) {
    if (abandoned) continue;
    const key = createHash('sha256').update(JSON.stringify(body.messages)).digest('hex');
    if (saidBefore(body).length === 0) first += 1;
    else others.set(key, (others.get(key) ?? 0) + 1);
  }
  return { first, others };
}

describe('bestk solve', () => {
  it('samples, verifies and selects, and leaves everything in the folder', async () => {
    const { cli, args } = await setUp(playScripts([RIGHT, WRONG, LOST]), 3);
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ basis: 'hybrid', sampling: { asked: 3, sampled: 3, stopped: 'all' } });
    const candidates = cli.readLines('out/candidates.jsonl') as { candidate_id: string; patch: string }[];
    const chosen = (cli.readJson('out/selection.json') as { candidate_id: string }).candidate_id;
    expect(candidates.find(({ candidate_id }) => candidate_id === chosen)?.patch).toContain('+    return a + b');
    expect(
      cli
        .readLines('out/trajectories.jsonl')
        .map(({ exit_reason }) => exit_reason)
        .toSorted(),
    ).toEqual(['abs_step_limit', 'agent', 'agent']);
    const lost = candidates.find(({ patch }) => patch.includes('notes.md'));
    expect(lost?.patch).toContain('+x');
    expect(cli.readLines('out/predictions.jsonl')).toMatchObject([
      {
        instance_id: calculatorIssue.instance_id,
        model_name_or_path: 'bestk-deepswe',
        model_patch: candidates.find(({ candidate_id }) => candidate_id === chosen)?.patch,
      },
    ]);
    expect(cli.readJson('out/run.json')).toMatchObject({ provenance: { agent: { model: 'agent', format: 'xml' } } });

    const again = await cli.run(args.map((arg) => (arg === cli.path('out') ? cli.path('again') : arg)));
    expect(again.code).toBe(0);
    expect(cli.readLines('again/candidates.jsonl')).toEqual(candidates);
    expect(server.calls).toHaveLength(4 + 2 + 5);
  });

  it('killed again and again goes on where it was, and asks the model nothing twice', async () => {
    // More than rollouts: a first turn that a kill cuts off takes the next one when it is asked again.
    const scripts = Array.from({ length: 16 }, (_, n) => [
      `Try ${n}.\n${bash(`echo ${n} >notes${n}.md`)}`,
      `Go on.\n${bash(`echo more >>notes${n}.md`)}`,
      ...(n % 2 === 0 ? RIGHT : WRONG),
    ]);
    const play = playScripts(scripts);
    let heldFrom = 0;
    const k = 4;
    const { cli, args } = await setUp(
      async (body, index) => {
        // From here on the model is silent: whatever it said before has been heard when the process is killed.
        if (index >= heldFrom) await new Promise(() => undefined);
        return play(body, index);
      },
      k,
      NOT_VERIFIED,
    );
    const settings = { BESTK_AGENT_MAX_STEPS: '10', BESTK_AGENT_MAX_STEPS_ABSOLUTE: '12' };
    for (const calls of [1, 10]) {
      heldFrom = server.calls.length + calls;
      const victim = cli.start(args, settings);
      const end = ended(victim);
      await Promise.race([until(() => server.calls.length > heldFrom), end]);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      victim.kill('SIGKILL');
      await end;
    }
    heldFrom = Infinity;
    const last = await cli.run(args, settings);
    expect({ code: last.code, stderr: last.stderr }).toMatchObject({ code: 0 });
    const { first, others } = answered();
    expect([...others.values()].filter((times) => times > 1)).toEqual([]);
    expect(first).toBe(k);
    const patches = cli.readLines('out/candidates.jsonl').map(({ patch }) => patch as string);
    expect(patches).toHaveLength(k);
    for (const patch of patches) expect(patch).toMatch(/\+\d+\n\+more\n/);
  }, 240_000);

  it('interrupted removes its containers, whatever runs in them', async () => {
    const { cli, args } = await setUp(playScripts([[`Wait.\n${bash('sleep 600')}`, finish]]), 2, NOT_VERIFIED);
    const child = cli.start(args);
    const end = ended(child);
    await until(() => containersOf(child.pid).length > 0);
    const asked = performance.now();
    child.kill('SIGINT');
    expect((await end).code).toBe(130);
    expect(performance.now() - asked).toBeLessThan(60_000);
    expect(containersOf(child.pid)).toEqual([]);
  });

  it('samples a second wave that is told of the first and branches of it, and asks nothing twice when it is killed in it', async () => {
    const other = [`Quick, too.\n${replace(CALC, 'a - b', 'b + abs(a)')}`, finish];
    const [first, second] = [playScripts([WRONG, other]), playScripts([RIGHT, ['Hm.', ...RIGHT]])];
    const outcome = 'It took the first operand without its sign.';
    const summary = { hypotheses: '', decisions: '', progress: '', failures: '', outcome, files: ['calc.py'] };
    const prompts: string[] = [];
    const branches = { asked: new Set<string>(), held: 0 };
    let isHeld = true;
    const silence = (): Promise<never> => new Promise(() => undefined);
    const firstWave: AnswerChat = (body, index) => {
      const [begun = '', more = ''] = saidBefore(body);
      const goesOn = more.startsWith('Not so');
      // Who is asked once more behind the first step of another branches from there.
      if (more === '' && branches.asked.has(begun))
        return { json: chatReply([{ token: `Not so.\n${replace(CALC, 'abs(a)', 'a')}` }], body.model) };
      if (begun !== '' && !goesOn) branches.asked.add(begun);
      if (!goesOn || !isHeld) return first(body, index);
      branches.held += 1;
      return silence();
    };
    const answer: AnswerChat = (body, index) => {
      const [system = '', user = ''] = body.messages.map(({ content }) => content);
      if (system.startsWith('You sum up')) return { json: chatReply([{ token: JSON.stringify(summary) }], body.model) };
      if (!user.includes('on earlier attempts')) return firstWave(body, index);
      prompts.push(user);
      return isHeld && saidBefore(body).length > 0 ? silence() : second(body, index);
    };
    const { cli, args } = await setUp(answer, 2, [
      '--refine',
      '2',
      '--branch',
      '1',
      '--refine-from',
      '0.1',
      '--verifiers',
      'eb',
    ]);
    const killed = cli.start(args);
    const end = ended(killed);
    await until(() => prompts.length > 2 && branches.held > 0);
    killed.kill('SIGKILL');
    await end;
    isHeld = false;
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toMatchObject({
      sampling: {
        asked: 2,
        sampled: 2,
        refined: { asked: 2, sampled: 2, told_of: expect.arrayContaining(['rollout-1', 'rollout-2']) as unknown },
        branched: { asked: 1, sampled: 1, from: { candidate_id: 'rollout-1', steps: 1 } },
      },
    });
    const { candidate_id, ranking } = cli.readJson('out/selection.json') as {
      candidate_id: string;
      ranking: { candidate_id: string; flags: string[] }[];
    };
    const right = ['rollout-3', 'rollout-4', 'rollout-1-branch-1'];
    expect(right).toContain(candidate_id);
    const flagsOf = (id: string): string => ranking.find((each) => each.candidate_id === id)?.flags.join() ?? '';
    expect(flagsOf('rollout-3')).toMatch(/told-of:rollout-[12],rollout-[12]/);
    expect(flagsOf('rollout-1-branch-1')).toContain('branch-of:rollout-1:step-1');
    const candidates = cli.readLines('out/candidates.jsonl') as { candidate_id: string; patch: string }[];
    expect(candidates.map((each) => each.candidate_id)).toEqual(['rollout-1', 'rollout-2', ...right]);
    // The edit of the one that it goes on from, and its own behind it.
    expect(candidates.at(-1)?.patch).toMatch(/^\+ {4}return (a \+ b|b \+ a)$/m);
    expect(prompts[0]).toContain(`outcome: ${outcome}`);
    expect(prompts[0]).toMatch(
      /=== ATTEMPT 1 (\w{16}) ===[^]*\nmeasured: \d of the \d existing tests that passed before still pass\n[^]*\+ {4}return (abs\(a\) \+ b|b \+ abs\(a\))[^]*=== END ATTEMPT 1 \1 ===/,
    );
    const { first: begun, others } = answered();
    expect(begun).toBe(2 + 2 + 2);
    // What follows the step that the branch begins with was asked of both.
    expect([...others.values()].filter((times) => times > 1)).toEqual([2]);
    expect(stderr).toContain('branches from step 1 of rollout-1, 1 made');
    expect(stderr).toContain('second wave of 2, told of rollout-');
  }, 120_000);

  it('keeps to a budget of tokens, and selects from what it has', async () => {
    const endless: AnswerChat = (body) => playScripts([[`Look ${saidBefore(body).length}.\n${bash('ls')}`]])(body, 0);
    const { cli, args } = await setUp(endless, 2, ['--budget-tokens', '30000', ...NOT_VERIFIED]);
    const { code, stdout } = await cli.run(args, { BESTK_AGENT_LIMITS: 'max_answer_tokens=5000' });
    expect(code).toBe(4);
    const { sampling, usage } = JSON.parse(stdout) as {
      sampling: { stopped: string };
      usage: { models: { input_tokens: number; output_tokens: number }[] };
    };
    expect(sampling.stopped).toMatch(/all|budget/);
    const spent = usage.models.reduce((sum, model) => sum + model.input_tokens + model.output_tokens, 0);
    expect(spent).toBeLessThanOrEqual(30_000);
  });

  it.each([
    ['an agent without a model', [], { BESTK_AGENT_MODEL: '' }, /^2 .*BESTK_AGENT_MODEL is not set/],
    ['a first wave larger than K', ['--k0', '9'], {}, /^2 .*"k0": is larger than k/],
    ['a budget in money without prices', ['--budget-usd', '1'], {}, /^2 .*price of the model "agent" is not known/],
    [
      'a program beside a file of agents',
      ['--agents', 'package.json', '--agent-command', 'true'],
      {},
      /^2 .*command.*--agents/,
    ],
    ['no tries', ['-k', '0'], {}, /^2 .*at least 1/],
    ['a missing image', ['--image', 'bestk/none:0'], {}, /^3 .*bestk\/none:0/],
  ])('refuses %s', async (_what, more, settings, words) => {
    const { cli, args } = await setUp(playScripts([RIGHT]), 1);
    const { code, stderr } = await cli.run([...args, ...more], settings);
    expect(`${code} ${stderr.replaceAll('\n', ' ')}`).toMatch(words);
  });

  it('does the same over HTTP', async () => {
    const { cli } = await setUp(playScripts([RIGHT, WRONG]), 2);
    const service = await Service.start(cli);
    try {
      const body = JSON.stringify({ issue: ownIssue(), k: 2, tests: TESTS, budget: { tokens: 1_000_000 } });
      const { id } = (await service.post('/v1/runs', body)) as { id: string };
      const { status, selection } = await service.ended(id);
      expect(status).toBe('done');
      const { candidate_id } = selection as { candidate_id: string };
      expect(await service.get(`/v1/runs/${id}/candidates/${candidate_id}`)).toMatchObject({
        patch: expect.stringContaining('+    return a + b') as string,
        trajectory: { exit_reason: 'agent', steps: { length: 4 } },
      });
    } finally {
      await service.stop();
    }
  });

  it('tells a model that is down from an agent that fails', async () => {
    const { cli, args } = await setUp(() => ({ status: 400, json: { error: { message: 'no such model' } } }), 2);
    const { code, stderr } = await cli.run(args);
    expect(code).toBe(3);
    expect(stderr).toMatch(/no such model/);
  });
});
