import { readLog } from '../../../verifiers/execution-based/reports/log-formats.js';
import { testCommand } from '../../../src/grading/test-command.js';
import { parseDjangoLog } from '../../../verifiers/execution-based/reports/unittest-log.js';
import { parsePytestLog } from '../../../verifiers/execution-based/reports/pytest-log.js';
import { parseSympyLog } from '../../../verifiers/execution-based/reports/sympy-log.js';
import { TestLog } from '../../../verifiers/execution-based/reports/test-log.js';

function told(log: TestLog, ...names: readonly string[]): string[] {
  return names.map((name) => log.statusOf(name));
}

describe('the log of pytest', () => {
  const LOG = `
============================= test session starts ==============================
collected 7 items

tests/test_shop.py .F.s.xE                                               [100%]

==================================== PASSES ====================================
_______________________________ test_prints ____________________________________
----------------------------- Captured stdout call -----------------------------
PASSED tests/test_shop.py::test_never_run
=========================== short test summary info ============================
PASSED tests/test_shop.py::test_sum
PASSED tests/test_shop.py::test_price[1 - 2]
PASSED tests/test_shop.py::TestCart::test_path[/home/me/cart.txt]
XFAIL tests/test_shop.py::test_later - not done
SKIPPED [1] tests/test_shop.py:12: no network
FAILED tests/test_shop.py::test_tax[a b - c] - assert 1 == 2
ERROR tests/test_shop.py::test_stock - RuntimeError: [1] - gone
================ 4 passed, 1 failed, 1 skipped, 1 error in 0.03s ===============
`;

  it('gives the status of every test in the summary', () => {
    const log = parsePytestLog(LOG);
    const shop = 'tests/test_shop.py::';
    expect(
      told(
        log,
        `${shop}test_sum`,
        `${shop}test_price[1 - 2]`,
        `${shop}test_later`,
        `${shop}test_tax[a b - c]`,
        `${shop}test_stock`,
        `${shop}test_absent`,
      ),
    ).toEqual(['passed', 'passed', 'passed', 'failed', 'error', 'missing']);
    expect(log.hasFailures).toBe(true);
  });

  it('knows the shorter names of published lists', () => {
    const names = ['tests/test_shop.py::test_tax[a', 'tests/test_shop.py::TestCart::test_path[/cart.txt]', 'test_sum'];
    expect(told(parsePytestLog(LOG), ...names)).toEqual(['failed', 'passed', 'passed']);
  });

  it('holds a name that several tests share to the worst of them', () => {
    const log = parsePytestLog(
      '=== short test summary info ===\nPASSED a.py::test_x[1]\nFAILED a.py::test_x[2] - no\nPASSED b.py::test_y\n',
    );
    expect(told(log, 'test_x', 'a.py::test_x[1]', 'test_y')).toEqual(['failed', 'passed', 'passed']);
  });

  it('does not take what a test printed for a result', () => {
    expect(told(parsePytestLog(LOG), 'tests/test_shop.py::test_never_run')).toEqual(['missing']);
  });

  it('believes a failure before a second, printed summary', () => {
    const log = parsePytestLog(
      '=== short test summary info ===\nFAILED a.py::test_x - no\n=== short test summary info ===\nPASSED a.py::test_x\n',
    );
    expect(told(log, 'a.py::test_x')).toEqual(['failed']);
  });

  it('reads the lines of -v, with colours, where there is no summary', () => {
    const log = parsePytestLog(
      'a.py::test_x \u001b[32mPASSED\u001b[0m [ 50%]\r\na.py::test_y SKIPPED (why) [ 75%]\na.py::T::test_z FAILED [100%]\n',
    );
    expect(told(log, 'a.py::test_x', 'a.py::test_y', 'a.py::T::test_z')).toEqual(['passed', 'skipped', 'failed']);
  });

  it('reads the same inside what tox prints', () => {
    const log = parsePytestLog(
      'py39: commands[0]> python -X dev -m pytest -rA\n=== short test summary info ===\nPASSED tests/test_a.py::test_x\n=== 1 passed in 1s ===\n  py39: OK (2.00=setup[1.00]+cmd[1.00] seconds)\n  congratulations :)\n',
    );
    expect(told(log, 'tests/test_a.py::test_x')).toEqual(['passed']);
    expect(log.hasFailures).toBe(false);
  });
});

