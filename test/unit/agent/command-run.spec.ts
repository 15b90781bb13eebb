import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readTrajectory } from '../../../src/io/saved-runs/import-runs.js';
import { BudgetSpentError, ContextTooLongError, ModelUnavailableError } from '../../../src/core/errors/unavailable.js';
import type { CompletionRequest } from '../../../src/ports/llm-client.js';
import type { ExecOutcome } from '../../../src/ports/sandbox.js';
import { FORWARDER } from '../../../src/agent/command/forwarder.js';
import { Lines } from '../../../src/agent/command/model-route.js';
import { ended, exited, FakeSandbox, type FakeSessionView } from '../../fakes/fake-sandbox.js';
import { calculatorIssue } from '../../fixtures/calculator.js';
import { PlayedModel, rolloutWorld, says, usage } from './rollout-world.js';

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly json: {
    choices?: { message?: unknown; delta?: unknown; finish_reason: string | null }[];
    error?: { code: string; message: string };
  };
  readonly text: string;
}
type Ask = (body: unknown, path?: string, method?: string) => Promise<Answer>;

const user = (content: unknown) => ({ role: 'user', content });
const chat = (...messages: readonly unknown[]) => ({ messages });
const PATCH = `\0:000000 100644 0 1 A\0a.py\0\0diff --git a/a.py b/a.py\n+1\n`;

/** A container in which the forwarder and the program behind it are played by a function. */
function world(
  program: (ask: Ask, session: FakeSessionView) => Promise<ExecOutcome | number>,
  answer: (request: CompletionRequest) => ReturnType<typeof says> = () => says('Hm.'),
  more: { trajectory?: string } = {},
) {
  const asked: CompletionRequest[] = [];
  const model = new PlayedModel(async (request) => {
    asked.push(request);
    return answer(request);
  });
  const sandbox = new FakeSandbox(async ({ argv, onStdout, env }, session) => {
    if (argv[0] !== 'python3') return exited(0, PATCH);
    let count = 0;
    const folder = argv[3] ?? '';
    const say = (value: unknown): void => {
      // In two pieces: a stream is not cut where lines end.
      const line = Buffer.from(`${JSON.stringify(value)}\n`);
      onStdout?.(line.subarray(0, 5));
      onStdout?.(line.subarray(5));
    };
    const fileAt = async (path: string): Promise<string> => {
      for (let tries = 0; tries < 1_000; tries += 1) {
        const bytes = session.files.get(path);
        if (bytes !== undefined) return Buffer.from(bytes).toString();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      throw new Error('Nobody answered.');
    };
    const ask: Ask = async (body, path = '/v1/chat/completions', method = 'POST') => {
      const id = (count += 1);
      say({ id, method, path, body: typeof body === 'string' ? body : JSON.stringify(body) });
      const [size = '', ...rest] = (await fileAt(`${folder}/${id}`)).split('\n');
      const text = rest.join('\n');
      expect(Buffer.byteLength(text)).toBe(Number(size));
      const { status, type, text: said } = JSON.parse(text) as { status: number; type: string; text: string };
      return {
        status,
        type,
        text: said,
        json: type === 'application/json' ? (JSON.parse(said) as Answer['json']) : {},
      };
    };
    expect(Buffer.from(session.files.get(env?.BESTK_ISSUE ?? '') ?? []).toString()).toBe(
      calculatorIssue.problem_statement,
    );
    const end = await program(ask, session);
    if (typeof end !== 'number') return end;
    const why = session.files.has(`${folder}/stop`) ? 'stopped' : 'own';
    say({ ended: why, code: end, tail: 'the end' });
    return exited(0);
  });
  const settings = { command: 'agent', ...more };
  const rollouts = rolloutWorld({ max_steps_absolute: 4, max_steps: 4 }, { sandbox, settings, readTrajectory });
  return { asked, sandbox, run: () => rollouts.run(model), told: rollouts.told };
}

it('a program is answered as by OpenAI, by the agent’s own model, and its calls are the steps', async () => {
  const call = { id: 'c1', name: 'bash', arguments: '{"cmd":"ls"}' };
  const answers: Answer[] = [];
  const { asked, run, told } = world(
    async (ask) => {
      const tools = [{ type: 'function', function: { name: 'bash', parameters: { type: 'object' } } }];
      answers.push(
        await ask({ model: 'gpt-9', tools, max_tokens: 50, ...chat(user([{ type: 'text', text: 'Go.' }])) }),
      );
      const called = {
        role: 'assistant',
        content: null,
        reasoning: 'Where?',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'bash', arguments: '{}' } }],
      };
      const streamed = { stream: true, stream_options: { include_usage: true } };
      answers.push(
        await ask({ ...chat(user('Go.'), called, { role: 'tool', tool_call_id: 'c1', content: 'a.py' }), ...streamed }),
      );
      return 0;
    },
    ({ tools }) =>
      tools === undefined
        ? says('Done.', { usage: usage(200), answer_usage: usage(100) })
        : says('I look.', { tool_calls: [call], finish_reason: 'stop' }),
  );
  const { exit_reason, patch, steps } = await run();
  expect({ exit_reason, patch }).toEqual({ exit_reason: 'agent', patch: 'diff --git a/a.py b/a.py\n+1\n' });
  expect(asked[0]).toMatchObject({ model: 'agent', maxTokens: 50, messages: [{ role: 'user', content: 'Go.' }] });
  expect(asked.map(({ mayBeShorter }) => mayBeShorter)).toEqual([false, true]);
  expect(asked[1]?.messages[1]).toMatchObject({
    role: 'assistant',
    content: '',
    reasoning: 'Where?',
    tool_calls: [{ id: 'c1', name: 'bash' }],
  });
  const [one, two] = answers;
  expect(one?.json.choices?.[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ id: 'c1', function: { name: 'bash', arguments: '{"cmd":"ls"}' } }],
    },
  });
  expect(two?.type).toBe('text/event-stream');
  expect(two?.text).toMatch(
    /^data: \{.*"delta":\{"role":"assistant","content":"Done\."\}.*\n\n(data: .*\n\n){2}data: \[DONE\]\n\n$/,
  );
  expect(two?.text).toContain('"prompt_tokens":100');
  expect(steps.map(({ thought, observation }) => [thought, observation])).toEqual([
    ['I look.', 'a.py'],
    ['Done.', ''],
    ['', 'the end'],
  ]);
  expect(steps[0]?.action).toContain('<function=bash>');
  expect(told.map(({ step, tool }) => [step, tool])).toEqual([
    [1, 'bash'],
    [2, null],
  ]);
});

