import { ACTION_FORMATS } from '../../../src/agent/call-formats/formats.js';
import { FORMAT_NAMES } from '../../../src/core/run/agent.js';
import { instancePrompt } from '../../../src/agent/loop/conversation.js';
import { AgentLimits } from '../../../src/core/run/agent.js';
import { createAgentTestWriter, writtenIn } from '../../../src/agent/test-writing-agent.js';
import type { TokenCounts } from '../../../src/core/budget/budget.js';
import { toolSpecs } from '../../../src/agent/tools/tool-specs.js';
import { ModelUnavailableError, StoreUnavailableError } from '../../../src/core/errors/unavailable.js';
import { GptTokenizer } from '../../../src/models/llm-clients.js';
import { MarkdownPromptLibrary } from '../../../src/models/prompts/prompt-library.js';
import type { ExecOutcome } from '../../../src/ports/sandbox.js';
import { FakeLlmClient, type ScriptedCompletion } from '../../fakes/fake-llm-client.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { calculatorIssue } from '../../fixtures/calculator.js';
import { logSandbox, outOfMemory, rolloutWorld, type RolloutWorld, runs, submits, usage } from './rollout-world.js';

const added = (path: string, ...lines: readonly string[]): string =>
  `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines.length} @@\n` +
  lines.map((line) => `+${line}\n`).join('');

describe('the tests of an agent', () => {
  it('are the scripts that it left in their folder, whole', () => {
    const patch = added('bestk_tests/test_1.py', 'import sys', '', '+x', 'sys.exit(2)');
    expect(writtenIn(patch, 'i')).toEqual([
      {
        instance_id: 'i',
        test_id: 'test_1',
        path: 'test_1.py',
        content: 'import sys\n\n+x\nsys.exit(2)\n',
        author: 'agent',
      },
    ]);
  });

  it('are of an author of their own in each session', () => {
    const patch = added('bestk_tests/test_1.py', 'import sys', 'sys.exit(2)');
    expect(writtenIn(patch, 'i', 1)).toMatchObject([
      { test_id: 'agent-2-test_1', path: 'agent-2-test_1.py', author: 'agent-2' },
    ]);
  });

  it.each([
    ['a file elsewhere', added('test_1.py', 'x')],
    ['one in a folder below', added('bestk_tests/a/test_1.py', 'x')],
    ['one of another language', added('bestk_tests/notes.md', 'x')],
    ['an empty one', added('bestk_tests/test_1.py', ' ')],
    ['a change of the source', 'diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a\n+b\n'],
    ['nothing', ''],
    ['what is no patch', 'nonsense'],
  ])('are not %s', (_name, patch) => {
    expect(writtenIn(patch, 'i')).toEqual([]);
  });
});

describe('several sessions of an author', () => {
  const write = (
    answer: (sample: number | undefined) => ScriptedCompletion,
    { results = new MemoryResultStore(), known = [] }: { results?: MemoryResultStore; known?: TokenCounts[] } = {},
  ) => {
    const patch = added('bestk_tests/a.py', 'import sys', 'sys.exit(2)');
    const sandbox = new FakeSandbox(({ argv }) => {
      if (argv[3] === 'author') return exited(0, '2 bestk_tests/a.py\n');
      return exited(0, argv[4] === 'all' ? `\0:000000 100644 0 1 A\0bestk_tests/a.py\0\0${patch}` : '');
    });
    const settings = {
      ...{ model: 'writer', endpoint: 'test', format: 'xml' as const, temperature: 1 },
      ...{ limits: AgentLimits.parse({}), asked: { prompt: 'agent/test-author', count: 1 } as const },
    };
    const tools = { sandbox, results, prompts: new MarkdownPromptLibrary() };
    const llm = new FakeLlmClient(({ sample, messages }) => (messages.length > 2 ? submits : answer(sample)));
    const asking = { ...tools, tokenizer: new GptTokenizer(), progress: null, tries: 1, settings, llm };
    const writer = createAgentTestWriter(asking, 3, async (_model, spent) => void known.push(spent));
    return writer.write(calculatorIssue, new AbortController().signal);
  };
  const lost = new ModelUnavailableError('gone');

  it('leave tests of as many authors, also where one is lost', async () => {
    const { tests, unreadable } = await write((sample) => (sample === 1 ? lost : runs('write them')));
    expect(tests.map(({ test_id, author }) => [test_id, author])).toEqual([
      ['a', 'agent'],
      ['agent-3-a', 'agent-3'],
    ]);
    expect(unreadable).toBe(0);
  });

  it('cost again what they had cost when a run is resumed', async () => {
    const [results, known] = [new MemoryResultStore(), [] as TokenCounts[]];
    await write(() => runs('write them'), { results });
    await write(() => lost, { results, known });
    expect(known).toEqual(Array.from({ length: 3 }, () => usage(200, 20)));
  });

  it('fail together where the store is out for one, whose tests would be lost', async () => {
    const out = new StoreUnavailableError('out');
    await expect(write((sample) => (sample === 1 ? out : runs('write them')))).rejects.toBe(out);
  });

  it('fail together where all are lost', async () => {
    await expect(write(() => lost)).rejects.toThrow('gone');
  });
});