describe("the log of Django's runner", () => {
  const LOG = `
Creating test database for alias 'default'...
test_add (shop.tests.CartTests) ... ok
test_new_python (shop.tests.CartTests.test_new_python) ... ok
test_title (shop.tests.CartTests)
A cart says what it holds. ... ok
test_broken (shop.tests.CartTests)
A cart is never ... really empty. ... FAIL
test_db (shop.tests.CartTests) ... skipped 'needs ... ok'
test_talks (shop.tests.CartTests) ... something that the test wrote
ok
test_expected (shop.tests.CartTests) ... expected failure
test_surprise (shop.tests.CartTests) ... unexpected success
test_subtests (shop.tests.CartTests) ... test_next (shop.tests.CartTests) ... ok

======================================================================
ERROR: setUpClass (shop.tests.OtherTests)
----------------------------------------------------------------------
Traceback (most recent call last):

======================================================================
FAIL: test_broken (shop.tests.CartTests)
A cart is never ... really empty.
----------------------------------------------------------------------
FAIL: test_add (shop.tests.CartTests)

======================================================================
FAIL: test_subtests (shop.tests.CartTests) (n=1)
----------------------------------------------------------------------
Ran 11 tests in 0.027s

FAILED (failures=2, errors=1, skipped=1)
`;

  it('knows a test by its method and by its docstring', () => {
    const log = parseDjangoLog(LOG);
    expect(
      told(
        log,
        'test_add (shop.tests.CartTests)',
        'test_new_python (shop.tests.CartTests)',
        'A cart says what it holds.',
        'test_title (shop.tests.CartTests)',
        'A cart is never ... really empty.',
        'test_broken (shop.tests.CartTests)',
      ),
    ).toEqual(['passed', 'passed', 'passed', 'passed', 'failed', 'failed']);
  });

  it('tells skipped, late, expected and lost results apart', () => {
    const method = (name: string): string => `test_${name} (shop.tests.CartTests)`;
    const names = ['db', 'talks', 'expected', 'surprise', 'subtests', 'next', 'absent'].map(method);
    expect(told(parseDjangoLog(LOG), ...names)).toEqual([
      'skipped',
      'passed',
      'passed',
      'failed',
      'failed',
      'passed',
      'missing',
    ]);
    expect(told(parseDjangoLog(LOG), 'setUpClass (shop.tests.OtherTests)')).toEqual(['error']);
  });

  it('holds a docstring that two tests share to the worse of them', () => {
    const log = parseDjangoLog('test_a (m.T)\nSame words ... ok\ntest_b (m.T)\nSame words ... ERROR\n');
    expect(told(log, 'Same words', 'test_a (m.T)', 'test_b (m.T)')).toEqual(['error', 'passed', 'error']);
  });
});

describe("the log of sympy's runner", () => {
  const LOG = `============================= test process starts ==============================
executable:         /usr/bin/python3  (3.11.2-final-0) [CPython]

lib/core/tests/test_sets.py[5]
test_union ok
test_both ok
test_prints x**2 + 1
 and more ok
test_known f
test_slow s                                                                 [OK]

lib/core/tests/test_maps.py[3]
test_both F
test_raises E
test_last ok                                                              [FAIL]

________________________________________________________________________________
_________________ lib/core/tests/test_maps.py:test_both ________________________
Traceback (most recent call last):
AssertionError
=========== tests finished: 4 passed, 1 failed, 1 exceptions, in 1.13 seconds ===========
`;

  it('gives the status of functions, alone and with their file', () => {
    const log = parseSympyLog(LOG);
    expect(
      told(log, 'test_union', 'test_prints', 'test_known', 'test_slow', 'test_raises', 'test_last', 'test_absent'),
    ).toEqual(['passed', 'passed', 'passed', 'skipped', 'error', 'passed', 'missing']);
    expect(
      told(log, 'test_both', 'lib/core/tests/test_sets.py:test_both', 'lib/core/tests/test_maps.py:test_both'),
    ).toEqual(['failed', 'passed', 'failed']);
    expect(log.hasFailures).toBe(true);
  });

  it('leaves a test without a result, as where the process ended early', () => {
    expect(told(parseSympyLog('a/test_x.py[2]\ntest_one ok\ntest_two'), 'test_one', 'test_two')).toEqual([
      'passed',
      'missing',
    ]);
  });
});

it("the log of sympy's command is pytest's where that is what it starts", () => {
  const tests = {
    repo: 'sympy/sympy',
    version: null,
    testPatch: null,
    gold: null,
    files: [],
    command: null,
    log: null,
  };
  const { format } = testCommand({ ...tests, failToPass: ['sympy/tests/test_a.py::test_x'], passToPass: [] }, null);
  const parse = (text: string): TestLog => readLog(format, Buffer.from(text)) ?? new TestLog();
  const log =
    '===== test session starts =====\nsympy/tests/test_a.py::test_x PASSED [ 50%]\nsympy/tests/test_a.py::test_y FAILED';
  expect(['test_x', 'test_y'].map((test) => parse(log).statusOf(test))).toEqual(['passed', 'failed']);
  expect(parse('sympy/tests/test_a.py[1] \ntest_x ok').statusOf('test_x')).toBe('passed');
});
