import { parseCLog } from '../../../verifiers/execution-based/reports/c-log.js';
import { parseCargoLog } from '../../../verifiers/execution-based/reports/cargo-log.js';
import { parseGoLog } from '../../../verifiers/execution-based/reports/go-log.js';
import { parseJavaLog } from '../../../verifiers/execution-based/reports/java-log.js';
import { parseJavaScriptLog } from '../../../verifiers/execution-based/reports/javascript-log.js';
import { parseJsonLog } from '../../../verifiers/execution-based/reports/json-log.js';
import type { TestLog } from '../../../verifiers/execution-based/reports/test-log.js';

function statuses(log: TestLog, names: readonly string[]): readonly string[] {
  return names.map((name) => log.statusOf(name));
}

describe('logs of runners of other languages', () => {
  it('go test -v', () => {
    const log = parseGoLog(
      [
        '=== RUN   TestAdd',
        '--- PASS: TestAdd (0.00s)',
        '    --- FAIL: TestSub/negative (0.01s)',
        '--- SKIP: TestLater (0.00s)',
        'ok  \texample/calc\t0.012s',
      ].join('\n'),
    );
    const names = ['TestAdd', 'TestSub/negative', 'TestLater', 'TestNone'];
    expect(statuses(log, names)).toEqual(['passed', 'failed', 'skipped', 'missing']);
    expect(log.hasFailures).toBe(true);
  });

  it('cargo test', () => {
    const log = parseCargoLog(
      'test calc::adds ... ok\ntest calc::subtracts ... FAILED\ntest calc::slow ... ignored\ntest result: FAILED. 1 passed\n',
    );
    const names = ['calc::adds', 'calc::subtracts', 'calc::slow'];
    expect(statuses(log, names)).toEqual(['passed', 'failed', 'skipped']);
  });

  it('Jest, Mocha, Vitest and TAP', () => {
    const log = parseJavaScriptLog(
      [
        'calc',
        '    ✓ adds (5 ms)',
        '  ✕ subtracts (1 ms)',
        '  ○ skipped divides',
        ' ✓ src/calc.test.ts > multiplies 3ms',
        '    1) throws on text',
        'ok 1 - squares',
        'not ok 2 - roots',
        'ok 3 - cubes # SKIP later',
      ].join('\n'),
    );
    const names = ['adds', 'subtracts', 'divides', 'src/calc.test.ts > multiplies', 'throws on text'];
    expect(statuses(log, names)).toEqual(['passed', 'failed', 'skipped', 'passed', 'failed']);
    expect(statuses(log, ['squares', 'roots', 'cubes'])).toEqual(['passed', 'failed', 'skipped']);
  });

  it('Gradle and Maven', () => {
    const log = parseJavaLog(
      [
        'CalcTest > adds() PASSED',
        'CalcTest > subtracts() FAILED',
        '[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.05 s -- in org.example.CalcTest',
        '[ERROR] Tests run: 2, Failures: 1, Errors: 0, Skipped: 0, Time elapsed: 0.1 s <<< FAILURE! -- in org.example.RootTest',
      ].join('\n'),
    );
    expect(statuses(log, ['CalcTest > adds()', 'CalcTest > subtracts()'])).toEqual(['passed', 'failed']);
    expect(statuses(log, ['org.example.CalcTest', 'org.example.RootTest'])).toEqual(['passed', 'failed']);
  });

  it('Gradle and Maven, also where a line of counts never names a class', () => {
    const counts = 'Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, ';
    const log = parseJavaLog(`${counts.repeat(20_000)}\n${counts}in a.B\n in a.C\n${counts} in a.D`);
    expect(statuses(log, ['a.B', 'a.C', 'a.D'])).toEqual(['passed', 'missing', 'passed']);
  });

  it('ctest', () => {
    const log = parseCLog(
      '1/3 Test #1: adds .............................   Passed    0.01 sec\n2/3 Test #2: subtracts ........................***Failed    0.00 sec\n3/3 Test #3: later ............................***Not Run (Disabled)   0.00 sec\n',
    );
    expect(statuses(log, ['adds', 'subtracts', 'later'])).toEqual(['passed', 'failed', 'skipped']);
  });

  it("SWE-bench Pro's parsers, whatever was printed before", () => {
    const results = { tests: [...['a', 'b', 'c'].map((name, index) => ({ name, status: STATUSES[index] }))] };
    const log = parseJsonLog(`{"tests": [{"name": "b", "status": "PASSED"}]}\n{ no\n${JSON.stringify(results)}\n`);
    expect(statuses(log, ['a', 'b', 'c', 'd'])).toEqual(['passed', 'failed', 'skipped', 'missing']);
  });

  it('a test that is told twice ended in the worse way', () => {
    expect(parseGoLog('--- FAIL: TestA (0.00s)\n--- PASS: TestA (0.00s)\n').statusOf('TestA')).toBe('failed');
  });
});

const STATUSES = ['PASSED', 'FAILED', 'SKIPPED'];
