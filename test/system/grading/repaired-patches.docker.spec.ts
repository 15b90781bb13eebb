import { CommandLine } from '../../fixtures/command-line.js';
import { calcTest, calculatorIssue, candidate, RIGHT, WRONG } from '../../fixtures/calculator.js';
import { ROW } from '../../unit/grading/grading-world.js';

const STUB =
  'diff --git a/t.db b/t.db\nnew file mode 100644\nindex 0000000..5f3a1c2\nBinary files /dev/null and b/t.db differ\n';
const FUZZY = `${RIGHT.replace('@@ -1,2 +1,2 @@', '@@ -1,3 +1,3 @@')} other\n`;
const TESTS =
  'diff --git a/tests/test_calc.py b/tests/test_calc.py\n--- a/tests/test_calc.py\n+++ b/tests/test_calc.py\n';

/** How git applies each patch; null = it does not. */
const PATCHES: Readonly<Record<string, readonly [patch: string, repair: string | null]>> = {
  wrong: [WRONG, ''],
  stub: [RIGHT + STUB, 'stub-dropped'],
  'full stub': [RIGHT + STUB.replace('0000000..5f3a1c2', `${'0'.repeat(40)}..${'5'.repeat(40)}`), 'stub-dropped'],
  stripped: [
    `${RIGHT}${TESTS}@@ -1,3 +1,3 @@\n-from calc import add\n+from calc import add  # two blank lines follow\n`,
    'context-restored',
  ],
  crlf: [RIGHT.replaceAll('\n', '\r\n'), 'crlf'],
  fuzzy: [FUZZY, 'fuzz-1'],
  'tests that do not fit': [`${RIGHT}${TESTS}@@ -1 +1 @@\n-none\n+other\n`, null],
};

it('selects and grades the same form of a patch, and names what was repaired', async () => {
  const cli = new CommandLine();
  cli.write('issue.json', JSON.stringify(calculatorIssue));
  cli.jsonl('hidden.jsonl', [ROW]);
  cli.jsonl('tests.jsonl', [calcTest('sum', 'add(2, 3) == 5')]);
  cli.jsonl(
    'candidates.jsonl',
    Object.entries(PATCHES).map(([id, [patch]]) => candidate(id, patch)),
  );
  const common = ['--issue', cli.path('issue.json'), '--candidates', cli.path('candidates.jsonl'), '--json'];
  const tests = ['--tests', cli.path('tests.jsonl'), '--verifiers', 'eb'];
  const selected = await cli.run(['select', ...common, ...tests, '--out', cli.path('selected')]);
  const graded = await cli.run([
    'grade',
    ...common,
    '--hidden-tests',
    cli.path('hidden.jsonl'),
    '--out',
    cli.path('graded'),
  ]);
  expect([selected.stderr, graded.stderr, selected.code, graded.code]).toMatchObject({ 2: 0, 3: 0 });

  const { ranking } = cli.readJson('selected/selection.json') as {
    ranking: readonly { candidate_id: string; flags: readonly string[] }[];
  };
  const flags = new Map(
    ranking.map((row) => [row.candidate_id, row.flags.filter((flag) => /^applied|^does-not/.test(flag))]),
  );
  const grades = new Map(cli.readLines('graded/grades.jsonl').map((row) => [row.candidate_id, row]));
  for (const [id, [, repair]] of Object.entries(PATCHES)) {
    const applied = repair === '' ? [] : [`applied:${repair}`];
    expect([id, flags.get(id)]).toEqual([id, repair === null ? expect.arrayContaining(['does-not-apply']) : applied]);
    const reason = repair ?? 'does not apply';
    expect(grades.get(id)).toMatchObject({
      resolved: repair !== null && id !== 'wrong',
      reason: expect.stringContaining(reason) as string,
    });
  }
});
