import { z } from 'zod';
import { listOf } from '../../../../src/core/json.js';
import { readRecord } from '../../../../verifiers/execution-based/existing/run-record.js';
import { readReport } from '../../../../verifiers/execution-based/reports/test-report.js';
import { expectLinear, LINEAR_MS } from '../../../fixtures/linear-time.js';

const of = (stdout: string): Record<string, string> => Object.fromEntries(readReport({ junit: null, stdout }));
const ofXml = (junit: string): Record<string, string> =>
  Object.fromEntries(readReport({ junit, stdout: 'ok 1 - not read' }));

const SUITE = `<?xml version="1.0"?><testsuites><testsuite name="s"><testcase classname="a.B" name="passes"/>
<testcase classname="a.B" name="fails"><failure message="no">trace &lt;x&gt;</failure></testcase>
<testcase classname="a.B" name="breaks"><error/></testcase><testcase name="alone"><skipped/></testcase></testsuite></testsuites>`;

describe('JUnit XML', () => {
  it('says how each test ended', () => {
    const wanted = { 'a.B::passes': 'passed', 'a.B::fails': 'failed', 'a.B::breaks': 'failed', alone: 'skipped' };
    expect(ofXml(SUITE)).toEqual(wanted);
    expect(
      ofXml(
        `<testsuite><testsuite>${SUITE.slice(SUITE.indexOf('<testcase'), SUITE.indexOf('</testsuite>'))}</testsuite></testsuite>`,
      ),
    ).toEqual(wanted);
  });

  it.each([
    ['cut in the middle', SUITE.slice(0, 200)],
    ['not closed', SUITE.replace('</testsuites>', '')],
    ['no XML', 'all tests passed'],
    ['empty', ''],
    ['a page', '<html><body>passed</body></html>'],
    [
      'full of entities',
      `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite><testcase name="&b;"/></testsuite>`,
    ],
    ['nested without end', `${'<testsuite>'.repeat(5_000)}<testcase name="deep"/>${'</testsuite>'.repeat(5_000)}`],
  ])('that is %s gives no pass', (_name, xml) => {
    expect(Object.values(ofXml(xml))).not.toContain('passed');
  });

  it('of two words on one test takes the worse, whichever comes first', () => {
    const [pass, fail] = ['<testcase name="t"/>', '<testcase name="t"><failure/></testcase>'];
    expect(ofXml(`<testsuite>${pass}${fail}</testsuite>`)).toEqual({ t: 'failed' });
    expect(ofXml(`<testsuite>${fail}${pass}</testsuite>`)).toEqual({ t: 'failed' });
  });
});

describe('go test -json', () => {
  const event = (Action: string, Test?: string): string =>
    `${JSON.stringify({ Action, Package: 'p', Test, Elapsed: 0 })}\n`;

  it('says how each test ended', () => {
    const log =
      event('run', 'TestA') + event('pass', 'TestA') + event('fail', 'TestB') + event('skip', 'TestC') + event('fail');
    expect(of(`building…\n${log}`)).toEqual({ 'p.TestA': 'passed', 'p.TestB': 'failed', 'p.TestC': 'skipped' });
  });

  it('gives no pass of a package that did not end', () => {
    expect(of(event('pass', 'TestA') + event('run', 'TestB'))).toEqual({ 'p.TestA': 'failed' });
  });
});

describe('TAP', () => {
  const LOG = `TAP version 13
# Subtest: math
    # Subtest: adds
    ok 1 - adds
      ---
      duration_ms: 1
      ...
    # Subtest: subtracts
    not ok 2 - subtracts
    1..2
not ok 1 - math
ok 2 - waits # SKIP no clock
ok 3 - alone
1..3
# pass 2`;

  it('says how each test ended, subtests by the names around them', () => {
    expect(of(LOG)).toEqual({
      'math > adds': 'passed',
      'math > subtracts': 'failed',
      math: 'failed',
      waits: 'skipped',
      alone: 'passed',
    });
  });

  it.each([
    ['without its plan', LOG.slice(0, LOG.indexOf('1..3'))],
    ['with fewer results than planned', '1..3\nok 1 - a\nok 2 - b\n'],
    ['that is prose', 'ok, everything passed'],
  ])('%s gives no pass', (_name, log) => {
    expect(Object.values(of(log))).not.toContain('passed');
  });
});

