import { readdirSync, readFileSync } from 'node:fs';
import { CommandLine } from '../../fixtures/command-line.js';
import { CALCULATOR, calcTest, calculatorIssue, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';

const FILES = [
  'candidates.jsonl',
  'matrix.jsonl',
  'patch.diff',
  'predictions.jsonl',
  'run.json',
  'selection.json',
  'usage.json',
  'verdicts.jsonl',
];
const TESTS = [calcTest('sum', 'add(2, 3) == 5'), calcTest('negative', 'add(-2, 3) == 1'), calcTest('always', 'True')];
const NO_ENGINE = { DOCKER_HOST: 'tcp://127.0.0.1:1' };
const cli = new CommandLine();

function select(candidates: string, out: string, environment: Readonly<Record<string, unknown>> = {}): string[] {
  const issue = { ...calculatorIssue, environment: { ...calculatorIssue.environment, ...environment } };
  return [
    ...['select', '--issue', cli.write(`${out}.issue.json`, JSON.stringify(issue)), '--candidates', candidates],
    ...['--tests', cli.jsonl('tests.jsonl', TESTS), '--verifiers', 'eb', '--json', '--out', cli.path(out)],
  ];
}

interface Selected {
  readonly ranking: readonly { readonly candidate_id: string; readonly scores: Readonly<Record<string, unknown>> }[];
}

describe('the report of a run', () => {
  const two = cli.jsonl('two.jsonl', [candidate('wrong', WRONG), candidate('right', RIGHT)]);

  it('says the same in each of its files and on stdout', async () => {
    const { code, stdout, stderr } = await cli.run(select(two, 'out'));
    expect(stderr).toContain('tests: 2 of 3 admitted');
    expect(code).toBe(0);
    expect(readdirSync(cli.path('out')).sort()).toEqual(FILES);

    const selection = cli.readJson('out/selection.json') as Selected;
    expect(JSON.parse(stdout)).toMatchObject({ ...selection });
    expect(readFileSync(cli.path('out/patch.diff'), 'utf8')).toBe(RIGHT);
    const run = cli.readJson('out/run.json') as { admissions: unknown[]; request: { candidates: unknown[] } };
    expect(run.request.candidates).toHaveLength(2);
    expect(run.admissions).toContainEqual({
      test_id: 'always',
      admitted: false,
      reason: expect.stringContaining('solved') as string,
      kind: 'passes-on-base',
    });

    const [cells, verdicts] = [cli.readLines('out/matrix.jsonl'), cli.readLines('out/verdicts.jsonl')];
    for (const { candidate_id, scores } of selection.ranking) {
      const own = cells.filter((cell) => cell.candidate_id === candidate_id);
      const solved = own.filter(({ suite, outcome }) => suite === 'reproduction' && outcome === 'solved');
      expect(scores.reproduction).toBe(solved.length);
      expect(scores.regression).toBe(own.find(({ suite }) => suite === 'regression')?.passed);
      for (const measure of ['regression', 'reproduction']) {
        expect(verdicts).toContainEqual(
          expect.objectContaining({ candidate_id, measure, kind: 'scored', score: scores[measure] }),
        );
      }
    }
    expect(selection.ranking.map(({ scores }) => scores.reproduction)).toEqual([2, 1]);
  });

  it('is whole where all patches are empty, and needs no engine’s time', async () => {
    const empty = cli.jsonl('empty.jsonl', [candidate('a', ''), candidate('b', '\n')]);
    const { code, stdout } = await cli.run(select(empty, 'nothing'));
    expect(code).toBe(4);
    expect(JSON.parse(stdout)).toMatchObject({ candidate_id: null, basis: 'none', statistics: { k: 2, verified: 0 } });
    expect(readdirSync(cli.path('nothing')).sort()).toEqual(FILES);
    expect(readFileSync(cli.path('nothing/patch.diff'), 'utf8')).toBe('');
    expect(cli.readLines('nothing/matrix.jsonl')).toEqual([]);
  });

  it.each([
    ['workdir', { workdir: '/nowhere' }, /"environment\.workdir".*has no directory \/nowhere/],
    ['base_commit', { base_commit: 'a'.repeat(40) }, /"environment\.base_commit".*does not contain commit aaaa/],
  ])('is not written where the image lacks the %s: exit 2 names the field', async (field, environment, words) => {
    const { code, stdout, stderr } = await cli.run(select(two, field, environment));
    expect(stderr).toMatch(words);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'bad-input' } });
    expect(code).toBe(2);
    expect(readdirSync(cli.path(field))).toEqual([]);
  });

  it('has a folder to go to before any work is done', async () => {
    cli.write('a-file', CALCULATOR);
    const { code, stderr } = await cli.run(select(two, 'a-file'), NO_ENGINE);
    expect(stderr).toMatch(/a-file, field "--out": cannot be made/);
    expect(code).toBe(2);
  });
});

describe('without what it needs', () => {
  it.each([
    ['sweep', ['sweep'], NO_ENGINE, /Start Docker \(or set DOCKER_HOST\)/],
    ['doctor', ['doctor'], NO_ENGINE, /FAILED engine: .*Start Docker/],
    ['doctor of an image', ['doctor', '--image', 'no/such:1'], {}, /FAILED image: .*docker pull no\/such:1/],
  ])('%s ends with exit 3 and says what to do', async (_name, args, settings, words) => {
    const { code, stdout, stderr } = await cli.run(args, settings);
    expect(stdout + stderr).toMatch(words);
    expect(code).toBe(3);
  });
});
