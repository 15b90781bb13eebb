import { CommandLine } from '../../fixtures/command-line.js';
import { calcTest, calculatorIssue, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';
import { ROW } from '../../unit/grading/grading-world.js';

const IDS = ['calculator__add-1', 'calculator__add-2', 'calculator__add-3'];
const [FIRST = '', SECOND = ''] = IDS;

describe('commands of one instance take many', () => {
  const cli = new CommandLine();
  const rows = <T extends { instance_id: string }>(row: T, ids = IDS): T[] =>
    ids.map((instance_id) => ({ ...row, instance_id }));
  const issues = cli.jsonl('issues.jsonl', [
    ...rows(calculatorIssue, IDS.slice(0, 2)),
    { ...calculatorIssue, instance_id: IDS[2], environment: { image: 'bestk/no-such-image:1' } },
  ]);
  const candidates = cli.jsonl(
    'candidates.jsonl',
    IDS.flatMap((id) => rows(candidate('wrong', WRONG), [id]).concat(rows(candidate('right', RIGHT), [id]))),
  );
  const tests = cli.jsonl('tests.jsonl', rows(calcTest('negative', 'add(-2, 3) == 1'), IDS.slice(0, 2)));
  const given = ['--issue', issues, '--candidates', candidates];

  it('select: a folder each, the set’s files beside them, and a missing image fails its issue alone', async () => {
    const args = ['select', ...given, '--tests', tests, '--verifiers', 'eb', '--out', cli.path('out'), '--json'];
    const { code, stdout } = await cli.run(args);
    expect({ code, told: JSON.parse(stdout) as unknown }).toMatchObject({
      code: 3,
      told: { instances: 3, done: 2, skipped: 0, failed: 1 },
    });
    expect(inOrder(cli.readLines('out/predictions.jsonl'))).toMatchObject(
      [FIRST, SECOND].map((instance_id) => ({ instance_id, model_name_or_path: 'bestk-deepswe', model_patch: RIGHT })),
    );
    expect(cli.readLines('out/candidates.jsonl')).toHaveLength(4);
    expect(cli.readLines('out/skipped.jsonl')).toMatchObject([{ instance_id: IDS[2], code: 'image-missing' }]);
    expect(cli.readJson(`out/${SECOND}/selection.json`)).toMatchObject({ candidate_id: 'right' });
    expect(cli.readLines(`out/${SECOND}/predictions.jsonl`)).toHaveLength(1);
  }, 120_000);

  it('export and rescore read what select left, environments and all', async () => {
    const out = cli.path('out');
    const exported = await cli.run(['export', '--run', out, '--format', 'swe-bench', '--out', cli.path('preds.jsonl')]);
    expect(exported).toMatchObject({ code: 0 });
    const names = (file: string): unknown[] =>
      inOrder(cli.readLines(file)).map(({ instance_id, model_name_or_path: model, model_patch }) => [
        instance_id,
        model,
        model_patch,
      ]);
    expect(names('preds.jsonl')).toEqual(names('out/predictions.jsonl'));
    const args = ['rescore', '--input', out, '--tests', tests, '--verifiers', 'eb', '--preset', 'majority'];
    const rescored = await cli.run([...args, '--out', cli.path('again'), '--json']);
    expect(JSON.parse(rescored.stdout)).toMatchObject({ instances: 2, done: 2, rescored: 2, candidates: 4 });
    expect(cli.readJson(`again/${FIRST}/run.json`)).toMatchObject({
      request: { issue: { environment: calculatorIssue.environment }, preset: 'majority' },
      admissions: [{ test_id: 'negative', admitted: true }],
    });
  }, 120_000);

  it('grade: labels of all, and who cannot be graded is named', async () => {
    const hidden = cli.jsonl('hidden.jsonl', rows(ROW));
    const args = ['grade', ...given, '--hidden-tests', hidden, '--out', cli.path('graded'), '--json'];
    const { code, stdout } = await cli.run(args);
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ graded: 4, resolved: 2 });
    expect(cli.readLines('graded/labels.jsonl')).toEqual(
      [FIRST, SECOND].flatMap((instance_id) => [
        { instance_id, candidate_id: 'wrong', resolved: false },
        { instance_id, candidate_id: 'right', resolved: true },
      ]),
    );
    expect(cli.readLines(`graded/${SECOND}/grades.jsonl`)).toHaveLength(2);
    // What select left, and a data set that has hidden tests of its own.
    const own = cli.jsonl('own.jsonl', rows({ ...ROW, ...calculatorIssue }, [FIRST]));
    const saved = ['--issue', own, '--candidates', cli.path('out'), '--out', cli.path('one')];
    const some = await cli.run(['grade', ...saved]);
    expect(some).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 of 2 resolve the issue/) as string });
    const without = await cli.run(['grade', ...given, '--out', cli.path('none')]);
    expect(without).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/issues\.jsonl: has no hidden tests for .*\n.*--hidden-tests/) as string,
    });
  }, 120_000);

  it('a harness summary labels what was selected', async () => {
    const summary = cli.write(
      'bestk-deepswe.trial.json',
      JSON.stringify({ total_instances: 2, resolved_ids: [FIRST], unresolved_ids: [SECOND], error_ids: [] }),
    );
    const args = ['report', '--run', cli.path('out'), '--labels', summary, '--out', cli.path('report'), '--json'];
    const { code, stdout } = await cli.run(args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ returned: { runs: 2, right: { resolved: 1, issues: 2 } } });
  }, 60_000);
});

/** Lines are written as instances end. */
function inOrder(lines: Record<string, unknown>[]): Record<string, unknown>[] {
  return lines.sort((a, b) => (String(a.instance_id) < String(b.instance_id) ? -1 : 1));
}
