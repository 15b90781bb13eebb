import { once } from 'node:events';
import { CommandLine, type Ended } from '../../fixtures/command-line.js';
import { CALCULATOR, calcTest, calculatorIssue, candidate, RIGHT } from '../../fixtures/calculator.js';

const cli = new CommandLine();
const ISSUE = JSON.stringify(calculatorIssue);
const GOOD = `${JSON.stringify(candidate('a', RIGHT))}\n`;

interface Inputs {
  readonly issue?: string;
  readonly candidates?: string | Uint8Array;
  readonly tests?: string;
  readonly more?: readonly string[];
}

function select({ issue = ISSUE, candidates = GOOD, tests, more = ['--verifiers', 'eb'] }: Inputs): Promise<Ended> {
  const args = [
    ...['select', '--issue', cli.write('issue.json', issue), '--candidates', cli.write('candidates.jsonl', candidates)],
    ...(tests === undefined ? [] : ['--tests', cli.write('tests.jsonl', tests)]),
    ...['--out', cli.path('out'), ...more],
  ];
  return cli.run(args, { DOCKER_HOST: 'unix:///nonexistent/docker.sock' });
}

const twice = GOOD + GOOD;
const test = JSON.stringify(calcTest('t', 'True'));
const imageless = { ...calculatorIssue.environment, image: undefined };

/** Each is told with exit 2 before Docker is asked for anything, in words that name the place. */
const CASES: Readonly<Record<string, [Inputs, RegExp]>> = {
  'no image': [
    { issue: JSON.stringify({ ...calculatorIssue, environment: imageless }) },
    /issue\.json.*environment\.image.*\n.*--image/,
  ],
  'an issue that is no JSON': [
    { issue: '{"instance_id": "a", oops' },
    /issue\.json, line 1: is neither JSON nor JSONL/,
  ],
  'a wrong field': [
    {
      issue: JSON.stringify({
        ...calculatorIssue,
        environment: { ...calculatorIssue.environment, test_timeout_s: -1 },
      }),
    },
    /issue\.json, line 1, field "environment\.test_timeout_s"/,
  ],
  'an unknown instance': [
    { more: ['--instance', 'other__x-1'] },
    /has no instance "other__x-1".*\nIt contains: calculator__add-1/,
  ],
  'duplicate candidates': [
    { candidates: twice },
    /candidates\.jsonl, line 2, field "candidate_id": "a" already occurs on line 1/,
  ],
  'a broken line': [{ candidates: `${GOOD}{"instance_id": "x"` }, /candidates\.jsonl, line 2: is not JSON/],
  'a missing patch': [
    { candidates: `{"instance_id": "${CALCULATOR}", "candidate_id": "a"}` },
    /candidates\.jsonl, line 1, field "patch"/,
  ],
  'no candidates': [{ candidates: '' }, /candidates\.jsonl: has no records/],
  'candidates of another issue': [
    { candidates: '{"instance_id": "b", "candidate_id": "a", "patch": ""}' },
    /has no candidate of instance "calculator__add-1"/,
  ],
  'invalid UTF-8': [
    { candidates: Buffer.concat([Buffer.from(GOOD), Buffer.from([0x22, 0xff, 0xfe, 0x0a])]) },
    /candidates\.jsonl, line 2: is not valid UTF-8/,
  ],
  'duplicate tests': [{ tests: `${test}\n${test}\n` }, /tests\.jsonl, line 2, field "test_id"/],
  'tests of another issue': [{ tests: test.replace(CALCULATOR, 'b') }, /has no test of instance/],
  'an unknown preset': [{ more: ['--preset', 'nope'] }, /nope[\s\S]*deepswe/],
  'an unknown verifier': [{ more: ['--verifiers', 'eb,xx'] }, /verifiers/],
  'a judge without a model': [{ more: ['--verifiers', 'ef'] }, /BESTK_VERIFIER_MODEL/],
  'an unknown option': [{ more: ['--nope'] }, /unknown option '--nope'/],
  'labels that are not there': [{ more: ['--labels', '/nonexistent/labels.jsonl'] }, /labels\.jsonl: does not exist/],
};