describe('what runners print', () => {
  it('is read where it is of SymPy, by file and test', () => {
    const printed = [
      'sympy/core/tests/test_basic.py[4] ',
      'test_a ok',
      'test_b F',
      'test_c printed this',
      'and this ok',
      'test_d f                                                    [FAIL]',
      'sympy/core/tests/test_add.py[1] ',
      'test_a E                                                    [FAIL]',
      '',
    ].join('\n');
    expect(of(printed)).toEqual({
      'sympy/core/tests/test_basic.py::test_a': 'passed',
      'sympy/core/tests/test_basic.py::test_b': 'failed',
      'sympy/core/tests/test_basic.py::test_c': 'passed',
      'sympy/core/tests/test_basic.py::test_d': 'skipped',
      'sympy/core/tests/test_add.py::test_a': 'failed',
    });
  });

  it('is read where cargo prints a result after the output of its test, of which a failure counts', () => {
    const stdout =
      'test a ... hello\nok\ntest b ... \nok\nFAILED\ntest c ... ok\n\nfailures:\n    c\n\ntest result: FAILED.\n';
    expect([...readReport({ junit: null, stdout })]).toEqual([
      ['a', 'passed'],
      ['b', 'failed'],
      ['c', 'failed'],
    ]);
  });

  it('is read where it is of cargo', () => {
    const printed = 'running 3 tests\ntest a::b ... ok\ntest a::c ... FAILED\ntest d ... ignored\n';
    expect(of(printed)).toEqual({ 'a::b': 'passed', 'a::c': 'failed', d: 'skipped' });
  });

  it('is read where it is a document of jest or RSpec, and nothing where that is cut off', () => {
    const assertionResults = [
      { fullName: 'adds', status: 'passed' },
      { fullName: 'waits', status: 'pending' },
    ];
    const jest = JSON.stringify({ testResults: [{ name: '/a.test.js', assertionResults }] });
    expect(of(`warming up\n${jest}\n`)).toEqual({ '/a.test.js > adds': 'passed', '/a.test.js > waits': 'skipped' });
    expect(of(jest.slice(0, -5))).toEqual({});
    const examples = [{ full_description: 'Calc adds', status: 'failed' }];
    expect(of(JSON.stringify({ version: '3', examples }))).toEqual({ 'Calc adds': 'failed' });
    expect(of(JSON.stringify({ examples: [...examples, {}] }))).toEqual({});
  });
});

describe('a hostile document', () => {
  it('is refused by its number of values before it is parsed', () => {
    const examples = [{ full_description: 'adds', status: 'passed', more: Array.from({ length: 1_000_000 }, () => 0) }];
    expect(of(JSON.stringify({ examples }))).toEqual({});
  });

  it('is left at its first wrong element', () => {
    let read = 0;
    const wrong = z.unknown().refine(() => {
      read += 1;
      return false;
    });
    expect(listOf(wrong).safeParse([1, 2, 3]).error?.issues).toMatchObject([{ path: [0] }]);
    expect(read).toBe(1);
    expect(listOf(z.int()).parse([1, 2])).toEqual([1, 2]);
  });
});

describe('what a probe noted', () => {
  const read = (notes: string, printed = '') =>
    readRecord({
      ...{
        notes: Buffer.from(notes),
        key: 'k1',
        planted: { names: ['test_x', 'test_y'], path: 'tests/m.py' } as const,
        junit: null,
      },
      stdout: Buffer.from(printed),
    });
  const note = (t: string, s: string, k = 'k1') => `${JSON.stringify({ t, s, k })}\n`;

  it('counts with the key alone, and instead of a report', () => {
    const notes = note('a', 'passed') + note('b', 'passed', 'k2') + note('m::test_x', 'failed') + '{"t": "k1\n';
    expect(read(notes, 'ok 1 - printed\n1..1\n')).toMatchObject({ passed: ['a'], control: 'failed', reported: false });
    expect(read('', 'ok 1 - printed\n1..1\n')).toMatchObject({ passed: ['printed'], reported: true });
  });

  it.each([
    ...['tests/m.py::test_x', 'tests/m.py::T::test_x', 'm.Test_x.test_x', 'tests.m.test_x', 'm.py::test_x'],
    ...['sub/tests/m.py::test_x', 'tests.m.T::test_x', 'sub.tests.m.T.test_x'],
  ])('tells the failing test, here %s, from a test of another file that has its name', (id) => {
    const other = note('tests/other.py::C::test_x', 'passed');
    expect(read(note(id, 'failed') + other)).toMatchObject({
      passed: ['tests/other.py::C::test_x'],
      failed: [],
      control: 'failed',
    });
    expect(read(note(id, 'passed') + other)).toMatchObject({ control: 'passed' });
    expect(read(note('of a runner of its own.test_x', 'failed'))).toMatchObject({ failed: [], control: 'failed' });
  });

  it.each([
    ['has a similar name', note('pkg/sub_tests/m.py::test_x', 'passed')],
    ['has such a folder', note('tests/m.pyx/a.py::test_x', 'passed')],
    ['is another one', note('tests/other.py::test_x', 'passed')],
    ['is another module', note('m.T.test_a', 'passed') + note('other.T.test_x', 'passed')],
  ])('does not take a test for the failing one whose file %s', (_, notes) => {
    expect(read(notes).control).toBe('absent');
  });

  it('counts for nothing where it is more than tests have to say', () => {
    expect(read(note('a', 'passed') + '\n'.repeat(5_000_001))).toMatchObject({ passed: [], control: 'absent' });
  });

  it(
    'is read in linear time',
    () => {
      expectLinear(read, ['{"t": "a", "s": "passed", "k": "k1"}\n', '{"t": ', '"k1"', ', "c": ["', '}\n', '\n']);
    },
    LINEAR_MS,
  );
});
