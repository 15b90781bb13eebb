import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testCommand } from '../../../src/grading/test-command.js';
import { type ReadRow, readDataSet, readIssues } from '../../../src/io/datasets/data-set.js';
import { exited } from '../../fakes/fake-sandbox.js';
import { CALCULATOR } from '../../fixtures/calculator.js';
import { parquet } from '../../fixtures/data-sets.js';
import { CALC, GradingWorld, hiddenTestsIn, pytest, ROW, TEST_PATCH } from './grading-world.js';

const [START, END] = ['>>>>> Start Test Output', '>>>>> End Test Output'];
const folder = mkdtempSync(join(tmpdir(), 'bestk-eval-'));

const scriptOf = (tests: string, before = 'echo before', mark = ':'): string =>
  [
    ...['#!/bin/bash', 'set -uxo pipefail', before, "cat - <<'EOF_1'", TEST_PATCH.trimEnd(), 'EOF_1'],
    ...[`${mark} '${START}'`, tests, `${mark} '${END}'`, 'echo after', 'false', ''],
  ].join('\n');
const rowOf = (more: object = {}): object => ({
  ...ROW,
  ...{ problem_statement: 'add is wrong', image: 'acme/calc:1', log_parser: 'parse_log_pytest' },
  ...{ eval_type: 'pass_and_fail', eval_script: scriptOf('echo test') },
  ...more,
});

/** What the script of a row prints and ends with. */
async function runScript(eval_script: string): Promise<{ readonly code: number; readonly printed: string }> {
  const tests = await hiddenTestsIn(rowOf({ eval_script }));
  const [text = ''] = Object.values(testCommand(tests, null).scripts);
  const path = join(folder, 'eval.sh');
  writeFileSync(path, text);
  try {
    const printed = execFileSync('bash', ['-c', 'exec 2>&1; bash "$0"', path], { cwd: folder, encoding: 'utf8' });
    return { code: 0, printed };
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string };
    return { code: status, printed: stdout };
  }
}

describe('a row with its own script', () => {
  it.each(['jsonl', 'parquet'])(
    'is read with its image, script and parser, all but the image sealed, from %s',
    async (kind) => {
      const path = join(folder, `rows.${kind}`);
      const row = rowOf() as Readonly<Record<string, unknown>>;
      writeFileSync(path, kind === 'jsonl' ? JSON.stringify(row) : parquet(row));
      const rows: ReadRow[] = [];
      for await (const each of readDataSet(path)) rows.push(each);
      expect(rows).toMatchObject([{ set: 'swe-bench', issue: { environment: { image: 'acme/calc:1' } } }]);
      expect(JSON.stringify(rows)).not.toMatch(/Test Output|parse_log|pass_and_fail/);
      const [read] = rows;
      const tests = read !== undefined && 'sealed' in read ? read.sealed.open().tests : null;
      expect(tests).toMatchObject({ command: 'bash {scripts}/eval.sh', log: 'parse_log_pytest', unusable: undefined });
    },
  );

  it('keeps its image, and the ordinary command, if the script is empty', async () => {
    const tests = await hiddenTestsIn(rowOf({ eval_script: '', log_parser: '' }));
    expect(testCommand(tests, null)).toMatchObject({
      isEvalScript: false,
      line: expect.stringMatching(/-m pytest/) as string,
    });
  });

  it.each([
    ['no marks', { eval_script: 'pytest' }, /eval_script.*does not mark/],
    ['only the first mark', { eval_script: `: '${START}'\npytest` }, /eval_script.*does not mark/],
    ['an unknown parser', { log_parser: 'parse_log_of_nobody' }, /log_parser.*"parse_log_of_nobody"/],
    ['no parser, and a command that shows none', { log_parser: null, eval_script: scriptOf('./check') }, /log_parser/],
    ['a log of failures alone', { eval_type: 'fail_only' }, /eval_type.*"fail_only"/],
    ['binary files', { image_assets: '{"test_patch": [{"path": "a.png", "url": "u"}]}' }, /image_assets.*1 binary/],
  ])('with %s is refused by its column, and graded with another command', async (_, more, message) => {
    const tests = await hiddenTestsIn(rowOf(more));
    expect(() => testCommand(tests, null)).toThrow(message);
    expect(testCommand(tests, 'pytest -rA {files}')).toMatchObject({
      isEvalScript: false,
      format: 'pytest',
      scripts: {},
    });
  });

  it('without a parser is read by what its tests run', async () => {
    const tests = await hiddenTestsIn(rowOf({ log_parser: null, eval_script: scriptOf('go test -v ./...') }));
    expect(testCommand(tests, null)).toMatchObject({ format: 'go', reportsOn: 'both' });
  });
});

