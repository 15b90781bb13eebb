import { setTimeout as sleep } from 'node:timers/promises';
import { RolloutJournal } from '../../../src/agent/loop/rollout-journal.js';
import { AgentLimits } from '../../../src/core/run/agent.js';
import { sandboxContent } from '../../../src/ports/sandbox.js';
import { calculatorIssue } from '../../fixtures/calculator.js';
import { ended, exited, FakeSandbox, stuck } from '../../fakes/fake-sandbox.js';
import { FairSemaphore, WarmStart } from '../../../src/core/async/concurrency.js';
import {
  EngineUnavailableError,
  ModelUnavailableError,
  SandboxLostError,
} from '../../../src/core/errors/unavailable.js';
import {
  logSandbox,
  outOfMemory,
  PlayedModel,
  ran,
  rolloutWorld,
  runs,
  says,
  SilentModel,
  submits,
  usage,
} from './rollout-world.js';

describe('failures', () => {
  it('of the model are thrown, not taken for the agent’s', async () => {
    const { run, sandbox } = rolloutWorld();
    await expect(run([runs('a'), new ModelUnavailableError('down')])).rejects.toThrow(ModelUnavailableError);
    expect(sandbox.openNow).toBe(0);
  });

  it.each([usage(4_000), null])(
    'of a server that broke off an answer do not count towards the context',
    async (own) => {
      const { run, requests } = rolloutWorld({ max_tokens: 5_000 });
      const made = await run([{ ...runs('a'), usage: usage(8_000), answer_usage: own }, submits]);
      expect(made).toMatchObject({ exit_reason: 'agent', steps: [{ input_tokens: 8_000 }, {}] });
      expect(requests[1]?.maxTokens).toBeGreaterThan(500);
    },
  );

  it.each([
    ['without a call ends the rollout', '<think>Where could', { exit_reason: 'token_limit', steps: [{}] }],
    ['with a call does not', `${runs('a').text}\nThen I`, { exit_reason: 'agent', steps: [{}, {}] }],
  ])('of an answer to fit into the context: one %s', async (_name, text, expected) => {
    const cut = says(text, { finish_reason: 'length', fills_context: true });
    expect(await rolloutWorld().run([cut, submits])).toMatchObject(expected);
  });

  it('of a server to take an empty message are avoided: thoughts alone are sent back as no answer', async () => {
    const { run, requests } = rolloutWorld();
    await run([says('<think>Hm.</think>'), says('', { reasoning: 'Hm.' }), submits]);
    const answers = requests.at(-1)?.messages.filter(({ role }) => role === 'assistant');
    expect(answers?.map(({ content }) => content)).toEqual(['(no answer)', '(no answer)']);
  });

  it('of a container are mended: it is rebuilt from the actions so far', async () => {
    const sandbox = logSandbox();
    sandbox.failExec(3, new SandboxLostError('gone'));
    const made = await rolloutWorld({}, { sandbox }).run([runs('a'), runs('b'), runs('c'), submits]);
    expect(made.exit_reason).toBe('agent');
    expect(ran(made.patch)).toEqual(['a', 'b', 'c']);
    expect(sandbox.opens).toBe(2);
  });

  it('that persist are thrown', async () => {
    const sandbox = logSandbox();
    for (const nth of [1, 2, 3, 4]) sandbox.failOpen(nth, new EngineUnavailableError('down'));
    await expect(rolloutWorld({}, { sandbox }).run([runs('a')])).rejects.toThrow(EngineUnavailableError);
  });

  it('of git are not the agent’s where a busy machine takes minutes to read the patch', async () => {
    const quick = logSandbox();
    const sandbox = new FakeSandbox((request, session) =>
      request.argv[4] === 'all' && request.deadlineS < 300 ? ended('timed-out') : quick.handler(request, session),
    );
    const made = await rolloutWorld({}, { sandbox }).run([runs('a'), submits]);
    expect({ ran: ran(made.patch), problem: made.patch_problem }).toEqual({ ran: ['a'], problem: null });
  });

  it('of a command that takes the container with it leave the files as they were before it', async () => {
    const sandbox = logSandbox((command) => (command === 'greedy' ? outOfMemory : null));
    const made = await rolloutWorld({}, { sandbox }).run([runs('a'), runs('greedy'), runs('b'), submits]);
    expect(ran(made.patch)).toEqual(['a', 'b']);
    expect(made.steps[1]?.observation).toMatch(/ran out of memory[^]*until then/);
  });

  it('of a command that could not be stopped are told: its container is gone, and what it did with it', async () => {
    const sandbox = logSandbox((command) => (command === 'deaf' ? stuck('so far') : null));
    const made = await rolloutWorld({}, { sandbox }).run([runs('a'), runs('deaf'), runs('b'), submits]);
    expect(ran(made.patch)).toEqual(['a', 'b']);
    expect(made.steps[1]).toMatchObject({
      exit_code: 124,
      observation: expect.stringMatching(/its container was lost; all files are as they were before/) as string,
    });
  });

  it('of a command that leaves room for no other are mended without it, also after a restart', async () => {
    const { run } = rolloutWorld({}, { sandbox: logSandbox(() => null, 'bomb') });
    await expect(run([runs('a'), runs('bomb'), runs('b'), new ModelUnavailableError('killed')])).rejects.toThrow();
    const made = await run([runs('c'), submits]);
    expect(ran(made.patch)).toEqual(['a', 'b', 'c']);
    expect(made.steps[1]).toMatchObject({ exit_code: 0 });
    expect(made.steps[2]?.observation).toMatch(/did b[^]*rebuilt without the action before this one/);
  });

  it('of the last command, too: the patch is that of the actions before', async () => {
    const made = await rolloutWorld({}, { sandbox: logSandbox(() => null, 'bomb') }).run([
      runs('a'),
      runs('bomb'),
      submits,
    ]);
    expect(made).toMatchObject({ exit_reason: 'agent', patch_problem: null });
    expect(ran(made.patch)).toEqual(['a']);
  });

  it('end with the reason of the signal', async () => {
    const { run, sandbox } = rolloutWorld();
    const reason = new Error('enough');
    await expect(run(new SilentModel(), {}, AbortSignal.abort(reason))).rejects.toBe(reason);
    const stop = new AbortController();
    setTimeout(() => {
      stop.abort(reason);
    }, 20);
    await expect(run(new SilentModel(), {}, stop.signal)).rejects.toBe(reason);
    expect(sandbox.openNow).toBe(0);
  });
});

