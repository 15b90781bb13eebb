import type { GeneratedTest } from '../../../../src/core/run/generated-test.js';
import { unfitTests, wrongReason } from '../../../../verifiers/execution-based/generated/admitted-tests.js';
import { script } from '../../../fixtures/calculator.js';

const reasonOf = (...lines: readonly string[]): string | undefined => unfitTests([script('t', ...lines)]).get('t');

describe('tests that are refused unrun', () => {
  it.each([
    ['server.serve_forever()', /starts a server/],
    ["subprocess.Popen([sys.executable, 'manage.py', 'runserver', '8000'])", /starts a server/],
    ['s.listen(1)', /starts a server/],
    ['name = input("who? ")', /waits for input/],
    ['time.sleep(60)', /waits for seconds/],
    ['time.sleep( 3.5 )', /waits for seconds/],
  ])('%s', (line, reason) => {
    expect(reasonOf('import time', line)).toMatch(reason);
  });

  it.each([
    'time.sleep(0.1)',
    'time.sleep(1)',
    'raise SystemExit(2)',
    '# time.sleep(60)',
    "call_command('check')",
    "with mock.patch(RUN): call_command('runserver', '8000')",
    'value = form.input_type',
    'parser = get_commands()["runserver"]',
  ])('but not %s', (line) => {
    expect(reasonOf(line)).toBeUndefined();
  });

  it('are those whose expectation can be guessed', () => {
    const observing = (...expect: NonNullable<GeneratedTest['expect']>): string | undefined =>
      unfitTests([{ ...script('t', 'observe(f() == 5)'), expect }]).get('t');
    for (const expected of [[true], [false, false], [null]]) expect(observing(...expected)).toMatch(/can guess/);
    for (const expected of [[5], [true, false], [[true, true]]]) expect(observing(...expected)).toBeUndefined();
  });

  it('are copies of an earlier one, whatever their comments', () => {
    const tests = [script('a', 'import sys', 'sys.exit(2)'), script('b', '# again', 'import sys', '', 'sys.exit(2)')];
    expect([...unfitTests(tests)]).toEqual([['b', 'is the same as a']]);
  });
});

describe('a "not solved" on base', () => {
  it.each([
    ["ModuleNotFoundError: No module named 'nothing'", 'add is wrong', /own ModuleNotFoundError/],
    ['django.core.exceptions.ImproperlyConfigured: settings', 'add is wrong', /own ImproperlyConfigured/],
  ])('for %s is for the wrong reason', (log, issue, reason) => {
    expect(wrongReason(log, issue)).toMatch(reason);
  });

  it.each([
    ['AssertionError: -1 != 5', 'add is wrong'],
    ['ImportError: cannot import name x', 'from p import x raises ImportError'],
    ['', 'add is wrong'],
  ])('for %s is for the right one', (log, issue) => {
    expect(wrongReason(log, issue)).toBeNull();
  });
});
