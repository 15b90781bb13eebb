import { ModelUnavailableError, StoreUnavailableError } from '../../../../src/core/errors/unavailable.js';
import { Issue } from '../../../../src/core/run/issue.js';
import { MarkdownPromptLibrary } from '../../../../src/models/prompts/prompt-library.js';
import type { CompletionRequest } from '../../../../src/ports/llm-client.js';
import { createTestWriter } from '../../../../verifiers/execution-based/generated/test-writer.js';
import { completionOf } from '../../../fakes/completions.js';
import { FakeLlmClient } from '../../../fakes/fake-llm-client.js';
import { calcPatch, RIGHT } from '../../../fixtures/calculator.js';
import { gitRepository } from '../../../fixtures/git-repository.js';
import { go } from '../../../fixtures/sandbox-commands.js';

const PYTHON = {
  'calc.py': 'def add(a, b):\n    return a - b\n',
  'test_calc.py':
    'class TestAdd:\n    def test_zero(self):\n        assert add(0, 0) == 0\n\n    def test_minus(self):\n        assert add(2, 3) == -1\n\n\ndef test_zero():\n    assert "elsewhere"\n',
};
const GO = {
  'go.mod': 'module example.org/calc\n',
  'calc/calc.go': 'package calc\n\nfunc Add(a, b int) int {\n\treturn a - b\n}\n',
  'calc/calc_test.go': 'package calc\n\nfunc TestZero(t *testing.T) {\n\tAdd(0, 0)\n}\n',
};
const script = (condition: string): string => `\`\`\`python\nimport sys\nsys.exit(0 if ${condition} else 2)\n\`\`\`\n`;

function writer(
  files: Readonly<Record<string, string>>,
  answer: (request: CompletionRequest) => string,
  { samples = 1, holding = 0, rounds = 0 } = {},
): {
  readonly write: ReturnType<typeof createTestWriter>;
  readonly issue: Issue;
  readonly llm: FakeLlmClient;
  readonly asked: () => readonly { readonly system: string; readonly user: string }[];
} {
  const llm = new FakeLlmClient((request) => completionOf([{ token: answer(request) }]));
  const { sandbox } = gitRepository(files);
  const issue = Issue.parse({
    instance_id: 'i',
    problem_statement: 'The sums Add(2, 3) and add(2, 3) are -1.',
    environment: { image: 'x', regression_command: 'make check', test_timeout_s: 17 },
  });
  const write = createTestWriter({
    llm,
    sandbox,
    prompts: new MarkdownPromptLibrary(),
    model: 'm',
    samples,
    holding,
    rounds,
    count: 2,
  });
  const textOf = ({ messages }: CompletionRequest, role: string): string =>
    messages
      .filter((message) => message.role === role)
      .map(({ content }) => content)
      .join('\n');
  const asked = () =>
    llm.requests.map((request) => ({ system: textOf(request, 'system'), user: textOf(request, 'user') }));
  return { write, issue, llm, asked };
}