it('equal requests are samples of their own, and other places are not there', async () => {
  const seen: Answer[] = [];
  const { asked, run } = world(async (ask) => {
    await ask(chat(user('Go.')));
    await ask(chat(user('Go.')));
    for (const [body, path, method] of [
      ['', '/v1/models', 'GET'],
      ['', '/v1/responses', 'POST'],
      ['', 'http://169.254.169.254/latest', 'GET'],
      ['{', undefined, undefined],
      [chat(user([{ type: 'image_url', image_url: { url: 'http://x' } }])), undefined, undefined],
      [{ n: 2, ...chat(user('x')) }, undefined, undefined],
    ] as const)
      seen.push(await ask(body, path, method));
    return 0;
  });
  await run();
  expect(asked.map(({ sample }) => sample)).toEqual([0, 1]);
  expect(seen.map(({ status }) => status)).toEqual([200, 404, 404, 400, 400, 400]);
});

it.each([
  ['takes more calls than it may', 'abs_step_limit', (): ReturnType<typeof says> => says('Hm.'), 429],
  [
    'has spent the budget',
    'budget_limit',
    (): never => {
      throw new BudgetSpentError('no');
    },
    429,
  ],
  [
    'asks for more than fits',
    'agent',
    (): never => {
      throw new ContextTooLongError('long');
    },
    400,
  ],
] as const)('a program that %s is told so, and its patch is kept (%s)', async (_, reason, answer, status) => {
  let last: Answer | undefined;
  const { run } = world(async (ask) => {
    for (let turn = 0; turn < (status === 400 ? 3 : 5); turn += 1) last = await ask(chat(user(String(turn))));
    return 0;
  }, answer);
  expect(await run()).toMatchObject({ exit_reason: reason, patch: expect.stringContaining('+1') as string });
  expect(last?.status).toBe(status);
});

it('a model that does not answer is no fact about the program, and is not asked again by us', async () => {
  const { asked, run, sandbox } = world(
    async (ask) => {
      await ask(chat(user('Go.')));
      return 0;
    },
    () => {
      throw new ModelUnavailableError('gone');
    },
  );
  await expect(run()).rejects.toThrow(ModelUnavailableError);
  expect([asked.length, sandbox.opens]).toEqual([1, 1]);
});

it('its own trajectory stands for its calls, with what these came to', async () => {
  const messages = [user('Go.'), { role: 'assistant', content: 'I look.\n```bash\nls\n```' }, user('a.py')];
  const file = JSON.stringify({ info: { exit_status: 'Submitted', submission: '' }, messages });
  const { run } = world(
    async (ask, session) => {
      await ask(chat(user('Go.')));
      session.files.set('/tmp/t.json', Buffer.from(file));
      return 3;
    },
    undefined,
    { trajectory: '/tmp/t.json' },
  );
  const { steps, exit_reason } = await run();
  expect(exit_reason).toBe('command_failed');
  expect(steps[0]).toMatchObject({ thought: 'I look.', action: 'ls', observation: 'a.py', input_tokens: null });
  expect(steps.map(({ input_tokens }) => input_tokens)).toEqual([null, 100, null]);
});

