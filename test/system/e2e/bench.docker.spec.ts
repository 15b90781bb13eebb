import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandLine, ended } from '../../fixtures/command-line.js';
import { until } from '../../fixtures/run-world.js';
import { Service } from '../../fixtures/service.js';
import { calcTest, calculatorIssue, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';
import { ROW } from '../../unit/grading/grading-world.js';

const KEY = 'k-0123456789abcdef0123456789abcdef';
const IDS = ['calculator__add-1', 'calculator__add-2', 'calculator__add-3'];

describe('bestk bench', () => {
  const cli = new CommandLine();
  const row = { ...ROW, ...calculatorIssue, repo: 'calculator/add', patch: RIGHT };
  cli.jsonl(
    'rows.jsonl',
    IDS.map((instance_id, index) => ({
      ...row,
      instance_id,
      difficulty: index === 1 ? 'hard' : 'easy',
      ...(index === 2 ? { environment: { image: 'bestk/no-such-image:1' }, patch: WRONG } : {}),
    })),
  );
  const of = <T extends { instance_id: string }>(each: T, ids = IDS): T[] =>
    ids.map((instance_id) => ({ ...each, instance_id }));
  cli.jsonl('candidates.jsonl', [...of(candidate('wrong', WRONG)), ...of(candidate('right', RIGHT))]);
  cli.jsonl('few.jsonl', of(candidate('only', WRONG), IDS.slice(0, 2)));
  cli.jsonl('tests.jsonl', of(calcTest('negative', 'add(-2, 3) == 1'), IDS.slice(0, 2)));
  const file = cli.write(
    'bench.yaml',
    `dataset: rows.jsonl
arms:
  - {name: mine, candidates: candidates.jsonl, tests: tests.jsonl, judges: [eb]}
  - {name: few, candidates: few.jsonl, judges: [eb]}
concurrency: 2
`,
  );
  const out = cli.path('out');
  const run = ['bench', 'run', file, '--out', out, '--json'];

  it('runs, grades and reports two arms; what fails leaves the rest alone', async () => {
    const { code, stdout } = await cli.run(run);
    expect({ code, told: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 3,
      told: {
        arms: [
          { arm: 'mine', instances: 3, done: 2, failed: 1, graded: 4, ungraded: 0 },
          { arm: 'few', instances: 3, done: 2, skipped: 1, graded: 2 },
        ],
        summary: [
          { arm: 'mine', right: { resolved: 2, issues: 2 }, pass_at_1: 0.5, pass_at_all: 1, failed: 1 },
          { arm: 'few', right: { resolved: 0, issues: 2 }, pass_at_1: 0 },
        ],
        comparisons: [{ arm: 'few', issues_in_both: 2, difference: 1, only_first: 2, p: 0.5, p_holm: 0.5 }],
      },
    });
    expect(inOrder(cli.readLines('out/arms/mine/predictions.jsonl'))).toMatchObject(
      IDS.slice(0, 2).map((instance_id) => ({ instance_id, model_patch: RIGHT })),
    );
    expect(cli.readJson('out/report/report.json')).toMatchObject({
      failures: [
        { arm: 'mine', code: 'image-missing', issues: 1 },
        { arm: 'few', code: 'bad-input', issues: 1 },
      ],
    });
    expect(readFileSync(cli.path('out/report/issues.csv'), 'utf8').split('\r\n')).toHaveLength(1 + 3 * 2 + 1);
    const page = readFileSync(cli.path('out/report/report.html'), 'utf8');
    expect(page).toMatch(/Against few: \+100\.0 points on 2 issues/);
    expect(page).not.toMatch(/<script/);
    expect(existsSync(cli.path('out/report/mine/report.html'))).toBe(true);
  }, 240_000);

  it('goes on where it stopped, and ends in the same report byte for byte', async () => {
    const report = (): string => readFileSync(cli.path('out/report/report.json'), 'utf8');
    const before = report();
    // As a killed process leaves it.
    for (const lost of ['arms/few', 'report', `arms/mine/${IDS[1] ?? ''}`])
      rmSync(cli.path(`out/${lost}`), { recursive: true });
    const failed = await cli.run(['bench', 'resume', out, '--failed', '--json']);
    expect(JSON.parse(failed.stdout)).toMatchObject({
      arms: [
        { arm: 'mine', instances: 2, done: 1, failed: 1 },
        { arm: 'few', instances: 0 },
      ],
    });
    const status = await cli.run(['bench', 'status', out, '--json']);
    expect(JSON.parse(status.stdout)).toMatchObject({
      instances: 3,
      arms: [
        { arm: 'mine', selected: 1, failed: 1, waiting: 1 },
        { arm: 'few', selected: 0, waiting: 3 },
      ],
    });
    const resumed = await cli.run(['bench', 'resume', out]);
    expect(resumed).toMatchObject({
      code: 3,
      stdout: expect.stringMatching(/mine selected a patch for 2 of 3/) as string,
    });
    expect(report()).toBe(before);
  }, 240_000);

  it('does an arm again whose settings changed, of the instances asked for', async () => {
    const changed = ['bench', 'run', file, '--preset', 'shortest', '--candidates', cli.path('candidates.jsonl')];
    const args = [...changed, '--name', 'mine', '--verifiers', 'eb', '--where', 'difficulty=hard', '--no-grade'];
    const { code, stdout, stderr } = await cli.run([...args, '--out', out, '--json']);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/Arm mine: its settings changed/) as string,
    });
    expect(JSON.parse(stdout)).toMatchObject({
      arms: [{ arm: 'mine', instances: 1, done: 1, graded: 0 }],
      summary: [{ right: null }],
    });
  }, 120_000);

  it('checks gold patches and images before anything is spent', async () => {
    const { code, stdout, stderr } = await cli.run(['bench', 'gold', file, '--out', cli.path('gold'), '--json']);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Pass@1 100\.0% \(34\.2 to 100\.0\)/) as string,
    });
    expect(JSON.parse(stdout)).toMatchObject({
      checked: 3,
      wrong: [{ instance_id: IDS[2], reason: expect.stringMatching(/no-such-image/) as string }],
    });
  }, 120_000);

  it('grades gold and the empty patch as often as asked, and finds stable instances not flaky', async () => {
    const args = ['bench', 'gold', file, '--repeat', '2', '--slice', '0:1', '--out', cli.path('gold-2'), '--json'];
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    expect(JSON.parse(stdout)).toMatchObject({ checked: 1, wrong: [], repeat: 2, flaky: [] });
    expect(cli.readLines('gold-2/labels.jsonl').map(({ candidate_id, resolved }) => [candidate_id, resolved])).toEqual([
      ['gold-1', true],
      ['gold-2', true],
      ['empty-1', false],
      ['empty-2', false],
    ]);
  }, 120_000);

  it('stops where the failures are too many', async () => {
    const args = [
      'bench',
      'run',
      file,
      '--max-failures',
      '1',
      '--parallel',
      '1',
      '--slice',
      '1:',
      '--out',
      cli.path('stopped'),
    ];
    const { code, stdout } = await cli.run([...args, '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({
      arms: [
        { done: 1, failed: 1, not_begun: 0 },
        { done: 0, not_begun: 2 },
      ],
    });
  }, 120_000);

  it('lets what is under way end at the first Ctrl-C, and begins nothing more', async () => {
    const given = ['--dataset', cli.path('rows.jsonl'), '--candidates', cli.path('few.jsonl'), '--verifiers', 'eb'];
    const args = ['bench', 'run', ...given, '--slice', '0:2', '--parallel', '1', '--out', cli.path('left')];
    // Of its own store, so that executions take their time.
    const child = cli.start(args, { DATABASE_URL: `file:${cli.path('left.sqlite')}` });
    const over = ended(child);
    await until(() => existsSync(cli.path(`left/arms/mine/set-skipped.jsonl.${child.pid}.part`)));
    await sleep(200);
    child.kill('SIGINT');
    expect(await over).toMatchObject({
      code: 130,
      stderr: expect.stringMatching(/No new instance is started/) as string,
    });
    expect(cli.readLines('left/arms/mine/predictions.jsonl')).toMatchObject([{ instance_id: IDS[0] }]);
    expect(cli.readLines('left/arms/mine/skipped.jsonl')).toMatchObject([{ instance_id: IDS[1], code: 'not-begun' }]);
  }, 120_000);

  it('has a service do it: hidden tests of another file, grades, the same outcomes, followed and reported', async () => {
    const service = await Service.start(cli, { BESTK_API_KEYS: KEY });
    const args = ['bench', 'run', file, '--hidden-tests', cli.path('rows.jsonl'), '--server', `${service.url}/`];
    const served = [...args, '--out', cli.path('served'), '--json'];
    try {
      expect(await cli.run(served)).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/BESTK_API_KEY/) as string,
      });
      const { code, stdout, stderr } = await cli.run(served, { BESTK_API_KEY: KEY });
      expect({ code, told: JSON.parse(stdout) as unknown }).toMatchObject({
        code: 3,
        told: {
          status: 'done',
          issues: 3,
          arms: [
            { arm: 'mine', selected: 2, failed: 1, graded: 2, right: 2, wrong: 0 },
            { arm: 'few', selected: 2, skipped: 1, graded: 2, right: 0, wrong: 2 },
          ],
        },
      });
      expect(stderr).toMatch(/^done: 4 selected, 1 failed, 1 skipped; right 2 of 4, 50\.0% \(/m);
      const { issues } = cli.readJson('served/report/report.json') as {
        issues: { arms: Record<string, { right: boolean | null }> }[];
      };
      const right = issues.map(({ arms }) => Object.values(arms).map((outcome) => outcome.right));
      expect(right).toEqual([
        [true, false],
        [true, false],
        [null, null],
      ]);
      expect(readFileSync(cli.path('served/report/report.html'), 'utf8')).toContain(`href="${service.url}/#/runs/`);
      expect(existsSync(cli.path('served/upload.jsonl.gz'))).toBe(false);
      const selected = [
        ['mine', 'right', RIGHT],
        ['few', 'only', WRONG],
      ] as const;
      for (const [arm, candidate_id, model_patch] of selected) {
        expect(inOrder(cli.readLines(`served/arms/${arm}/predictions.jsonl`))).toEqual(
          IDS.slice(0, 2).map((instance_id) => {
            return { instance_id, model_name_or_path: 'bestk-deepswe', model_patch, candidate_id };
          }),
        );
      }
      const status = await cli.run(['bench', 'status', cli.path('served')], { BESTK_API_KEY: KEY });
      expect(status.stdout).toMatch(/^mine selected a patch for 2 of 3 issues; 2 of the 2/);
      const elsewhere = await cli.run([...run.slice(0, 3), '--out', cli.path('served')]);
      expect(elsewhere).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/contains a benchmark of http/) as string,
      });
    } finally {
      await service.stop();
    }
  }, 240_000);

  it.each<[string, string[], RegExp]>([
    [
      'an arm without a name',
      ['bench', 'run', cli.write('a.yaml', 'dataset: x\narms: [{k: 8}]'), '--out', out],
      /a\.yaml, field "arms\.0\.name"/,
    ],
    [
      'an unknown member',
      ['bench', 'run', cli.write('b.yaml', 'dataset: x\narms: [{name: a, kk: 8}]'), '--out', out],
      /b\.yaml.*kk/,
    ],
    [
      'a column that is not there',
      [...run, '--where', 'colour=red'],
      /^bestk: field "--where": asks for the column "colour".*There are:.*difficulty/s,
    ],
    ['an unknown instance', [...run, '--instances', 'nobody__x-1'], /^bestk: field "--instances": names "nobody__x-1"/],
    [
      'a value in the file that nobody has',
      [
        ...['bench', 'gold', '--out', cli.path('e')],
        cli.write('e.yaml', 'dataset: rows.jsonl\nfilter: {where: [difficulty=none]}\narms: [{name: a}]'),
      ],
      /e\.yaml, field "filter\.where": "difficulty=none" leaves none of 3 instances.\nThere are: easy, hard/,
    ],
    ['a shard beyond the last', [...run, '--shard', '3/2'], /^bestk: field "--shard": must name one of the parts/],
    ['no data set', ['bench', 'run', '--out', out], /--dataset/],
    [
      'an export of all arms',
      ['export', '--run', out, '--out', cli.path('x')],
      /arms of a bench.*\n.*arms\/few, .*mine/,
    ],
    ['a folder without a benchmark', ['bench', 'status', cli.folder], /has no benchmark/],
    [
      'settings of a process that is elsewhere',
      [
        'bench',
        'run',
        cli.write('d.yaml', 'dataset: rows.jsonl\narms: [{name: a, settings: {BESTK_AGENT_FORMAT: xml}}]'),
        '--server',
        'http://127.0.0.1:9',
        '--out',
        cli.path('d'),
      ],
      /arms\.0\.settings.*only works? locally/,
    ],
    [
      'a setting that nobody knows',
      [
        'bench',
        'run',
        cli.write('c.yaml', 'dataset: rows.jsonl\narms: [{name: a, settings: {BESTK_NO: 1}}]'),
        '--out',
        cli.path('c'),
      ],
      /BESTK_NO.*is no setting/,
    ],
  ])(
    'ends with 2 for %s',
    async (_, args, message) => {
      const { code, stderr } = await cli.run(args);
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringMatching(message) as string });
    },
    60_000,
  );
});

/** Lines are written as instances end. */
function inOrder(lines: Record<string, unknown>[]): Record<string, unknown>[] {
  return lines.sort((a, b) => (String(a.instance_id) < String(b.instance_id) ? -1 : 1));
}