describe('who writes tests', () => {
  it('is asked by each sample to look at something else, the same in every run, and each test says at what', async () => {
    const ask = () => writer(PYTHON, ({ sample }) => script(`add(${String(sample)}, 1)`), { samples: 5 });
    const [first, second] = [ask(), ask()];
    const { tests } = await first.write.write(first.issue, go);
    expect(tests.map(({ author, angle }) => [author, angle])).toEqual([
      ['t1', 'example'],
      ['t2', 'careless'],
      ['t3', 'edges'],
      ['t4', 'beside'],
      ['t5', 'example'],
    ]);
    await second.write.write(second.issue, go);
    expect(second.asked()).toEqual(first.asked());
    const angles = first.asked().map(({ user }) => user.split('\n').at(-1));
    expect(new Set(angles).size).toBe(4);
    expect(angles[0]).toMatch(/^Several authors write.* what the issue shows/);
  });

  it('is asked apart for tests that hold on base', async () => {
    const answer = ({ messages, sample }: CompletionRequest): string =>
      script(`add(${String(sample)}, ${String(messages[0]?.content.length)}) == 1`);
    const { write, issue, asked } = writer(PYTHON, answer, { holding: 2 });
    const { tests } = await write.write(issue, go);
    expect(tests.map(({ author, kind, angle }) => [author, kind, angle])).toEqual([
      ['t1', undefined, 'all'],
      ['h1', 'pass-to-pass', 'works'],
      ['h2', 'pass-to-pass', 'works'],
    ]);
    const [failing, ...held] = asked();
    expect(failing?.system).toContain('must exit with 2 now');
    for (const { system, user } of held) {
      expect(system).toMatch(/breaks what works today[^]*must exit with 0 now/);
      expect(system).not.toMatch(/must exit with 2|asks for by name/);
      expect(user).toMatch(/You look at what works today[^\n]+$/);
    }
  });

  it('may lose a sample to the model, and none to the store', async () => {
    const write = (error: Error) => {
      const answer = ({ sample }: CompletionRequest): string => {
        if (sample === 1) throw error;
        return script('add(2, 3) == 5');
      };
      const { write: asked, issue } = writer(PYTHON, answer, { samples: 2 });
      return asked.write(issue, go);
    };
    expect((await write(new ModelUnavailableError('gone'))).tests).toHaveLength(1);
    await expect(write(new StoreUnavailableError('out'))).rejects.toThrow(StoreUnavailableError);
  });

  it('looks at everything where one sample is alone, and is told the seconds that a script has', async () => {
    const { write, issue, asked } = writer(PYTHON, () => script('add(2, 3) == 5'));
    const { tests } = await write.write(issue, go);
    expect(tests.map(({ angle }) => angle)).toEqual(['all']);
    expect(asked()[0]?.user).toMatch(/They differ from one another: the example of the issue[^\n]+$/);
    expect(asked()[0]?.system).toContain('stopped after 17 seconds');
  });

  it('is asked in a language without a driver for files, commands and reports, and shown how the project tests', async () => {
    const { write, issue, asked } = writer(GO, () => '```go calc/sum_test.go\npackage calc\n```\n');
    const { tests } = await write.write(issue, go);
    expect(tests).toMatchObject([{ test_id: 't1-1', path: 'calc/sum_test.go', author: 't1' }]);
    const { system = '', user = '' } = asked()[0] ?? {};
    expect(system).toMatch(/run by `go test` in that folder[^]*17 seconds, compiling included/);
    for (const part of ['--- calc/calc.go', 'return a - b', 'go.mod', 'func TestZero', '```go and', 'make check']) {
      expect(user).toContain(part);
    }
    expect(user).not.toMatch(/JUnit 4|python3/);
  });
});

