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
