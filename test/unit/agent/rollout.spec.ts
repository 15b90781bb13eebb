import { setTimeout as sleep } from 'node:timers/promises';
import { InterruptedError } from '../../../src/core/errors/errors.js';
import { BudgetSpentError, ContextTooLongError } from '../../../src/core/errors/unavailable.js';
import { ended, exited } from '../../fakes/fake-sandbox.js';
import {
  logSandbox,
  PlayedModel,
  ran,
  rolloutWorld,
  runs,
  says,
  SilentModel,
  submits,
  usage,
} from './rollout-world.js';

describe('a rollout', () => {
  it('asks, acts, shows the model what came of it, and ends with the patch', async () => {
    const { run, requests, told, sandbox } = rolloutWorld({ max_steps: 40 });
    const made = await run([runs('a'), runs('b'), submits]);
    expect(made).toMatchObject({ candidate_id: 'rollout-1', exit_reason: 'agent', malformed: 0, patch_problem: null });
    expect(ran(made.patch)).toEqual(['a', 'b']);
    expect(made.steps.map(({ thought, exit_code, input_tokens }) => [thought, exit_code, input_tokens])).toEqual([
      ['Next.', 0, 100],
      ['Next.', 0, 100],
      ['Done.', null, 100],
    ]);
    const [, second] = requests;
    expect(second?.messages.slice(2).map(({ role }) => role)).toEqual(['assistant', 'user']);
    expect(second?.messages.at(-1)?.content).toBe(
      'Exit code: 0\nExecution output of [execute_bash]:\n[STDOUT]\n\ndid a\n\nSteps Remaining: 39',
    );
    expect(told.map(({ step, tool, exit_code }) => [step, tool, exit_code])).toEqual([
      [1, 'execute_bash', 0],
      [2, 'execute_bash', 0],
      [3, 'finish', null],
    ]);
    expect(sandbox.openNow).toBe(0);
  });

  it('tells the model the issue, the place and its limits, and nothing that tells the outcome', async () => {
    const { run, requests } = rolloutWorld({ max_steps: 7, action_s: 33 });
    await run([submits]);
    const text = requests[0]?.messages.map(({ content }) => content).join('\n') ?? '';
    for (const part of ['add(2, 3) returns -1', '/testbed', '7 steps', '33 seconds', 'execute_bash', 'str_replace']) {
      expect(text).toContain(part);
    }
    expect(requests[0]).toMatchObject({
      temperature: 1,
      sample: 0,
      purpose: 'agent',
      maxTokens: 8_192,
      mayBeShorter: true,
    });
  });

  it.each(['tools', 'bash'] as const)('works in the format %s', async (format) => {
    const { run, requests } = rolloutWorld({}, { settings: { format } });
    const script =
      format === 'bash'
        ? [says('```bash\na\n```'), says('```bash\nfinish\n```')]
        : [
            says('', { tool_calls: [{ id: '1', name: 'execute_bash', arguments: '{"command": "a"}' }] }),
            says('', { tool_calls: [{ id: '2', name: 'finish', arguments: '{"command": "submit"}' }] }),
          ];
    const made = await run(script);
    expect(made).toMatchObject({ exit_reason: 'agent', format });
    expect(
      ran(made.patch)
        .map((line) => line.trim())
        .filter(Boolean),
    ).toEqual(['a']);
    expect(requests[0]?.tools?.length ?? 0).toBe(format === 'tools' ? 4 : 0);
  });
});