it('what is too much to read is refused, and nothing of it kept', async () => {
  const seen: Answer[] = [];
  const deep = `{"messages":${'['.repeat(1_000_000)}`;
  const { asked, run } = world(
    async (ask, session) => {
      seen.push(await ask(deep), await ask(chat(...Array.from({ length: 60_000 }, () => ({})))));
      await ask(chat(user('Go.')));
      await ask(chat(user('Go.'), { role: 'assistant', content: 'x' }, user('y'.repeat(1_000_000))));
      session.files.set('/tmp/t.json', Buffer.from(deep));
      return 0;
    },
    undefined,
    { trajectory: '/tmp/t.json' },
  );
  const { steps } = await run();
  expect(seen.map(({ status }) => status)).toEqual([400, 400]);
  expect(asked.length).toBe(2);
  expect(steps[0]?.observation.length).toBeLessThan(110_000);
});

it('a program that asks too much at once is told to wait', async () => {
  let most = 0;
  const { run } = world(async (ask) => {
    const all = await Promise.all(Array.from({ length: 100 }, (_, at) => ask(chat(user(String(at))))));
    most = all.filter(({ json: { error } }) => error?.code === 'rate_limit_exceeded').length;
    return 0;
  });
  await run();
  expect(most).toBeGreaterThan(50);
});

it('of a flood of requests most are passed over', async () => {
  let written = 0;
  const { run } = world(async (ask, session) => {
    for (let at = 0; at < 400; at += 1) void ask(chat(user(String(at)))).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 100));
    written = session.files.size;
    return 0;
  });
  await run();
  expect(written).toBeLessThan(200);
});

it('no more lines are read than a program can have asked for', async () => {
  const lines: string[] = [];
  const reader = new Lines((line) => lines.push(line));
  for (let piece = 0; piece < 10; piece += 1) reader.take(Buffer.alloc(65_536, '\n'));
  expect(lines.length).toBeLessThan(50_000);
});

const IMAGE = /has no python3/;
it.each([
  ['an image without Python', async (): Promise<ExecOutcome> => exited(127, '', 'python3: not found'), IMAGE],
  ['memory', async (): Promise<ExecOutcome> => ended('out-of-memory'), /out-of-memory/],
  ['a forwarder whose report is not read', async (): Promise<ExecOutcome> => exited(0), null],
] as const)('what ends before the program does is told: %s', async (_, program, message) => {
  const { run } = world(program);
  if (message === IMAGE) await expect(run()).rejects.toThrow(message);
  else {
    const { exit_reason, patch_problem } = await run();
    expect({ exit_reason, problem: patch_problem ?? '' }).toEqual({
      exit_reason: 'command_failed',
      problem: message === null ? '' : (expect.stringMatching(message) as string),
    });
  }
});

it('the last step has the time since the last answer, or since the start where the program asks nothing', async () => {
  const { run } = world(async () => {
    await new Promise((resolve) => setTimeout(resolve, 30));
    return exited(0);
  });
  const { steps } = await run();
  expect(steps.at(-1)?.env_s).toBeGreaterThanOrEqual(0.02);
});

it('the forwarder itself refuses what bestk would not read, so that no program waits for ever', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bestk-forwarder-'));
  const program = String.raw`
import json, os, threading, time, urllib.error, urllib.request
seen = []
def ask(body):
    try:
        urllib.request.urlopen(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body.encode())
    except urllib.error.HTTPError as error:
        seen.append([error.code, json.loads(error.read().decode())['error']['code']])
ask('"' * 5000000)
ask('ä' * 5000000)
for _ in range(80):
    threading.Thread(target=ask, args=('x',), daemon=True).start()
while len(seen) < 18:
    time.sleep(0.01)
print(json.dumps([seen[0], seen[1], seen[-1], len(seen)]))
`;
  await writeFile(join(folder, 'program.py'), program);
  const log = join(folder, 'log');
  const child = spawn('python3', ['-c', FORWARDER, folder, log, '120', `python3 ${join(folder, 'program.py')}`]);
  const lines: string[] = [];
  const reader = new Lines((line) => lines.push(line));
  child.stdout.on('data', reader.take);
  await once(child, 'close');
  expect(JSON.parse(await readFile(log, 'utf8'))).toEqual([
    [413, 'request_too_large'],
    [413, 'request_too_large'],
    [429, 'rate_limit_exceeded'],
    18,
  ]);
  const told = lines.map((line) => JSON.parse(line) as { id?: number; ended?: string });
  expect(told.at(-1)).toMatchObject({ ended: 'own', code: 0 });
  expect(new Set(told.map(({ id }) => id)).size).toBe(64 + 1);
  await rm(folder, { recursive: true });
});