describe('a column that says how to run the tests', () => {
  const heard = async (row: object): Promise<readonly string[]> => {
    const path = join(folder, 'noted.jsonl');
    writeFileSync(path, `${JSON.stringify(row)}\n`);
    const notes: string[] = [];
    await readIssues(path, { onUnread: (note) => notes.push(note) });
    return notes.map((note) => note.replace(/^.*: (?=")/, ''));
  };

  it.each([
    ['its script', { environment: { image: 'i:1' }, log_parser: '', eval_script: 'pytest' }, '"eval_script"'],
    ['its parser without a script', { eval_script: '' }, '"log_parser"'],
    [
      'its commands',
      { eval_script: '', log_parser: '', test_command: 'make test', build_cmds: ['make'] },
      '"test_command", "build_cmds"',
    ],
    ['its container file', { eval_script: '', log_parser: '', dockerfile: 'FROM x' }, '"dockerfile"'],
  ])('is named if it is not read: %s', async (_, more, named) => {
    const [note, ...others] = await heard(rowOf(more));
    expect([note?.split(', ').sort(), others]).toEqual([named.split(', ').sort(), []]);
  });

  it('is not named if it is read, nor are other columns', async () => {
    expect(await heard(rowOf({ colour: 'red' }))).toEqual([]);
  });
});

describe("a row's script", () => {
  it.each([
    ['0', 'echo tested', 0],
    ['its own failures', '(echo tested; exit 1)', 1],
    ['any code of its runner', '(echo tested; exit 42)', 42],
    ['the code of the last command', 'echo tested; (exit 3)', 3],
  ])('prints what its tests print, and ends with %s', async (_, tests, code) => {
    const ran = await runScript(scriptOf(tests));
    expect(ran.code).toBe(code);
    expect(ran.printed.split('\n').filter((line) => !line.startsWith('+'))).toEqual(['tested', '']);
  });

  it.each([
    ['CR LF', (script: string) => script.replaceAll('\n', '\r\n')],
    ['marks that are printed', () => scriptOf('echo tested', 'echo before', 'echo')],
    ['marks in the test patch', (script: string) => script.replace('EOF_1\n', `EOF_1\n+: '${START}'\n+: '${END}'\n`)],
  ])('is read with %s', async (_, change) => {
    const ran = await runScript(change(scriptOf('echo tested')));
    expect(ran.code).toBe(0);
    expect(ran.printed.split('\n').filter((line) => !line.startsWith('+'))).toEqual(['tested', '']);
  });

  it('cannot be rewritten by its tests, nor print what ran before them', async () => {
    const forged = `echo "PASSED forged"; echo ": '${START}'"`;
    const ran = await runScript(scriptOf('echo "echo PASSED forged; exit 0" >"$0"; (exit 1)', forged));
    expect(ran).toEqual({ code: 1, printed: expect.not.stringMatching(/^PASSED/m) as string });
  });
});

describe('grading by a row with its own script', () => {
  const candidate = { instance_id: CALCULATOR, candidate_id: 'a', trajectory: null };
  const patch = `diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-a\n+b\n`;
  const all = {
    [`${CALC}test_sum`]: 'PASSED',
    'tests/test_more.py::test_minus': 'PASSED',
    [`${CALC}test_zero`]: 'PASSED',
  };

  it('restores the files of the test patch, only checks that it applies, and runs the script', async () => {
    const world = new GradingWorld({ tests: () => pytest(all) });
    const { grades } = await world.grade([{ ...candidate, patch }], { row: rowOf() });
    expect(grades).toMatchObject([{ resolved: true }]);
    const ofTests = world.requests.filter(({ stdin }) => stdin === TEST_PATCH);
    expect(ofTests.map(({ argv }) => argv.includes('--check'))).toEqual([true, true]);
    const steps = [...world.steps.values()].flat().filter((step) => step.startsWith('restore'));
    expect(steps).toEqual(['restore tests/test_calc.py tests/test_more.py']);
    expect(world.requests.at(-1)?.argv[2]).toMatch(/^exec 2>&1\nbash \/tmp\/bestk-hidden\/eval\.sh$/m);
  });

  it.each([
    [1, true],
    [2, true],
    [101, true],
    [126, false],
    [137, false],
  ])('takes exit code %i with another failure in the log as %s', async (code, resolved) => {
    const { stdout } = pytest({ ...all, [`${CALC}test_other`]: 'FAILED' }) as { stdout: string };
    const world = new GradingWorld({ tests: () => exited(code, stdout) });
    const { grades } = await world.grade([{ ...candidate, patch }], { row: rowOf() });
    expect(grades).toMatchObject([{ resolved }]);
  });

  it('is done anew if its parser is another', async () => {
    const keyFor = async (log_parser: string): Promise<string | undefined> => {
      const world = new GradingWorld({ tests: () => pytest(all) });
      return (await world.grade([{ ...candidate, patch }], { row: rowOf({ log_parser }) })).grades[0]?.key;
    };
    const key = await keyFor('parse_log_pytest');
    expect(await keyFor('parse_log_pytest_v2')).toBe(key);
    expect(await keyFor('parse_log_django')).not.toBe(key);
  });

  it('takes no exit code but 0 with a log without failures', async () => {
    const { stdout } = pytest(all) as { stdout: string };
    const world = new GradingWorld({ tests: (tree) => exited(tree === null ? 0 : 2, stdout) });
    const { grades } = await world.grade([{ ...candidate, patch }], { row: rowOf() });
    expect(grades[0]?.resolved).not.toBe(true);
  });
});