describe('limits', () => {
  it.each([
    ['with its last step', { max_steps: 3 }, 'agent'],
    ['in the step after, as it was told', { max_steps: 2 }, 'max_step_limit'],
    ['later', { max_steps: 1 }, 'agent_max_step_limit'],
  ])('know an agent that submits %s', async (_when, limits, reason) => {
    const { run, requests } = rolloutWorld(limits);
    expect((await run([runs('a'), runs('b'), submits])).exit_reason).toBe(reason);
    const last = requests[2]?.messages.at(-1)?.content ?? '';
    if (limits.max_steps < 3) expect(last).toMatch(/Finish NOW; what is in the repository is submitted/);
    else expect(last).toMatch(/Steps Remaining: 1$/);
  });

  it('stop it at the absolute number of steps, with the patch so far', async () => {
    const made = await rolloutWorld({ max_steps: 1, max_steps_absolute: 2 }).run([runs('a'), runs('b'), submits]);
    expect(made).toMatchObject({ exit_reason: 'abs_step_limit' });
    expect(ran(made.patch)).toEqual(['a', 'b']);
  });

  it('stop it when the context is full, by the count of the server', async () => {
    const { run } = rolloutWorld({ max_tokens: 5_000 });
    const made = await run([runs('a'), { ...runs('b'), usage: usage(4_990) }, submits]);
    expect(made).toMatchObject({ exit_reason: 'token_limit', steps: { length: 2 } });
    expect(ran(made.patch)).toEqual(['a', 'b']);
  });

  it('stop it by our own count where the server gives none', async () => {
    const sandbox = logSandbox(() => exited(0, 'many different words '.repeat(300)));
    const { run, requests } = rolloutWorld({ max_tokens: 4_000 }, { sandbox });
    const script = Array.from({ length: 9 }, (_, n) => ({ ...runs(`c${n}`), usage: null }));
    const made = await run(script);
    expect(made.exit_reason).toBe('token_limit');
    expect(made.steps.length).toBeGreaterThan(1);
    expect(made.steps.length).toBeLessThan(9);
    expect(made.steps[0]?.input_tokens).toBeNull();
    const rooms = requests.map(({ maxTokens }) => maxTokens);
    expect(rooms).toEqual([...rooms].sort((a, b) => b - a));
  });

  it('stop it when the server says that the prompt is too long', async () => {
    const made = await rolloutWorld().run([runs('a'), new ContextTooLongError('too long')]);
    expect(made).toMatchObject({ exit_reason: 'token_limit' });
    expect(ran(made.patch)).toEqual(['a']);
  });

  it('stop it when its time is over', async () => {
    const sandbox = logSandbox();
    const { run } = rolloutWorld({ trajectory_s: 0.05 }, { sandbox });
    const late = new PlayedModel(async () => {
      await sleep(60);
      return runs('a');
    });
    expect(await run(late)).toMatchObject({ exit_reason: 'traj_time_limit', steps: { length: 1 } });
  });

  it('stop it when one model call takes too long', async () => {
    const { run } = rolloutWorld({ model_call_s: 0.05 });
    expect(await run(new SilentModel())).toMatchObject({ exit_reason: 'llm_query_error', patch: '' });
  });

  it('stop it when the budget is spent, and a larger one goes on from there', async () => {
    const { run } = rolloutWorld();
    const made = await run([runs('a'), new BudgetSpentError('no room')]);
    expect(made.exit_reason).toBe('budget_limit');
    expect(ran(made.patch)).toEqual(['a']);
    const more = await run([runs('b'), submits]);
    expect(more.exit_reason).toBe('agent');
    expect(ran(more.patch)).toEqual(['a', 'b']);
  });

  it('stop it when the run has no time left for sampling', async () => {
    const { run } = rolloutWorld();
    expect(await run(new SilentModel(), { stopAt: AbortSignal.timeout(30) })).toMatchObject({
      exit_reason: 'budget_limit',
    });
  });

  it('let a command that takes too long be, and go on in the same container', async () => {
    const sandbox = logSandbox((command) => (command === 'slow' ? ended('timed-out', 'so far') : null));
    const { run } = rolloutWorld({ action_s: 9 }, { sandbox });
    const made = await run([runs('slow'), runs('b'), submits]);
    expect(made.steps[0]).toMatchObject({
      exit_code: 124,
      observation: expect.stringMatching(/within 9 s[^]*so far/) as string,
    });
    expect(ran(made.patch)).toEqual(['slow', 'b']);
    expect(sandbox.opens).toBe(1);
  });

  it('condense old observations, never the last, when told to', async () => {
    const sandbox = logSandbox(() => exited(0, 'word '.repeat(1_500)));
    const script = ['a', 'b', 'c'].map((command) => ({ ...runs(command), usage: null }));
    const { run, requests } = rolloutWorld({ condense_at: 3_500 }, { sandbox });
    await run([...script, submits]);
    const observations =
      requests
        .at(-1)
        ?.messages.filter(({ role }) => role === 'user')
        .slice(1) ?? [];
    expect(observations.map(({ content }) => content.includes('taken out'))).toEqual([true, true, false]);
    expect(requests[1]?.messages.at(-1)?.content).toContain('word');
  });
});

describe('a look at a running rollout', () => {
  const check = (scores: readonly (number | null)[]) => {
    const seen: number[] = [];
    const score = async (_issue: string, steps: readonly unknown[]): Promise<number | null> => {
      seen.push(steps.length);
      return scores[seen.length - 1] ?? null;
    };
    return { seen, progress: { every: 2, below: 0.1, judge: 'judge', score } };
  };

  it('stops it when it is hopeless, with the patch so far', async () => {
    const { seen, progress } = check([0.5, 0.05]);
    const made = await rolloutWorld({}, { progress }).run(['a', 'b', 'c', 'd', 'e'].map(runs));
    expect(made.exit_reason).toBe('stopped_early');
    expect(ran(made.patch)).toEqual(['a', 'b', 'c', 'd']);
    expect(seen).toEqual([2, 4]);
  });

  it('is made up for when it was killed between a step and the look at it', async () => {
    let isAlive = false;
    const score = async (): Promise<number> => {
      if (!isAlive) throw new InterruptedError();
      return 0.05;
    };
    const { run, requests } = rolloutWorld({}, { progress: { every: 2, below: 0.1, judge: 'judge', score } });
    await expect(run(['a', 'b'].map(runs))).rejects.toThrow(InterruptedError);
    isAlive = true;
    const made = await run([runs('c')]);
    expect(made.exit_reason).toBe('stopped_early');
    expect(ran(made.patch)).toEqual(['a', 'b']);
    expect(requests).toHaveLength(2);
  });

  it('lets it go on when that cannot be told, and does not look when it is done', async () => {
    const { seen, progress } = check([null]);
    const made = await rolloutWorld({}, { progress }).run([runs('a'), runs('b'), runs('c'), submits]);
    expect(made.exit_reason).toBe('agent');
    expect(seen).toEqual([2]);
  });
});

