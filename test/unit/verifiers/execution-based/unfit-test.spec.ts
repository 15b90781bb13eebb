import type { GeneratedTest } from '../../../../src/core/run/generated-test.js';
import { admit, unfitTests } from '../../../../verifiers/execution-based/generated/admitted-tests.js';
import {
  isAnsweredFor,
  kindOnBase,
  kindOnPatch,
  raisedBy,
} from '../../../../verifiers/execution-based/generated/cell-kinds.js';
import type { TestRun } from '../../../../verifiers/execution-based/generated/run-batch.js';
import { script } from '../../../fixtures/calculator.js';
import { expectLinear, LINEAR_MS } from '../../../fixtures/linear-time.js';

const reasonOf = (...lines: readonly string[]): string | undefined => unfitTests([script('t', ...lines)]).get('t');

describe('tests that are refused unrun', () => {
  it.each([
    ['server.serve_forever()', /starts a server/],
    ["subprocess.Popen([sys.executable, 'manage.py', 'runserver', '8000'])", /starts a server/],
    ['s.listen(1)', /starts a server/],
    ['server.listen(port, done)', /starts a server/],
    ['server.listen({ port: 0 })', /starts a server/],
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
    "event.listen(engine, 'connect', seen.append)",
    "sqlalchemy.event.listen(Session, 'after_commit', done)",
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

const TRACE = (file: string, error: string): string =>
  `Traceback (most recent call last):\n  File "${file}", line 3, in <module>\n    x\n${error}\n`;
const OWN = '/var/tmp/abcdefgh12345678/0.py';
const onBase = (outcome: TestRun['outcome'], log_tail: string, issue: string) =>
  kindOnBase({ outcome, log_tail, raises: raisedBy('', log_tail) ?? 'none' }, issue);

describe('a "not solved" on base', () => {
  it.each([
    ["ModuleNotFoundError: No module named 'nothing'", 'add is wrong', 'missing-name', /own ModuleNotFoundError/],
    [
      'django.core.exceptions.ImproperlyConfigured: settings',
      'add is wrong',
      'set-up-error',
      /own ImproperlyConfigured/,
    ],
    [
      "ImportError: cannot import name 'helper' from 'p'",
      'p needs a new function `plus`',
      'missing-name',
      /own ImportError/,
    ],
  ])('for %s is for the wrong reason', (log, issue, kind, why) => {
    expect(onBase('not-solved', log, issue)).toEqual({ kind, why: expect.stringMatching(why) as string });
  });

  it.each([
    ['AssertionError: -1 != 5', 'add is wrong'],
    ['ImportError: cannot import name x', 'from p import x raises ImportError'],
    ['', 'add is wrong'],
    ["ImportError: cannot import name 'plus' from 'p' (/testbed/p.py)", 'p needs a new function `plus`'],
    ["ModuleNotFoundError: No module named 'p.plus'", 'A new module p.plus should add'],
    [
      "/lib/p/compat.py:7: UserWarning: yaml is missing (ModuleNotFoundError: No module named 'yaml')\n  warn(text)\ngot -1",
      'add is wrong',
    ],
    [
      `${TRACE('/lib/p/compat.py', "ImportError: No module named 'yaml'")}yaml is not used\na\nb\ngot -1`,
      'add is wrong',
    ],
  ])('for %s is for the right one', (log, issue) => {
    expect(onBase('not-solved', log, issue)).toEqual({ kind: 'wrong-answer', why: null });
  });
});

describe('an end without an answer', () => {
  it.each([
    ["ImportError: cannot import name 'plus' from 'p'", 'p needs `plus`', 'wrong-answer'],
    ["AttributeError: module 'p' has no attribute 'plus'", 'p needs p.plus()', 'wrong-answer'],
    ["TypeError: add() got an unexpected keyword argument 'strict'", 'add(strict=True) should raise', 'wrong-answer'],
    ['./a_test.go:7:9: undefined: calc.Plus', 'calc.Plus should add', 'wrong-answer'],
    ['error[E0425]: cannot find function `plus` in crate `calc`', 'calc::plus should add', 'wrong-answer'],
    ['  symbol:   method plus(int,int)', 'Calc.plus should add', 'wrong-answer'],
    ["a.c:3:10: error: implicit declaration of function 'plus'", 'plus() should add', 'wrong-answer'],
    ["SyntaxError: The requested module does not provide an export named 'plus'", 'export plus', 'wrong-answer'],
    ["NameError: undefined method `plus' for Calc:Module", 'Calc.plus should add', 'wrong-answer'],
    ["AttributeError: module 'p' has no attribute 'helper'", 'p needs p.plus()', 'missing-name'],
    ["NameError: name 'plsu' is not defined", 'p needs plus', 'missing-name'],
    ["ModuleNotFoundError: No module named 'p.sets'", 'subtracting plain sets is wrong', 'missing-name'],
    ["ModuleNotFoundError: No module named 'p.sets'", 'p needs a module p.sets', 'wrong-answer'],
    ["ImportError: cannot import name 'plain_sets' from 'p'", 'p needs plain_sets', 'wrong-answer'],
    ['./a_test.go:7:9: undefined: calc.Pluss', 'calc.Plus should add', 'missing-name'],
    ['SyntaxError: invalid syntax', 'p needs plus', 'set-up-error'],
    ['no test was found', 'p needs plus', 'set-up-error'],
  ])('by %s, where the issue says "%s", is %s on base', (log, issue, kind) => {
    const told = onBase('crashed', log, issue);
    expect(told.kind).toBe(kind);
    expect(told.why === null).toBe(kind === 'wrong-answer');
  });

  it.each([
    ['NameError', TRACE(OWN, "NameError: name 'resutl' is not defined"), 'missing-name'],
    ['SyntaxError', TRACE(OWN, 'SyntaxError: invalid syntax'), 'set-up-error'],
    ['NameError', TRACE('/testbed/calc.py', "NameError: name 'resutl' is not defined"), 'wrong-answer'],
    ['ImportError', TRACE(OWN, "ImportError: cannot import name 'add' from 'calc'"), 'wrong-answer'],
    ['TypeError', TRACE(OWN, 'TypeError: unsupported operand'), 'wrong-answer'],
    ['none', '', 'wrong-answer'],
  ])('by %s speaks of a patch unless a name of the script itself is missing: %s', (raises, log_tail, kind) => {
    expect(kindOnPatch({ outcome: 'crashed', log_tail, raises }, '`add` is wrong')).toBe(kind);
  });

  it.each([
    ['-def _help(a):\n', false],
    ['-def _helper(a):\n', true],
    ['+def _help(a):\n', true],
  ])('for a missing name is left to a patch with the line %j to answer for: %s', (patch, isAnswered) => {
    const log_tail = TRACE(OWN, "ImportError: cannot import name '_help' from 'calc'");
    const run = { outcome: 'crashed', log_tail, raises: 'ImportError' } as const;
    expect(isAnsweredFor(run, 'calc is wrong', patch)).toBe(isAnswered);
    expect(isAnsweredFor({ outcome: 'timed-out', log_tail: '' }, 'calc is wrong', patch)).toBe(true);
    expect(isAnsweredFor({ outcome: 'solved', log_tail: '' }, 'calc is wrong', patch)).toBe(false);
  });

  it(
    'is read in linear time',
    () => {
      const words = [
        'ImportError',
        "No module named 'a",
        'cannot find a, b',
        '{"raises": "a',
        '  File "/a',
        'aError',
        'Warning',
      ];
      expectLinear(
        (log) => {
          const ended = { log_tail: log, raises: raisedBy(log, log) ?? 'NameError' };
          const outcomes = ['not-solved', 'crashed'] as const;
          return outcomes.map((outcome) => [
            kindOnBase({ outcome, ...ended }, 'x'),
            kindOnPatch({ outcome, ...ended }, 'x'),
          ]);
        },
        [...words, '\n', ' '],
      );
    },
    LINEAR_MS,
  );

  it('is told by its limit, and by its two runs where they differ', () => {
    const run = (outcome: TestRun['outcome']): TestRun => {
      return { outcome, exit_code: 1, duration_ms: 1, log_tail: '', observed: null, isolated: true };
    };
    const kinds = (...outcomes: readonly TestRun['outcome'][]) => admitted(script('t', 'x'), outcomes);
    const held = (...outcomes: readonly TestRun['outcome'][]) =>
      admitted({ ...script('t', 'x'), kind: 'pass-to-pass' }, outcomes);
    const admitted = (test: GeneratedTest, outcomes: readonly TestRun['outcome'][]) =>
      admit([test], { runs: new Map([['t', outcomes.map(run)]]), unfit: new Map(), issue: '' });
    expect(kinds('timed-out', 'timed-out')).toMatchObject([{ admitted: false, kind: 'time-out' }]);
    expect(kinds('solved', 'not-solved')).toMatchObject([{ admitted: false, kind: 'flaky' }]);
    expect(kinds('solved', 'solved')).toMatchObject([{ admitted: false, kind: 'passes-on-base' }]);
    expect(held('solved', 'solved')).toMatchObject([{ admitted: true, reason: null, kind: 'resolved' }]);
    expect(held('solved', 'not-solved')).toMatchObject([{ admitted: false, kind: 'flaky' }]);
    expect(held('crashed', 'crashed')).toMatchObject([{ admitted: false, kind: 'set-up-error' }]);
    expect(held('not-solved', 'not-solved')).toMatchObject([
      { admitted: false, kind: 'wrong-answer', reason: expect.stringMatching(/was to hold/) as string },
    ]);
    expect(kinds('not-solved', 'not-solved')).toEqual([
      { test_id: 't', admitted: true, reason: null, kind: 'wrong-answer' },
    ]);
  });
});
