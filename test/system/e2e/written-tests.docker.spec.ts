import { chatReply } from '../../fakes/chat-reply.js';
import { type AnswerChat, ModelServer } from '../../fakes/model-server.js';
import { bash, call, finish } from '../../fixtures/agent-script.js';
import { calcPatch, calculatorIssue, candidate, RIGHT } from '../../fixtures/calculator.js';
import { CommandLine } from '../../fixtures/command-line.js';

const script = (condition: string): string =>
  `\`\`\`python\nimport sys\nfrom calc import add\nsys.exit(0 if ${condition} else 2)\n\`\`\`\n`;
const ANSWERS = [
  `The example.\n${script('add(2, 3) == 5')}Nothing is added.\n\`\`\`python\nfrom calc import add\nassert add(0, 4) == 4\n\`\`\`\n`,
  `Says so already.\n${script('add(3, 0) == 3')}Broken.\n\`\`\`python\nimport nothing_here\n\`\`\`\n`,
  'I cannot think of any.',
];
/** Holds on base, and is lost by whoever returns a constant. */
const HOLDS = `Nothing is taken away.\n${script('add(7, 0) == 7')}`;
/** In the place of those that base refuses. */
const MENDED = `It was true before.\n${script('add(3, 1) == 4')}`;
/** What the writer says of the existing tests. */
const EXCLUDED = 'NONE';
const WRONG = calcPatch('def add(a, b):', '    return 5');
const STATEMENT = 'calc.add(2, 3) returns -1 instead of 5.';

let server: ModelServer;
/** The executions of the existing tests are the same in all of these; what models said is stored for one wording alone. */
const store = new CommandLine();
let wordings = 0;
afterEach(() => server.close());

async function select(
  answer: AnswerChat,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ cli: CommandLine; args: string[] }> {
  let asked = 0;
  server = await ModelServer.start(
    (body) => {
      const excludes = body.messages.at(-1)?.content.includes('=== TESTS') === true;
      if (excludes) return { json: chatReply([{ token: EXCLUDED }], body.model) };
      return answer(body, asked++);
    },
    ['writer'],
  );
  const cli = new CommandLine({
    DATABASE_URL: `file:${store.path('store.sqlite')}`,
    OPENAI_BASE_URL: server.baseUrl,
    BESTK_TEST_MODEL: 'writer',
    BESTK_TEST_HOLDING: '0',
    ...settings,
  });
  const issue = { ...calculatorIssue, problem_statement: `${STATEMENT}${' '.repeat((wordings += 1))}Please mend it.` };
  const candidates = [candidate('wrong', WRONG), candidate('right', RIGHT)];
  const args = [
    ...['select', '--issue', cli.write('issue.json', JSON.stringify(issue)), '--verifiers', 'eb', '--json'],
    ...['--candidates', cli.jsonl('candidates.jsonl', candidates), '--out', cli.path('out')],
  ];
  return { cli, args };
}

/** Calls but those about the existing tests. */
const calls = (): typeof server.calls =>
  server.calls.filter(({ body }) => body.messages.at(-1)?.content.includes('=== TESTS') !== true);