describe('a rollout that was stopped', () => {
  const script = [runs('a'), says('no call'), runs('b'), runs('c'), runs('d'), submits];

  it.each([0, 1, 2, 3, 4, 5])('behind step %i goes on with the next and asks nothing again', async (done) => {
    const { run, requests, told, known } = rolloutWorld();
    await expect(run([...script.slice(0, done), new ModelUnavailableError('killed')])).rejects.toThrow();
    expect(told).toHaveLength(done);
    const made = await run(script.slice(done));
    expect(ran(made.patch)).toEqual(['a', 'b', 'c', 'd']);
    expect(made).toMatchObject({ exit_reason: 'agent', malformed: 1, steps: { length: 6 } });
    expect(told).toHaveLength(6);
    // One request for each step, and the one that failed.
    expect(requests).toHaveLength(7);
    expect(requests.at(-1)?.messages.filter(({ role }) => role === 'assistant')).toHaveLength(5);
    expect(known.at(-1)).toEqual({ input_tokens: 100 * done, cached_input_tokens: 0, output_tokens: 10 * done });
  });

  it('with condensed observations asks what it would have asked without the stop', async () => {
    const commands = ['a', 'b', 'c', 'd', 'e'];
    const asks = async (stop: boolean): Promise<unknown> => {
      const sandbox = logSandbox(() => exited(0, 'word '.repeat(1_500)));
      const { run, requests } = rolloutWorld({ condense_at: 3_500 }, { sandbox });
      // The count of a server that was sent the condensed prompt.
      const script = commands.map((command) => ({ ...runs(command), usage: usage(3_400) }));
      if (stop) await expect(run([...script.slice(0, 4), new Error('killed')])).rejects.toThrow('killed');
      await run([...(stop ? script.slice(4) : script), submits]);
      return requests.slice(-2).map(({ messages }) => messages);
    };
    expect(await asks(true)).toEqual(await asks(false));
  });

  it('at its end is not made again, under whichever name', async () => {
    const { run, sandbox } = rolloutWorld();
    const first = await run(script);
    const opens = sandbox.opens;
    const again = await run([], { candidateId: 'other' });
    expect(again).toEqual({ ...first, candidate_id: 'other' });
    expect(sandbox.opens).toBe(opens);
  });

  it('is another one for another sample, prompt or setting', async () => {
    const { run, requests, results } = rolloutWorld();
    await run([submits]);
    await run([submits], { sample: 1 });
    expect(requests).toHaveLength(2);
    const other = rolloutWorld({ action_s: 5 });
    Object.assign(other.results, results);
    await other.run([submits]);
    expect(other.requests).toHaveLength(1);
  });
});