describe('an author that ends', () => {
  const asked = { prompt: 'agent/test-author', count: 3 } as const;
  /** Notes how often the scripts were tried. */
  const author = (tried: (round: number) => ExecOutcome, limits: Partial<AgentLimits> = {}) => {
    let rounds = 0;
    const played = logSandbox();
    const sandbox = new FakeSandbox((request, session) =>
      request.argv[3] === 'author' ? tried((rounds += 1)) : played.handler(request, session),
    );
    return { world: rolloutWorld(limits, { sandbox, settings: { asked } }), rounds: () => rounds };
  };
  const told = ({ requests }: RolloutWorld): string => requests.at(-1)?.messages.at(-1)?.content ?? '';

  it.each([
    [
      'that a script accepts base',
      exited(0, '2 bestk_tests/a.py\n0 bestk_tests/b c.py\n'),
      /^- bestk_tests\/b c\.py exited with 0/m,
    ],
    ['that one is broken', exited(0, '1 bestk_tests/a.py\n'), /a\.py ended with 1, neither 0 nor 2/],
    ['that one hangs', exited(0, '124 bestk_tests/a.py\n'), /a\.py did not end within 20 s/],
    [
      'that one is where none is read',
      exited(0, '2 bestk_tests/a.py\ndeeper bestk_tests/x/b.py\n'),
      /^- bestk_tests\/x\/b\.py is in a folder of its own[^]*move it into bestk_tests\/ itself/m,
    ],
    ['that there is none', exited(0, ''), /no \.py script in bestk_tests\/ itself/],
    ['that they take everything', outOfMemory, /more memory/],
  ])('is told once %s, and goes on', async (_what, outcome, words) => {
    const { world, rounds } = author(() => outcome);
    const { exit_reason, steps } = await world.run([submits, runs('mend'), submits]);
    expect(world.requests[1]?.messages.at(-1)?.content).toMatch(words);
    expect({ exit_reason, steps: steps.length, rounds: rounds() }).toEqual({
      exit_reason: 'agent',
      steps: 3,
      rounds: 1,
    });
  });

  it('ends at once where every script refuses base', async () => {
    const { world } = author(() => exited(0, '2 bestk_tests/a.py\n'));
    const { exit_reason, steps } = await world.run([submits]);
    expect({ exit_reason, steps: steps.length }).toEqual({ exit_reason: 'agent', steps: 1 });
  });

  it('ends, too, with its last step', async () => {
    const { world, rounds } = author(() => exited(0, ''), { max_steps: 2 });
    const { exit_reason } = await world.run([runs('look'), submits]);
    expect({ exit_reason, rounds: rounds() }).toEqual({ exit_reason: 'agent', rounds: 0 });
    expect(told(world)).toContain('Steps Remaining: 1');
  });

  it('goes on behind what it was told when it is resumed', async () => {
    const { world, rounds } = author(() => exited(0, ''));
    await expect(world.run([submits, new Error('killed')])).rejects.toThrow('killed');
    const { exit_reason, steps } = await world.run([submits]);
    expect({ exit_reason, steps: steps.length, rounds: rounds() }).toEqual({
      exit_reason: 'agent',
      steps: 2,
      rounds: 1,
    });
  });

  it('tells nobody else', async () => {
    const { steps } = await rolloutWorld().run([submits]);
    expect(steps[0]?.observation).not.toContain('Not submitted');
  });
});

it.each(FORMAT_NAMES)('is told in %s what it is to end with, and how much of an output it sees', async (name) => {
  const asked = { prompt: 'agent/test-author', count: 3 } as const;
  const format = ACTION_FORMATS[name];
  const prompts = new MarkdownPromptLibrary();
  for (const role of ['solver', 'author', 'judge'] as const) {
    const settings = { limits: AgentLimits.parse({}), ...(role === 'author' ? { asked } : {}) };
    const inspection = { patch: '', question: 'Right?', model: 'm', max_steps: 5, sample: 0 };
    const task = { issue: calculatorIssue, ...(role === 'judge' ? { inspection } : {}) };
    const messages = await instancePrompt(prompts, format, task, settings);
    const offered = format.offersTools ? JSON.stringify(toolSpecs(role)) : '';
    const said = messages.map(({ content }) => content).join('\n') + offered;
    expect(said.split('Of long output the first and last 40 lines are shown, and a file is named')).toHaveLength(2);
    expect(said.includes('repository as it is')).toBe(role === 'solver');
    expect(said.includes('scripts as they are')).toBe(role === 'author');
    if (name === 'bash') expect(said).not.toMatch(/\bcall (?:finish|exactly|one)/i);
  }
});

it.each(FORMAT_NAMES)('is told in %s to write tests, and nowhere to change the source', async (name) => {
  const asked = { prompt: 'agent/test-author', count: 3 } as const;
  const settings = { limits: AgentLimits.parse({}), asked };
  const prompts = new MarkdownPromptLibrary();
  const messages = await instancePrompt(prompts, ACTION_FORMATS[name], { issue: calculatorIssue }, settings);
  const system = messages[0]?.content ?? '';
  expect(system).toContain('You write tests for a repository');
  expect(system).not.toMatch(/change the source|check your change/);
});