describe('select without --tests', () => {
  it('has tests written from issue and source, admits them, runs them, and says why not', async () => {
    let written = 0;
    const { cli, args } = await select(
      ({ messages, model }) => {
        const holds = messages[0]?.content.includes('breaks what works today') === true;
        const mends = messages.at(-1)?.content.includes('=== REFUSED') === true;
        const answer = holds ? HOLDS : mends ? MENDED : (ANSWERS[written++] ?? '');
        return { json: chatReply([{ token: answer }], model) };
      },
      { BESTK_TEST_HOLDING: '1' },
    );
    const { code, stderr } = await cli.run(args);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(
        /5 written, 1 answers without any[^]*2 refused on base, 1 written in their place/,
      ) as string,
    });
    expect(cli.readJson('out/selection.json')).toMatchObject({
      candidate_id: 'right',
      ranking: [{ scores: { reproduction: 3 } }, { scores: { reproduction: 0 } }],
    });
    expect(
      cli.readLines('out/tests.jsonl').map(({ test_id, author }) => `${String(test_id)} ${String(author)}`),
    ).toHaveLength(6);
    expect(cli.readJson('out/run.json')).toMatchObject({
      provenance: { test_model: 'writer' },
      statistics: { tests_given: 6, tests_admitted: 4 },
    });
    const { admissions } = cli.readJson('out/run.json') as {
      admissions: { admitted: boolean; reason: string | null }[];
    };
    expect(admissions.filter(({ admitted }) => !admitted).map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([expect.stringMatching(/says "solved" on base/), expect.stringMatching(/breaks on base/)]),
    );

    const kinds = cli
      .readLines('out/matrix.jsonl')
      .filter(({ suite, candidate_id }) => suite === 'reproduction' && candidate_id !== 'right')
      .map(({ test_id, candidate_id, outcome, kind }) => [test_id, candidate_id, outcome, kind].map(String).join(' '));
    expect([...new Set(kinds)].toSorted()).toEqual([
      'h1-1 null solved resolved',
      'h1-1 wrong not-solved wrong-answer',
      'mended-1 null not-solved wrong-answer',
      'mended-1 wrong not-solved wrong-answer',
      't1-1 null not-solved wrong-answer',
      't1-1 wrong solved resolved',
      't1-2 null not-solved wrong-answer',
      't1-2 wrong not-solved wrong-answer',
      't2-1 null solved passes-on-base',
      't2-2 null crashed missing-name',
    ]);

    const { test_quality } = cli.readJson('out/run.json') as { test_quality: { information: number }[] };
    // The example is met by a constant, so only the other test tells the two apart.
    expect(test_quality.map(({ information }) => information).toSorted()).toEqual([0, 1, 1, 1]);

    const prompt =
      calls()[0]
        ?.body.messages.map(({ content }) => content)
        .join('\n') ?? '';
    for (const part of ['calc.add(2, 3) returns -1', '--- calc.py', 'return a - b', 'python3 -m pytest', 'exit(2)']) {
      expect(prompt).toContain(part);
    }
    expect(prompt).not.toContain('return 5');
    expect(calls()).toHaveLength(5);
    const refused = calls().at(-1)?.body.messages.at(-1)?.content ?? '';
    for (const part of ['t2-1.py: it says "solved" on base', 'add(3, 0) == 3', "No module named 'nothing_here'"]) {
      expect(refused).toContain(part);
    }
    expect(refused).not.toContain('h1-1');

    const saved = await cli.run([...args.slice(0, -1), cli.path('again'), '--tests', cli.path('out/tests.jsonl')]);
    expect(saved.code).toBe(0);
    expect(cli.readJson('again/selection.json')).toMatchObject({ candidate_id: 'right' });
    expect(calls()).toHaveLength(5);
  });

  it('goes on by the rest when no test was written', async () => {
    const { cli, args } = await select((body) => ({ json: chatReply([{ token: 'None.' }], body.model) }));
    const { code } = await cli.run(args);
    expect(code).toBe(0);
    const verdicts = cli.readLines('out/verdicts.jsonl').filter(({ measure }) => measure === 'reproduction');
    expect(verdicts.map(({ kind, reason }) => [kind, reason])).toEqual([
      ['abstained', 'no-tests'],
      ['abstained', 'no-tests'],
    ]);
  });

  it('tells a test writer that is down from one without ideas', async () => {
    const { cli, args } = await select(() => ({ status: 401, json: { error: { message: 'wrong key' } } }));
    const { code, stderr } = await cli.run(args);
    expect(`${code} ${stderr}`).toMatch(/^3 [^]*wrong key/);
  });

  it('asks once more when the leaders are tied, for tests that tell them apart', async () => {
    const answers = [`One.\n${script('add(2, 3) == 5')}`, `Other numbers.\n${script('add(1, 1) == 2')}`];
    const { cli, args } = await select(
      (body, index) => ({ json: chatReply([{ token: answers[index] ?? '' }], body.model) }),
      { BESTK_TEST_SAMPLES: '1' },
    );
    const { code, stderr } = await cli.run(args);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 more written/) as string });
    expect(cli.readJson('out/selection.json')).toMatchObject({ candidate_id: 'right' });
    expect(cli.readLines('out/tests.jsonl').map(({ author }) => author)).toEqual(['t1', 'separating']);
    const prompt = calls()[1]?.body.messages.at(-1)?.content ?? '';
    expect(prompt).toContain('return 5');
    expect(calls()).toHaveLength(2);
  });

  it('has an agent write them in a container of its own, and looks at nothing but its scripts', async () => {
    const content = 'import sys\nfrom calc import add\nsys.exit(0 if add(2, 3) == 5 else 2)\n';
    const create = call('file_editor', {
      command: 'create',
      path: '/testbed/bestk_tests/test_1.py',
      file_text: content,
    });
    const blind = 'sed s/else.2/else\\ 0/ bestk_tests/test_1.py >bestk_tests/test_2.py';
    const mends = 'rm bestk_tests/test_2.py; echo cheat >>calc.py';
    const answers = [
      create,
      bash(`python3 bestk_tests/test_1.py; echo "said $?"; ${blind}`),
      finish,
      bash(mends),
      finish,
    ];
    const { cli, args } = await select(
      (body, index) => ({ json: chatReply([{ token: answers[index] ?? 'None.' }], body.model) }),
      { BESTK_TEST_AUTHOR: 'agent', BESTK_TEST_SAMPLES: '1' },
    );
    const { code } = await cli.run(args);
    expect(code).toBe(0);
    expect(cli.readLines('out/tests.jsonl')).toMatchObject([{ test_id: 'test_1', author: 'agent', content }]);
    expect(cli.readJson('out/run.json')).toMatchObject({ statistics: { tests_admitted: 1 } });
    const told = calls().map(({ body }) => body.messages.at(-1)?.content ?? '');
    expect(told[2]).toContain('said 2');
    expect(told[3]).toMatch(/Not submitted yet[^]*- bestk_tests\/test_2\.py exited with 0, as if/);
    expect(told[3]).not.toContain('test_1.py');
    expect(calls()[0]?.body.messages.at(-1)?.content).toMatch(/4 scripts[^]*bestk_tests/);
  });

  it('takes tests from the trajectories of the candidates', async () => {
    const path = '/testbed/reproduce_issue.py';
    const text = 'from calc import add\nassert add(4, 4) == 8, add(4, 4)\n';
    const steps = [{ action: call('file_editor', { command: 'create', path, file_text: text }) }];
    const { cli, args } = await select((body) => ({ json: chatReply([{ token: 'None.' }], body.model) }), {
      BESTK_TEST_HARVEST: '2',
    });
    const own = [candidate('wrong', WRONG), { ...candidate('right', RIGHT), trajectory: { steps } }];
    cli.jsonl('candidates.jsonl', own);
    const { code, stderr } = await cli.run(args);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringMatching(/1 from the cand/) as string });
    expect(cli.readJson('out/selection.json')).toMatchObject({ candidate_id: 'right' });
    expect(cli.readLines('out/tests.jsonl')).toMatchObject([{ test_id: 'right-own-1', author: 'right' }]);
  });
});