describe('answers that are no action', () => {
  it('get an explanation, cost a step, and are counted', async () => {
    const { run, requests, sandbox } = rolloutWorld();
    const made = await run([
      says('I think.'),
      says('<function=fly></function>'),
      says('<function=search></function>'),
      says('', { finish_reason: 'length' }),
      runs('a'),
      submits,
    ]);
    expect(made).toMatchObject({ malformed: 4, exit_reason: 'agent', steps: { length: 6 } });
    const shown = requests.slice(1, 5).map(({ messages }) => messages.at(-1)?.content);
    expect(shown).toEqual([
      expect.stringMatching(/no complete function call/),
      expect.stringMatching(/no function "fly"/),
      expect.stringMatching(/"search_term" is missing/),
      expect.stringMatching(/cut off because it was too long/),
    ]);
    expect(sandbox.opens).toBe(1);
  });

  it('do the first of two calls, and say so', async () => {
    const { run, requests } = rolloutWorld();
    const made = await run([says(`${runs('a').text}\n${runs('b').text}`), submits]);
    expect(ran(made.patch)).toEqual(['a']);
    expect(requests[1]?.messages.at(-1)?.content).toMatch(/more than one action; only the first/);
  });

  it('of megabytes are kept in part', async () => {
    const { run, requests } = rolloutWorld({ max_tokens: 10_000_000 });
    await run([says('x'.repeat(10_000_000)), submits]);
    expect(requests[1]?.messages.at(-2)?.content.length).toBeLessThan(250_000);
  });

  it('need no container', async () => {
    const { run, sandbox } = rolloutWorld({ max_steps_absolute: 2 });
    expect(await run([says('a'), says('b')])).toMatchObject({ patch: '', malformed: 2 });
    expect(sandbox.opens).toBe(0);
  });
});

describe('a branch', () => {
  const from = (steps: number) => ({
    ...{ candidateId: 'rollout-1-branch-1', sample: 500 },
    branch: { candidate_id: 'rollout-1', sample: 0, steps },
  });

  it('goes on from the first steps of another, in a container that shows them, and pays only for its own', async () => {
    const { run, requests, told, known } = rolloutWorld({ max_steps: 9, max_tokens: 5_000 });
    await run([runs('a'), runs('b'), submits]);
    const made = await run([runs('c'), submits], from(1));
    expect(ran(made.patch)).toEqual(['a', 'c']);
    expect(made).toMatchObject({
      exit_reason: 'agent',
      branch_of: { candidate_id: 'rollout-1', steps: 1 },
      told_of: [],
    });
    expect(made.steps.map(({ input_tokens, llm_s }) => [input_tokens, llm_s === 0])).toEqual([
      [null, true],
      [100, expect.any(Boolean)],
      [100, expect.any(Boolean)],
    ]);
    // Asked what the other was asked at this point, as a sample of its own.
    const [, second, , branched] = requests;
    expect(branched?.messages).toEqual(second?.messages);
    expect(branched?.maxTokens).toBe(second?.maxTokens);
    expect([second?.sample, branched?.sample]).toEqual([0, 500]);
    expect(told.slice(3).map(({ step }) => step)).toEqual([2, 3]);
    expect(known.at(-1)).toEqual({ input_tokens: 0, cached_input_tokens: 0, output_tokens: 0 });
  });

  it('that was stopped goes on behind its own last step, and one that ended is found', async () => {
    const { run, requests } = rolloutWorld({ max_steps: 9 });
    await run([runs('a'), runs('b'), submits]);
    await expect(run([runs('c'), new Error('killed')], from(2))).rejects.toThrow('killed');
    const made = await run([submits], from(2));
    expect(ran(made.patch)).toEqual(['a', 'b', 'c']);
    const asked = requests.length;
    expect(await run([], { ...from(2), candidateId: 'x-1-branch-1' })).toEqual({
      ...made,
      candidate_id: 'x-1-branch-1',
    });
    expect(requests).toHaveLength(asked);
    // Another step, another branch.
    expect(ran((await run([submits], from(1))).patch)).toEqual(['a']);
  });

  it('says what is missing where the other’s steps are gone', async () => {
    await expect(rolloutWorld().run([submits], from(1))).rejects.toThrow(/0 of the 1 steps of rollout-1/);
  });
});