describe('who mends tests', () => {
  const refused = [
    {
      test: { instance_id: 'i', test_id: 't1-1', path: 't1-1.py', content: 'WAS = 1\n', author: 't1' },
      reason: 'breaks on base',
      log: `${'x'.repeat(2_000)}\nNameError: name 'WAS' is wrong\n`,
    },
  ];

  it('sees why they were refused and what they printed last, with the source that it saw before', async () => {
    const { write, issue, asked } = writer(PYTHON, () => script('add(1, 1) == 2'));
    const [, tests] = [await write.write(issue, go), await write.mend(issue, refused, go)];
    expect(tests).toMatchObject([{ test_id: 'mended-1', author: 'mended' }]);
    const { system = '', user = '' } = asked()[1] ?? {};
    expect(system).toBe(asked()[0]?.system);
    for (const part of [
      't1-1.py: it breaks on base',
      'WAS = 1',
      "NameError: name 'WAS'",
      'return a - b',
      'up to 1 scripts',
    ]) {
      expect(user).toContain(part);
    }
    expect(user).not.toContain('x'.repeat(1_001));
  });

  it.each([
    ['NONE', 'test_calc.py', PYTHON],
    ['```go\npackage calc\n```\n', 'a_test.go', GO],
  ])('may have no idea, and is asked in its own language: %j', async (answer, _path, files) => {
    const { write, issue, asked } = writer(files, () => answer);
    expect(await write.mend(issue, refused, go)).toHaveLength(answer === 'NONE' ? 0 : 1);
    expect(asked()[0]?.user).toMatch(
      files === GO ? /fails now[^]*```go and, after a space/ : /exits with 2 now[^]*```python, with|```python and ends/,
    );
  });
});

describe('who compares two patches', () => {
  const WRONG = calcPatch('def add(a, b):', '    return 5');
  const tied = {
    patches: [RIGHT, WRONG],
    earlier: [
      {
        test: { instance_id: 'i', test_id: 't1-1', path: 't1-1.py', content: 'EXAMPLE = add(2, 3)\n', author: 't1' },
        said: ['solved', 'not-solved'],
      },
    ],
  } as const;

  it('sees the source around both, and the scripts so far with what they said', async () => {
    const { write, issue, asked } = writer(PYTHON, () => script('add(1, 1) == 2'));
    const { tests, equivalent } = await write.separate(issue, tied, go);
    expect(equivalent).toBe(false);
    expect(tests).toMatchObject([{ test_id: 'separating-1', author: 'separating' }]);
    const { user = '' } = asked()[0] ?? {};
    for (const part of [
      '--- calc.py (changed)',
      'return a - b',
      't1-1.py (A: solved, B: not-solved)',
      'EXAMPLE',
      'return 5',
    ]) {
      expect(user).toContain(part);
    }
    expect(user.split('--- calc.py (changed)')).toHaveLength(2);
  });

  it.each([
    ['They do the same.\nEQUIVALENT\n', true],
    ['NONE', false],
    ['They are not EQUIVALENT.', false],
    [`EQUIVALENT but for this.\n${script('add(1, 1) == 2')}EQUIVALENT`, false],
  ])('may say in the last line that they are equivalent: %j', async (answer, equivalent) => {
    const { write, issue } = writer(PYTHON, () => answer);
    expect((await write.separate(issue, tied, go)).equivalent).toBe(equivalent);
  });
});

describe('who writes tests that observe', () => {
  const ANSWER =
    'The sum.\n```python\nfrom calc import add\nobserve(add(2, 3))\n```\n```json\n[5]\n```\nTexts.\n```python\nobserve(lambda: add("a", 1))\n```\n';
  const alike = [RIGHT, calcPatch('def add(a, b):', '    return b + a')];
  const test = { instance_id: 'i', test_id: 'observing-1', path: 'observing-1.py', content: 'EARLIER = add(2, 3)\n' };

  it('sees no attempt at first, and gives what has to be shown where the issue settles it', async () => {
    const { write, issue, asked } = writer(PYTHON, () => ANSWER, { rounds: 2 });
    const tests = await write.observe?.(issue, { round: 0, alike: [], earlier: [] }, go);
    expect(tests).toMatchObject([
      { test_id: 'observing-1', observes: true, expect: [5], author: 'observing' },
      { test_id: 'observing-2', observes: true, author: 'observing' },
    ]);
    expect(tests?.[1]).not.toHaveProperty('expect');
    expect(asked()[0]?.user).toContain('return a - b');
    expect(asked()[0]?.user).not.toMatch(/ATTEMPTS/);
  });

  it('sees in further rounds those that are not told apart, the source around them, and what was shown', async () => {
    const { write, issue, asked } = writer(PYTHON, () => ANSWER, { rounds: 2 });
    const earlier = [{ test: { ...test, author: 'observing' }, values: ['-1', '5', '6'], alike: 1 }];
    expect(await write.observe?.(issue, { round: 1, alike, earlier }, go)).toMatchObject([
      { test_id: 'observing-2-1', author: 'observing' },
      { test_id: 'observing-2-2', author: 'observing' },
    ]);
    const { user = '' } = asked()[0] ?? {};
    expect(user.split('--- calc.py (changed)')).toHaveLength(2);
    expect(user).toMatch(/--- attempt 1\n[^]*return a \+ b[^]*--- attempt 2\n[^]*return b \+ a/);
    expect(user).toMatch(/EARLIER[^\n]*\n> without any attempt: -1\n> with these: 5\n> with others: 6/);
    expect(await write.observe?.(issue, { round: 2, alike, earlier }, go)).toEqual([]);
    expect(asked()).toHaveLength(1);
  });
});

describe('who names the existing tests that have to break', () => {
  const cases = Array.from({ length: 30 }, (_, n) => `test_calc.py::test_zero[${n}]`);
  const inner = 'test_inner.py::test_of_a_test';
  const minus = 'test_calc.TestAdd.test_minus';
  const tests = [...cases, 'test_calc.py::TestAdd::test_zero', inner, minus, 'a > title in words'];

  it('sees their bodies, cases as one, what the issue names first, and none that a test makes', async () => {
    const { write, issue, asked } = writer(PYTHON, () => `${minus}\n--- test_calc.py::test_zero\n${inner}\n`);
    expect(await write.exclude(issue, tests.slice(-4), go)).toEqual([]);
    const many = [...tests, ...Array.from({ length: 200 }, (_, n) => `other title ${n}`)];
    expect(await write.exclude(issue, many, go)).toEqual([...cases, minus]);
    const { user = '' } = asked()[1] ?? {};
    expect(user).toMatch(
      /--- test_calc\.TestAdd\.test_minus\n {4}def test_minus\(self\):\n {8}assert add\(2, 3\) == -1\n/,
    );
    expect(user).toMatch(/--- test_calc\.py::TestAdd::test_zero\n {4}def test_zero\(self\):\n {8}assert add\(0, 0\)/);
    expect(user).toMatch(/--- test_calc\.py::test_zero\ndef test_zero\(\):\n {4}assert "elsewhere"/);
    expect(user).toContain('--- a > title in words');
    expect(user).not.toContain('test_inner');
    expect(user.indexOf('test_minus')).toBeLessThan(user.indexOf('elsewhere'));
  });

  it('sees them where a name alone tells where they stand', async () => {
    const { write, issue, asked } = writer(GO, () => 'NONE');
    expect(await write.exclude(issue, ['example.org/calc/calc.TestZero/a case'], go)).toEqual([]);
    expect(asked()[0]?.user).toMatch(/--- example\.org\/calc\/calc\.TestZero\/a case\nfunc TestZero\([^]*Add\(0, 0\)/);
  });
});