describe('bad input', () => {
  it.each(Object.entries(CASES))('%s ends with exit 2 and says where', async (_name, [inputs, words]) => {
    const { code, stdout, stderr } = await select(inputs);
    expect(stderr).toMatch(words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  });

  it('folders that cannot be made are told, not waited for', async () => {
    const store = await cli.run(['doctor'], { DATABASE_URL: 'file:/proc/x/store.sqlite' });
    expect(store).toMatchObject({ code: 3 });
    expect(store.stderr).toContain('/proc/x/store.sqlite');
    const out = await select({ more: ['--verifiers', 'eb', '--out', '/proc/x/y'] });
    expect(out).toMatchObject({ code: 2 });
    expect(out.stderr).toContain('/proc/x/y');
  });

  it('output that nobody reads any more, as behind head, ends nothing', async () => {
    const child = cli.start(['solve', '--help']);
    child.stdout?.destroy();
    let stderr = '';
    child.stderr?.on('data', (piece: Buffer) => (stderr += piece.toString()));
    const [code] = (await once(child, 'close')) as [number | null];
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  it('a bad setting is told by its name', async () => {
    const { code, stderr } = await cli.run(['doctor'], { BESTK_SANDBOX_CONCURRENCY: 'many' });
    expect(stderr).toContain('BESTK_SANDBOX_CONCURRENCY');
    expect(code).toBe(2);
  });

  it('with --json the failure is one JSON document', async () => {
    const { code, stdout } = await select({ more: ['--preset', 'nope', '--json'] });
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'bad-input' } });
  });

  it.each([
    [['select'], /required|give one of/],
    [['export'], /required option '--run <dir>' not specified/],
    [['solve', '--issue', 'x', '--nope'], /unknown option '--nope'/],
    [['nope'], /unknown command 'nope'/],
    [['bench', 'status'], /missing required argument 'dir'/],
    [
      ['bench', 'run', '--dataset', 'x', '-k', '2', '--verifiers', 'ef@judge', '--budget-usd', '1', '--out', 'x'],
      /field "budget\.usd": is in US dollars, but the price of the model "judge" is not known/,
    ],
    [
      ['bench', 'run', '--dataset', 'x', '-k', '2', '--verifiers', 'ef@judge', '--budget-usd', '1', '--estimate'],
      /field "budget\.usd": is in US dollars, but the price of the model "judge" is not known/,
    ],
  ])('with --json so is that of %p', async (args, message) => {
    const { code, stdout } = await cli.run([...args, '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toMatchObject({
      error: { code: 'bad-input', message: expect.stringMatching(message) as string },
    });
  });

  it('every command has an example in its --help, and --json unless it serves', async () => {
    const without: string[] = [];
    for (const path of await commandsBelow([])) {
      const { code, stdout } = await cli.run([...path, '--help']);
      expect({ path, code, stdout }).toEqual({
        ...{ path, code: 0 },
        stdout: expect.stringMatching(/^Example[^]*^ {2}\$ .*\bbestk /m) as string,
      });
      if (!stdout.includes('--json')) without.push(path.join(' '));
    }
    expect(without.sort()).toEqual(['mcp', 'serve', 'worker']);
  });
});

/** The commands that the help names, each as its words; those with further commands are replaced by them. */
async function commandsBelow(path: readonly string[]): Promise<readonly string[][]> {
  const { stdout } = await cli.run([...path, '--help']);
  const [, listed] = /^Commands:\n((?: .*\n)+)/m.exec(stdout) ?? [];
  if (listed === undefined) return [[...path]];
  const names = [...listed.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
  return (await Promise.all(names.map((name) => commandsBelow([...path, name])))).flat();
}
