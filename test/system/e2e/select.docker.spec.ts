import { CommandLine } from '../../fixtures/command-line.js';
import {
  CALCULATOR,
  calcPatch,
  calcTest,
  calculatorIssue,
  candidate,
  RIGHT,
  WRONG,
} from '../../fixtures/calculator.js';

const TESTS = [calcTest('sum', 'add(2, 3) == 5'), calcTest('negative', 'add(-2, 3) == 1')];

describe('bestk select', () => {
  const cli = new CommandLine();
  const select = ['select', '--issue', cli.path('issue.json'), '--tests', cli.path('tests.jsonl'), '--verifiers', 'eb'];

  beforeAll(() => {
    cli.write('issue.json', JSON.stringify(calculatorIssue));
    cli.jsonl('tests.jsonl', TESTS);
    cli.jsonl('labels.jsonl', [{ instance_id: CALCULATOR, candidate_id: 'right', resolved: true }]);
  });

  function candidates(name: string, patches: Readonly<Record<string, string>>): string {
    return cli.jsonl(
      name,
      Object.entries(patches).map(([id, patch]) => candidate(id, patch)),
    );
  }

  it('returns the right patch, its evidence, and the same from the store the second time', async () => {
    const file = candidates('two.jsonl', { wrong: WRONG, right: RIGHT, twin: RIGHT });
    const args = [...select, '--candidates', file, '--json'];
    const first = await cli.run([...args, '--out', cli.path('one')]);
    expect(first).toMatchObject({ code: 0 });
    expect(JSON.parse(first.stdout)).toMatchObject({
      instance_id: CALCULATOR,
      candidate_id: 'right',
      basis: 'hybrid',
      statistics: { k: 3, distinct_patches: 2, verified: 3, tests_admitted: 2 },
    });
    expect(cli.readJson('one/selection.json')).toMatchObject({ candidate_id: 'right' });
    expect(cli.readJson('one/run.json')).toMatchObject({
      provenance: { image_id: expect.stringMatching(/^sha256:/) as string },
    });
    expect(cli.readJson('one/usage.json')).toMatchObject({ models: [] });
    expect(cli.readLines('one/verdicts.jsonl')).toHaveLength(6);
    const cells = cli.readLines('one/matrix.jsonl');
    expect(cells.filter(({ candidate_id }) => candidate_id === 'twin').map(({ same_as }) => same_as)).toEqual([
      'right',
      'right',
      'right',
    ]);

    const second = await cli.run([...args, '--out', cli.path('two')]);
    expect(second.code).toBe(0);
    const measured = (rows: Record<string, unknown>[]): unknown[] =>
      rows.map(({ candidate_id, test_id, duration_ms }) => [candidate_id, test_id, duration_ms]).sort();
    expect(measured(cli.readLines('two/matrix.jsonl'))).toEqual(measured(cells));
  });

  it('shows a table with labels, and takes a single candidate', async () => {
    const file = candidates('single.jsonl', { right: RIGHT });
    const { code, stdout } = await cli.run([
      ...select,
      '--candidates',
      file,
      '--out',
      cli.path('k1'),
      '--labels',
      cli.path('labels.jsonl'),
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain('Pass@1 = 1.000, Pass@1 = 1.000, Best@1 = 1.000');
    expect(stdout).toMatch(/\* 1 +right +0\.\d+ +- +1\/1 +2\/2 +yes/);
  });

  it('goes on past patches that are unreadable, huge, out of place, or about tests alone', async () => {
    const tests = RIGHT.replaceAll('calc.py', 'tests/test_calc.py');
    const file = candidates('odd.jsonl', {
      right: RIGHT,
      prose: 'I would change the sign in add().',
      huge: `${RIGHT}${'+'.repeat(50_000_000)}`,
      elsewhere: RIGHT.replace('-    return a - b', '-    return a // b'),
      escape: RIGHT.replaceAll('calc.py', '../calc.py'),
      'tests only': tests,
      empty: '',
    });
    const { code } = await cli.run([...select, '--candidates', file, '--out', cli.path('odd'), '--json']);
    expect(code).toBe(0);
    const { ranking } = cli.readJson('odd/selection.json') as { ranking: { candidate_id: string; flags: string[] }[] };
    expect(ranking).toHaveLength(7);
    expect(Object.fromEntries(ranking.map(({ candidate_id, flags }) => [candidate_id, flags]))).toEqual({
      right: [],
      prose: ['refused-patch:unparsable'],
      huge: ['refused-patch:too-large'],
      elsewhere: ['does-not-apply'],
      escape: ['refused-patch:unsafe-path'],
      'tests only': ['no-source-change', 'test-files-set-apart'],
      empty: ['empty-patch'],
    });
  });

  it('says so when no patch is worth returning', async () => {
    const file = candidates('none.jsonl', {
      a: '',
      b: calcPatch('def add(a, b):', '    return a * b').replace('a - b', 'a % b'),
    });
    const { code, stdout } = await cli.run([...select, '--candidates', file, '--out', cli.path('none'), '--json']);
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ candidate_id: null, basis: 'none' });
    expect(cli.readJson('none/selection.json')).toMatchObject({ candidate_id: null });
  });

  it('tells a missing image and a dead engine from a wrong patch', async () => {
    const file = candidates('two.jsonl', { right: RIGHT });
    const args = [...select, '--candidates', file, '--out', cli.path('x')];
    const image = await cli.run([...args, '--image', 'bestk/no-such-image:9']);
    expect(image).toMatchObject({ code: 3, stdout: '' });
    expect(image.stderr).toContain('docker pull bestk/no-such-image:9');
    const engine = await cli.run(args, { DOCKER_HOST: 'unix:///nonexistent/docker.sock' });
    expect(engine).toMatchObject({ code: 3, stdout: '' });
    expect(engine.stderr).toContain('DOCKER_HOST');
    expect(await cli.run(['doctor'], { DOCKER_HOST: 'unix:///nonexistent/docker.sock' })).toMatchObject({ code: 3 });
    expect(await cli.run(['doctor', '--json'])).toMatchObject({ code: 0 });
  });
});
