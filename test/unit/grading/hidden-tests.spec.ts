import { BadInputError } from '../../../src/core/errors/errors.js';
import { testCommand } from '../../../src/grading/test-command.js';
import { hiddenTestsIn, ROW, TEST_PATCH } from './grading-world.js';

async function command(row: object, given: string | null = null): Promise<string> {
  return testCommand(await hiddenTestsIn({ ...ROW, ...row }), given).line;
}

describe('hidden tests', () => {
  it('are read as lists, or as JSON in a string, and the repository from the instance id', async () => {
    const row = { ...ROW, repo: undefined, FAIL_TO_PASS: '["a", "b"]', PASS_TO_PASS: '[]' };
    expect(await hiddenTestsIn({ ...ROW, instance_id: 'other' }, row)).toMatchObject({
      repo: 'calculator/add',
      failToPass: ['a', 'b'],
      passToPass: [],
    });
  });

  it.each([
    [{ FAIL_TO_PASS: 'test_a' }, /line 1, field "FAIL_TO_PASS"/],
    [{ FAIL_TO_PASS: [], PASS_TO_PASS: [] }, /names no test/],
    [{ test_patch: 'diff' }, /line 1, field "test_patch": cannot be read/],
  ])('are refused when %j', async (row, message) => {
    await expect(hiddenTestsIn({ ...ROW, ...row })).rejects.toThrow(message);
  });

  it("are run by the repository's own runner", async () => {
    expect(await command({})).toBe(
      "python3 -m pytest --tb=no -rA -p no:cacheprovider 'tests/test_calc.py' 'tests/test_more.py'",
    );
    expect(await command({ repo: 'django/django' })).toMatch(
      /^cd tests && .*runtests\.py .*--parallel 1 --verbosity 2 'test_calc' 'test_more'$/,
    );
    expect(await command({ repo: 'sympy/sympy' })).toMatch(/bin\/test -C --verbose 'tests\/test_calc.py' /);
    expect(await command({ repo: 'sphinx-doc/sphinx' })).toMatch(/^tox .*-- 'tests\/test_calc.py' /);
    expect(await command({}, 'make test ONLY={modules}')).toBe("make test ONLY='test_calc' 'test_more'");
  });

  it('never hand a path to the shell unquoted', async () => {
    const evil = TEST_PATCH.replaceAll('test_more', "$(touch x)'; y");
    expect(await command({ test_patch: evil })).toContain(String.raw`'tests/$(touch x)'\''; y.py'`);
  });

  it('are refused when no file of theirs can be run', async () => {
    const data = TEST_PATCH.replaceAll('.py', '.txt');
    await expect(command({ test_patch: data })).rejects.toThrow(/changes no file that could be run/);
    expect(await command({ test_patch: data }, 'make test')).toBe('make test');
  });
});

describe('the format of the log', () => {
  const row = (log_parser: string | undefined, test_cmd: string): Record<string, unknown> => ({
    ...ROW,
    FAIL_TO_PASS: ['adds'],
    PASS_TO_PASS: [],
    test_patch: ROW.test_patch.replaceAll('.py', '.sh'),
    install_config: { test_cmd, log_parser },
  });

  interface Case {
    readonly parser?: string;
    readonly command: string;
    readonly given?: string;
  }

  it.each<[string, string, Case]>([
    ['the parser that the row names', 'ctest', { parser: 'parse_log_jq', command: './run.sh' }],
    [
      'the program that the command starts, if the parser is unknown',
      'javascript',
      { parser: 'cobol', command: 'npm test' },
    ],
    ['the program that the command starts, if the row names no parser', 'java', { command: 'mvn test' }],
    ['the given command', 'csharp', { parser: 'parse_log_jq', command: './a', given: 'dotnet test' }],
    ['a comment in the given command', 'junit', { parser: 'cobol', command: './a', given: './b # log: junit' }],
    [
      'the parser, if the given command says nothing',
      'ctest',
      { parser: 'parse_log_jq', command: './a', given: './b' },
    ],
  ])('is that of %s', async (_, format, { parser, command: own, given = null }) => {
    expect(testCommand(await hiddenTestsIn(row(parser, own)), given).format).toBe(format);
  });

  it.each([
    ['parse_log_cobol', './run.sh', /install_config\.log_parser.*"parse_log_cobol"/],
    ['parse_log_pytest_x', 'make check', /install_config\.log_parser.*"parse_log_pytest_x"/],
    ['parse_log_cobol', 'make # log: tap', /install_config\.log_parser/],
    [undefined, './run.sh', /does not say which program runs the tests/],
  ])('is an error instead of pytest for %s and %s', async (parser, own, message) => {
    const tests = await hiddenTestsIn(row(parser, own));
    expect(() => testCommand(tests, null)).toThrow(message);
    expect(() => testCommand(tests, null)).toThrow(BadInputError);
  });
});
