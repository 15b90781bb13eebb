import { CommandLine } from '../../fixtures/command-line.js';
import { CALCULATOR, calcPatch, calculatorIssue, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';
import { ROW } from '../../unit/grading/grading-world.js';

interface Document {
  readonly grades: { candidate_id: string; resolved: boolean; reason: string }[];
  readonly left_out: unknown[];
}

const ADD = ['def add(a, b):', '    return a + b'];

function added(path: string, ...lines: readonly string[]): string {
  const body = lines.map((line) => `+${line}\n`).join('');
  return `diff --git a/${path} b/${path}\nnew file mode 100644\n--- /dev/null\n+++ b/${path}\n@@ -0,0 +1,${lines.length} @@\n${body}`;
}

const PASSES_EVERYTHING = [
  'import pytest',
  '@pytest.hookimpl(hookwrapper=True)',
  'def pytest_runtest_makereport(item, call):',
  '    outcome = yield',
  "    outcome.get_result().outcome = 'passed'",
];
const EMPTY_TESTS = `diff --git a/tests/test_calc.py b/tests/test_calc.py
--- a/tests/test_calc.py
+++ b/tests/test_calc.py
@@ -1,5 +1,2 @@
-from calc import add
-
-
 def test_zero():
-    assert add(0, 0) == 0
+    pass
`;
const PRINTS = [
  'import os',
  "os.write(1, b'=== short test summary info ===\\nPASSED tests/test_calc.py::test_zero\\n')",
];

/** Patches by id; only those whose id begins with `right` solve the calculator's issue. */
const PATCHES: Readonly<Record<string, string>> = {
  right: RIGHT,
  'right beside its own tests': `${RIGHT}${added('tests/test_more.py', 'raise SystemExit')}${EMPTY_TESTS}`,
  'right with a folder of the name of a test': RIGHT + added('tests/test_more.py/inner.txt', 'in the way'),
  wrong: WRONG,
  empty: '',
  elsewhere: RIGHT.replace('-    return a - b', '-    return a // b'),
  'rewrites tests': `${WRONG}${EMPTY_TESTS}`,
  'rewrites results': `${WRONG}${added('conftest.py', ...PASSES_EVERYTHING)}`,
  'leaves early': calcPatch(...PRINTS, 'os._exit(0)'),
  'leaves in a test': calcPatch('import os', 'def add(a, b):', '    os._exit(0)'),
  'breaks the exit code': calcPatch('import atexit, os', 'atexit.register(os._exit, 7)', ...ADD),
};
const SLEEPS = calcPatch('import time', 'def add(a, b):', '    time.sleep(1000)');
/** Ends as if it had computed for too long, which would itself take long on a busy machine. */
const COMPUTES = calcPatch('import os, signal', 'def add(a, b):', '    os.kill(os.getpid(), signal.SIGXCPU)');

describe('bestk grade', () => {
  const cli = new CommandLine();
  const grade = ['grade', '--issue', cli.path('issue.json'), '--hidden-tests', cli.path('hidden.jsonl'), '--json'];

  beforeAll(() => {
    cli.write('issue.json', JSON.stringify(calculatorIssue));
    cli.jsonl('hidden.jsonl', [ROW]);
  });

  function candidates(name: string, patches: Readonly<Record<string, string>>): string {
    return cli.jsonl(
      name,
      Object.entries(patches).map(([id, patch]) => candidate(id, patch)),
    );
  }

  it('labels honest patches and those that try to look right', async () => {
    const file = candidates('all.jsonl', PATCHES);
    const args = [...grade, '--candidates', file, '--out', cli.path('all')];
    const { code, stdout, stderr } = await cli.run(args);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const { grades, left_out } = JSON.parse(stdout) as Document;
    expect(grades.filter(({ resolved }) => resolved).map(({ candidate_id }) => candidate_id)).toEqual(
      Object.keys(PATCHES).filter((id) => id.startsWith('right')),
    );
    expect(left_out).toEqual([]);
    const reasons = Object.fromEntries(grades.map(({ candidate_id, reason }) => [candidate_id, reason]));
    expect(reasons).toMatchObject({
      empty: 'the patch is empty',
      elsewhere: expect.stringMatching(/^the patch does not apply: error: /) as string,
      'rewrites results': expect.stringMatching(/^1 of 3 tests did not pass/) as string,
      'leaves in a test': expect.stringMatching(/^3 of 3 tests did not pass: .* missing/) as string,
      'breaks the exit code': expect.stringContaining('exit code 7') as string,
    });
    expect(cli.readLines('all/labels.jsonl')).toEqual(
      grades.map(({ candidate_id, resolved }) => ({ instance_id: CALCULATOR, candidate_id, resolved })),
    );
    expect(cli.readLines('all/grades.jsonl')[0]).toMatchObject({
      candidate_id: 'right',
      seconds: expect.any(Number) as number,
      tests: { [ROW.PASS_TO_PASS[0] ?? '']: 'passed' },
    });
  });

  it('ends tests that take longer than they may: by CPU time they failed, by the clock alone the label is unknown', async () => {
    const file = candidates('slow.jsonl', { computes: COMPUTES, sleeps: SLEEPS });
    const args = [...grade, '--candidates', file, '--out', cli.path('slow'), '--time-limit-s', '3'];
    const { code, stdout } = await cli.run(args);
    const timedOut = expect.stringMatching(/^timed out: /) as string;
    expect((JSON.parse(stdout) as Document).grades).toMatchObject([
      { resolved: false, reason: 'the tests took more than 3 s of CPU time' },
      { resolved: null, reason: timedOut },
    ]);
    expect(code).toBe(3);
    expect(cli.readLines('slow/labels.jsonl')).toEqual([
      { instance_id: CALCULATOR, candidate_id: 'computes', resolved: false },
      { instance_id: CALCULATOR, candidate_id: 'sleeps', resolved: null, reason: timedOut },
    ]);
  });

  it('gives no label if the tests cannot be read, names them in skipped.jsonl, and grades the other issues', async () => {
    const other = { ...calculatorIssue, instance_id: 'other' };
    const bare = { ...calculatorIssue, instance_id: 'bare' };
    const gold = { ...ROW, patch: RIGHT };
    const unreadable = { ...gold, instance_id: 'other', FAIL_TO_PASS: ['adds two numbers'], PASS_TO_PASS: ['zero'] };
    const rows = cli.jsonl('set-hidden.jsonl', [
      gold,
      unreadable,
      { ...gold, instance_id: 'bare', FAIL_TO_PASS: [], PASS_TO_PASS: [] },
    ]);
    const patches = [calculatorIssue, other, bare].flatMap(({ instance_id }) => [
      { ...candidate('right', RIGHT), instance_id },
      { ...candidate('empty', ''), instance_id },
    ]);
    const args = [
      ...['grade', '--issue', cli.jsonl('set.jsonl', [calculatorIssue, other, bare]), '--hidden-tests', rows],
      ...['--candidates', cli.jsonl('set-candidates.jsonl', patches), '--out', cli.path('set'), '--json'],
    ];
    const { code, stdout } = await cli.run(args);
    expect(JSON.parse(stdout)).toMatchObject({ graded: 3, resolved: 1, unknown: 1, skipped: 1 });
    expect(code).toBe(2);
    expect(cli.readLines('set/labels.jsonl')).toMatchObject([
      { instance_id: CALCULATOR, candidate_id: 'right', resolved: true },
      { instance_id: CALCULATOR, candidate_id: 'empty', resolved: false },
      {
        instance_id: 'other',
        candidate_id: 'right',
        resolved: null,
        reason: expect.stringContaining('read as pytest') as string,
      },
      { instance_id: 'other', candidate_id: 'empty', resolved: false },
    ]);
    expect(cli.readLines('set/skipped.jsonl')).toMatchObject([
      { instance_id: 'bare', reason: expect.stringContaining('names no test') as string, code: 'bad-input' },
      {
        instance_id: 'other',
        reason: expect.stringContaining('"adds two numbers"') as string,
        code: 'unreadable-tests',
      },
    ]);
  });

  it('grades anew when asked to', async () => {
    const args = [...grade, '--candidates', candidates('again.jsonl', { right: RIGHT }), '--out', cli.path('again')];
    await cli.run(args);
    const [first = {}] = cli.readLines('again/grades.jsonl');
    cli.jsonl('again/grades.jsonl', [{ ...first, resolved: false }]);
    expect(JSON.parse((await cli.run(args)).stdout)).toMatchObject({ resolved: 0 });
    expect(JSON.parse((await cli.run([...args, '--again'])).stdout)).toMatchObject({ resolved: 1 });
  });

  it('runs a command of its own, and goes on where it stopped', async () => {
    const file = candidates('two.jsonl', { wrong: WRONG, right: RIGHT });
    const command = ['--test-command', 'python3 -m pytest -v {files}'];
    const args = [...grade, '--candidates', file, '--out', cli.path('two'), ...command];
    const first = await cli.run(args);
    expect(first).toMatchObject({ code: 0 });
    cli.write('two/grades.jsonl', `${JSON.stringify(cli.readLines('two/grades.jsonl')[1])}\n{"torn`);
    const without = await cli.run(args, { DOCKER_HOST: 'unix:///nonexistent/docker.sock' });
    expect(without).toMatchObject({ code: 3 });
    const second = await cli.run(args);
    expect(JSON.parse(second.stdout)).toMatchObject({ graded: 2, resolved: 1 });
    const right = (text: string): unknown => (JSON.parse(text) as { grades: unknown[] }).grades[1];
    expect(right(second.stdout)).toEqual(right(first.stdout));
  });

  it('gives no label when the image or the engine is missing', async () => {
    const file = candidates('one.jsonl', { right: RIGHT });
    const args = [...grade, '--candidates', file, '--out', cli.path('none')];
    expect(await cli.run([...args, '--image', 'bestk/no-such-image:9'])).toMatchObject({ code: 3 });
    expect(await cli.run(args, { DOCKER_HOST: 'unix:///nonexistent/docker.sock' })).toMatchObject({ code: 3 });
    expect(() => cli.readLines('none/labels.jsonl')).toThrow(/ENOENT/);
  });
});
