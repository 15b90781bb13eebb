import { execFileSync } from 'node:child_process';
import { CommandLine, ended } from '../fixtures/command-line.js';
import { calcPatch, calcTest, calculatorIssue, candidate, RIGHT, script } from '../fixtures/calculator.js';

const TESTS = [
  calcTest('sum', 'add(2, 3) == 5'),
  script('slow', 'import sys, time', 'from calc import add', 'time.sleep(1)', 'sys.exit(0 if add(2, 3) == 5 else 2)'),
];
const PATCHES = {
  right: RIGHT,
  b: calcPatch('def add(a, b):', '    return b'),
  c: calcPatch('def add(a, b):', '    return a'),
};

function setUp(): { cli: CommandLine; args: string[] } {
  const cli = new CommandLine({ BESTK_SANDBOX_CONCURRENCY: '1' });
  const candidates = Object.entries(PATCHES).map(([id, patch]) => candidate(id, patch));
  const args = [
    ...['select', '--issue', cli.write('issue.json', JSON.stringify(calculatorIssue)), '--verifiers', 'eb'],
    ...['--candidates', cli.jsonl('candidates.jsonl', candidates), '--tests', cli.jsonl('tests.jsonl', TESTS)],
    ...['--out', cli.path('out')],
  ];
  return { cli, args };
}

/** Containers of one process: others' tests may run beside this one. */
function containersOf(pid: number): string[] {
  const format = '{{.ID}} {{.Label "bestk.owner"}}';
  const lines = execFileSync('docker', ['ps', '-a', '--filter', 'label=bestk', '--format', format], {
    encoding: 'utf8',
  });
  return lines.split('\n').filter((line) => new RegExp(`\\b${pid}\\b`).test(line));
}

/** Resolves with what was told so far, once `pattern` is in it. */
function told(child: ReturnType<CommandLine['start']>, pattern: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (pattern.test(text)) resolve(text);
    });
  });
}

describe('a run that is stopped', () => {
  it('by SIGKILL goes on where it stopped, runs nothing twice, and leaves no container', async () => {
    const { cli, args } = setUp();
    const victim = cli.start(args);
    const before = await told(victim, /tests: 2 of 2 admitted/);
    victim.kill('SIGKILL');
    await ended(victim);

    const second = await cli.run(args);
    expect(second.code).toBe(0);
    expect(cli.readJson('out/selection.json')).toMatchObject({ candidate_id: 'right' });
    // What was told before the kill is told again as it was measured then, to the millisecond.
    const cells = before.split('\n').filter((line) => /^(base|right|b|c): (test|regression)/.test(line));
    expect(cells.length).toBeGreaterThanOrEqual(4);
    for (const cell of cells) expect(second.stderr).toContain(cell);
    expect(containersOf(victim.pid ?? 0)).toEqual([]);
  }, 180_000);

  it('by SIGINT removes its containers, exits 130, and goes on with the same command', async () => {
    const { cli, args } = setUp();
    const child = cli.start(args);
    const end = ended(child);
    await told(child, /base: regression/);
    const asked = performance.now();
    child.kill('SIGINT');
    expect((await end).code).toBe(130);
    expect(performance.now() - asked).toBeLessThan(5_000);
    expect(containersOf(child.pid ?? 0)).toEqual([]);

    expect((await cli.run(args)).code).toBe(0);
    expect(cli.readJson('out/selection.json')).toMatchObject({ candidate_id: 'right' });
  }, 180_000);

  it('leaves nothing for sweep to find but what is nobody’s any more', async () => {
    const { cli, args } = setUp();
    const victim = cli.start(args);
    await told(victim, /base: regression/);
    victim.kill('SIGKILL');
    await ended(victim);
    const { code, stdout } = await cli.run(['sweep', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toHaveProperty('removed');
    expect(containersOf(victim.pid ?? 0)).toEqual([]);
  }, 180_000);
});