describe('a stored rollout', () => {
  it.each([
    ['of an earlier release, which read calls otherwise, is made anew', 2, 'did it'],
    ['of this one is taken', 3, 'from then'],
  ])('%s', async (_name, protocol, said) => {
    const { run, requests, results, sandbox } = rolloutWorld();
    const answers = [runs('it'), submits];
    const made = await run(answers, { sample: 1 });
    const { environment } = calculatorIssue;
    const { workdir, base_commit: baseCommit, ...setup } = sandboxContent(environment);
    const { id: image } = await sandbox.describeImage(environment.image, new AbortController().signal);
    const settings = { model: 'agent', endpoint: 'test', format: 'xml', temperature: 1, limits: AgentLimits.parse({}) };
    await RolloutJournal.of(results, {
      ...{ protocol, image, workdir, baseCommit, ...setup, prompt: requests[0]?.messages },
      ...{ settings, sandbox_limits: sandbox.limits, sample: 0 },
    }).finish({ ...made, steps: made.steps.map((step) => ({ ...step, observation: 'from then' })) });
    expect((await run(answers)).steps[0]?.observation).toContain(said);
  });
});

describe('a rollout that two runs ask for at once', () => {
  /** No two commands print the same, as with times and process ids. */
  const unlike = () => {
    let pid = 0;
    return logSandbox(() => exited(0, `pid ${(pid += 1)}\n`));
  };

  function gate<T = void>() {
    let resolve: (value: T) => void = () => undefined;
    const promise = new Promise<T>((open) => (resolve = open));
    return { promise, resolve };
  }

  it('is made once in a process', async () => {
    const { run, sandbox, requests } = rolloutWorld({}, { sandbox: unlike(), oneOfEach: new FairSemaphore(99, 1) });
    const [first, second] = await Promise.all([
      run([runs('a'), runs('b'), submits]),
      run([runs('x'), runs('y'), submits], { candidateId: 'other' }),
    ]);
    expect(second).toEqual({ ...first, candidate_id: 'other' });
    expect(sandbox.opens).toBe(1);
    expect(requests).toHaveLength(3);
  });

  it('is not waited for behind the end of a run’s time', async () => {
    const { run } = rolloutWorld({}, { oneOfEach: new FairSemaphore(99, 1) });
    const [kill, late] = [new AbortController(), new AbortController()];
    const first = run(new SilentModel(), {}, kill.signal);
    const second = run([], { candidateId: 'other', stopAt: late.signal });
    late.abort();
    expect(await second).toMatchObject({ exit_reason: 'budget_limit', steps: [] });
    kill.abort(new Error('killed'));
    await expect(first).rejects.toThrow('killed');
  });

  it('keeps its container in the second process as long as both do the same', async () => {
    const { run, sandbox } = rolloutWorld();
    const script = [runs('a'), runs('b'), submits];
    const [first, second] = [gate(), gate()];
    // Each has its second call answered when the other one has asked it; their times differ.
    const model = (mine: typeof first, other: typeof first, latencyMs: number): PlayedModel => {
      let calls = 0;
      return new PlayedModel(async () => {
        await sleep(latencyMs);
        if (calls === 1) {
          mine.resolve();
          await other.promise;
        }
        return script[calls++] ?? submits;
      });
    };
    const [one, two] = await Promise.all([
      run(model(first, second, 0)),
      run(model(second, first, 20), { candidateId: 'other' }),
    ]);
    expect(two).toEqual({ ...one, candidate_id: 'other' });
    expect(sandbox.opens).toBe(2);
  });

  it('asks no more when the other process has ended it', async () => {
    const { run } = rolloutWorld({}, { sandbox: unlike() });
    const [begun, over] = [gate(), gate()];
    const first = run(
      new PlayedModel(async () => {
        await begun.promise;
        return submits;
      }),
    ).finally(() => {
      over.resolve();
    });
    let asked = 0;
    const second = run(
      new PlayedModel(async () => {
        asked += 1;
        begun.resolve();
        await over.promise;
        return runs('x');
      }),
      { candidateId: 'other' },
    );
    const made = await first;
    expect(await second).toEqual({ ...made, candidate_id: 'other' });
    expect(asked).toBe(1);
  });

  it('is one in two processes, too: each goes on from the steps that were stored first', async () => {
    const { run, told } = rolloutWorld({}, { sandbox: unlike() });
    const stored = gate();
    const adopted = gate<string>();
    const over = gate();
    const early = [runs('a'), runs('b'), submits];
    let calls = 0;
    const first = run(
      new PlayedModel(async () => {
        if (calls === 1) {
          stored.resolve();
          await adopted.promise;
        }
        return early[calls++] ?? submits;
      }),
    ).finally(() => {
      over.resolve();
    });
    const known: number[] = [];
    let others = 0;
    const second = run(
      new PlayedModel(async ({ messages }) => {
        others += 1;
        if (others > 1) adopted.resolve(messages.map(({ content }) => content).join('\n'));
        await (others > 1 ? over : stored).promise;
        return runs('x');
      }),
      { candidateId: 'other', onKnown: async (_, { input_tokens }) => void known.push(input_tokens) },
    );
    expect(await adopted.promise).toMatch(/<parameter=command>a<[^]*pid 1/);
    const made = await first;
    expect(ran(made.patch)).toEqual(['a', 'b']);
    expect(await second).toEqual({ ...made, candidate_id: 'other' });
    // Of three steps, it paid for its own two calls, and the third is known.
    expect([others, known]).toEqual([2, [0, 0, 100]]);
    expect(told).toHaveLength(3);
  });
});

describe('rollouts of one prompt', () => {
  it('let the first call be answered before the others ask', async () => {
    const order: string[] = [];
    const slow = new PlayedModel(async ({ sample }) => {
      order.push(`ask ${sample}`);
      await sleep(20);
      order.push(`answer ${sample}`);
      return submits;
    });
    const { run } = rolloutWorld();
    const warm = new WarmStart();
    await Promise.all([0, 1, 2].map((sample) => run(slow, { warm, sample })));
    expect(order.slice(0, 4)).toEqual(['ask 0', 'answer 0', 'ask 1', 'ask 2']);
  });

  it('go on when the first call fails', async () => {
    const { run } = rolloutWorld();
    const warm = new WarmStart();
    const failing = run([new ModelUnavailableError('down')], { warm });
    const other = run([submits], { warm, sample: 1 });
    await expect(failing).rejects.toThrow(ModelUnavailableError);
    expect((await other).exit_reason).toBe('agent');
  });
});
