import { readFileSync } from 'node:fs';
import { logFormatsTable } from '../../../../scripts/log-formats-table.mjs';
import {
  LOG_FORMATS,
  type LogFormat,
  logFormatByName,
  logFormatOfCommand,
  parserNames,
  readLog,
} from '../../../../verifiers/execution-based/reports/log-formats.js';
import { TestLog } from '../../../../verifiers/execution-based/reports/test-log.js';

function statuses(format: LogFormat, text: string | Uint8Array, ...names: readonly string[]): readonly string[] {
  const log = readLog(format, typeof text === 'string' ? Buffer.from(text) : text) ?? new TestLog();
  return names.map((name) => log.statusOf(name));
}

describe('formats of logs', () => {
  it('are listed in docs/grading.md, with the parsers of data sets that they read', () => {
    expect(readFileSync('docs/grading.md', 'utf8')).toContain(logFormatsTable(LOG_FORMATS, parserNames));
  });

  it('include all 76 parsers of SWE-rebench V2 and all 57 of SWE-bench 5', () => {
    const all = Object.values(LOG_FORMATS);
    const rebench = all.flatMap(({ sweRebench }) => parserNames(sweRebench));
    const bench = all.flatMap(({ sweBench }) => parserNames(sweBench));
    expect([new Set(rebench).size, rebench.length, new Set(bench).size, bench.length]).toEqual([76, 76, 57, 57]);
    expect([...rebench, ...bench].filter((name) => logFormatByName(name) === null)).toEqual([]);
  });

  it.each(['parse_log_cobol', 'parse_log_my_js', 'constructor', ''])('do not include %j', (name) => {
    expect(logFormatByName(name)).toBeNull();
  });

  it.each([
    ['cd tests && python3 runtests.py a', 'unittest'],
    ['pytest tests/unittests', 'pytest'],
    ['./gradlew :core:test', 'java'],
    ['dotnet test --no-build', 'csharp'],
    ['make check # log: tap_like', null],
    ['make check # log: parse_log_jq', 'ctest'],
    ['./run.sh', null],
  ])('follow from the command %j', (command, format) => {
    expect(logFormatOfCommand(command)).toBe(format);
  });
});

describe('listed names', () => {
  it.each<[string, LogFormat, string, string]>([
    ['a duration in brackets', 'javascript', '  ✓ adds (12 ms)', 'adds'],
    ['a duration in the list', 'javascript', '  ✓ adds', 'adds (7 ms)'],
    ['a duration in square brackets', 'php', 'Calc\n ✔ Adds [1.34 ms]', 'Calc > Adds [0.5s]'],
    ['a duration after in', 'pytest', '[gw0] [ 50%] PASSED a.py::test_x in 1.2s', 'a.py::test_x'],
    ['blanks at the end', 'json', '{"tests": [{"name": "a | b (x > 1) ", "status": "PASSED"}]}', 'a | b (x > 1)'],
    ['a run of blanks', 'json', '{"tests": [{"name": "a  b\\u00a0c", "status": "PASSED"}]}', 'a b c'],
    ['a closing quotation mark', 'json', '{"tests": [{"name": "say \\"day\\"", "status": "PASSED"}]}', 'say "day'],
    ['composed letters', 'go', '--- PASS: TestCafe\u0301 (0.00s)', 'TestCaf\u00e9'],
    ['decomposed letters', 'go', '--- PASS: TestCaf\u00e9 (0.00s)', 'TestCafe\u0301'],
    ['a truncated parameter', 'pytest', 'PASSED a.py::test_x[log(photon / m**2 s)]', 'a.py::test_x[log(photon / m'],
  ])('are found despite %s', (_, format, log, name) => {
    expect(statuses(format, log, name)).toEqual(['passed']);
  });

  it('prefer the same spelling, and take the worse of two tests that they could mean', () => {
    const log =
      '{"tests": [{"name": "a", "status": "PASSED"}, {"name": "b ", "status": "PASSED"}, {"name": "b\\"", "status": "FAILED"}]}';
    expect(statuses('json', log, 'a', 'b', 'a"')).toEqual(['passed', 'failed', 'passed']);
  });

  it('that are truncated fail unless all tests that begin with them agree', () => {
    const log = 'PASSED a.py::t[x-None]\nPASSED a.py::t[x-No-v]\nPASSED a.py::t[y-a]\nFAILED a.py::t[y-b] - no\n';
    expect(statuses('pytest', log, 'a.py::t[x-No', 'a.py::t[y-', 'a.py::t[z', 'a.py::t[x-Non]')).toEqual([
      'passed',
      'failed',
      'missing',
      'missing',
    ]);
  });

  it('are not turned into passes by a failure with another duration', () => {
    expect(statuses('javascript', '  ✓ adds\n  ✕ adds (3 ms)\n', 'adds', 'adds (9 ms)')).toEqual(['failed', 'failed']);
  });
});

describe('encodings of logs', () => {
  const TEXT = '  ✓ größer (5 ms)\n  ✕ kleiner\n';
  const wide = Buffer.from(`\ufeff${TEXT}`, 'utf16le');
  it.each<[string, Uint8Array]>([
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${TEXT}`)],
    ['UTF-16 with a byte order mark', wide],
    ['big-endian UTF-16', Buffer.from(wide).swap16()],
    ['UTF-16 after lines of a shell', Buffer.concat([Buffer.from('+ cat log\n'), wide])],
  ])('%s', (_, bytes) => {
    expect(statuses('javascript', bytes, 'größer', 'kleiner')).toEqual(['passed', 'failed']);
  });

  it('UTF-16 without a byte order mark', () => {
    expect(statuses('go', Buffer.from('--- PASS: TestA (0.00s)\n', 'utf16le'), 'TestA')).toEqual(['passed']);
  });

  it('the one that an XML report declares', () => {
    const report =
      '<?xml version="1.0" encoding="ISO-8859-1"?><testsuite><testcase name="größer" classname="A"/></testsuite>';
    expect(statuses('junit', Buffer.from(report, 'latin1'), 'A größer')).toEqual(['passed']);
  });
});

describe("Gradle's logs", () => {
  it.each([
    ['plain', 'a.B > c %s'],
    ['with the line of another process merged', 'a.B > c %sPicked up JAVA_TOOL_OPTIONS: -Dx=y'],
    ['with a time merged', 'a.B > c %s12:03:11 INFO started'],
    ['with a task merged', 'a.B > c %s> Task :next'],
    ['on a later line', 'a.B > c\nWARNING: another process\n%s'],
    ['on a later line, indented', '  a.B > c\n  WARNING: another process\n  %s'],
    ['indented', '\ta.B > c %s'],
    ['after progress', '<==> 50% EXECUTING [3s]\ra.B > c %s'],
    ['after several lines of progress', '<=> 10%\r<==> 50% EXECUTING\r\u001b[1Aa.B > c %s\r\n'],
    ['with a duration', 'a.B > c %s (0.5s)'],
  ])('are read %s', (_, line) => {
    const log = (word: string): string => `x.Y > z PASSED\n${line.replace('%s', word)}\n`;
    expect(statuses('java', log('PASSED'), 'a.B > c', 'x.Y > z')).toEqual(['passed', 'passed']);
    expect(statuses('java', log('FAILED'), 'a.B > c', 'x.Y > z')).toEqual(['failed', 'passed']);
  });

  it('take tasks for tests, and what a task did not do for skipped', () => {
    const log =
      '> Task :core:compileJava UP-TO-DATE\n> Task :core:javaTests\n> Task :a:test FAILED\n> Task :b:test NO-SOURCE\n> Task :c:test FROM-CACHE\n';
    const names = ['core:compileJava', 'core:javaTests', 'a:test', 'b:test', 'c:test'];
    expect(statuses('java', log, ...names)).toEqual(['passed', 'passed', 'failed', 'skipped', 'passed']);
  });

  it('do not take what a test printed for a result', () => {
    const log = 'a.B > c STANDARD_OUT\n    a.B > d PASSED\n    PASSED\na.B > c FAILED\n';
    expect(statuses('java', log, 'a.B > c', 'a.B > d')).toEqual(['failed', 'missing']);
  });
});

describe('results apart from their names', () => {
  it.each<[string, LogFormat, string, string]>([
    ['go, behind what a test printed', 'go', 'text--- %s: TestX (0.10s)\n', 'TestX'],
    ['go, in a subtest', 'go', '    --- %s: TestX/a_b (0.10s)\n', 'TestX/a_b'],
    ['go, as JSON', 'go', '{"Action":"%s","Package":"p","Test":"TestX"}\n', 'TestX'],
  ])('%s', (_, format, line, name) => {
    const log = (word: string): string => line.replace('%s', line.startsWith('{') ? word.toLowerCase() : word);
    expect([statuses(format, log('PASS'), name), statuses(format, log('FAIL'), name)]).toEqual([
      ['passed'],
      ['failed'],
    ]);
  });

  it.each([
    ['on the next line', 'test a::b ... \n%s\n'],
    ['after output', 'test a::b ... hello\nworld\n%s\n'],
    ['with its time', 'test a::b ... %s <0.001s>\n'],
    ['of nextest', '        %s [   0.004s] crate a::b\n'],
  ])('cargo, %s', (where, line) => {
    const isNextest = where === 'of nextest';
    const log = (word: string): string => line.replace('%s', word);
    expect(statuses('cargo', log(isNextest ? 'PASS' : 'ok'), 'a::b')).toEqual(['passed']);
    expect(statuses('cargo', log(isNextest ? 'FAIL' : 'FAILED'), 'a::b')).toEqual(['failed']);
  });

  it('cargo, where a test prints that it passed', () => {
    expect(statuses('cargo', 'test a::b ... \nok\nFAILED\ntest a::c ... ok\n', 'a::b', 'a::c')).toEqual([
      'failed',
      'passed',
    ]);
    expect(statuses('cargo', 'test a::b ... ok\n\nfailures:\n    a::b\n', 'a::b')).toEqual(['failed']);
  });

  it('ctest, with blanks and dots in names', () => {
    const log =
      '1/3 Test #1: reads a file.txt ........   Passed    0.01 sec\n2/3 Test #2: a ... b ....***Failed    0.00 sec\n 3/3 Test  #3: x y ...Subprocess aborted***Exception:   0.10 sec\n';
    expect(statuses('ctest', log, 'reads a file.txt', 'a ... b', 'x y')).toEqual(['passed', 'failed', 'failed']);
  });

  it('pytest-xdist, and lines of -v with a duration', () => {
    const log =
      '[gw0] [ 50%] PASSED a.py::t[x y] \n[gw11] [100%] FAILED a.py::u \n[gw1] [ 75%] SKIPPED a.py::v \na.py::w PASSED [ 33%] in 0.10s\n';
    expect(statuses('pytest', log, 'a.py::t[x y]', 'a.py::u', 'a.py::v', 'a.py::w')).toEqual([
      'passed',
      'failed',
      'skipped',
      'passed',
    ]);
  });

  it.each([
    ['a warning', '{"tests": [{"name": "a", "status": "PASSED"}]}\nwarning: x\n'],
    [
      'indented JSON and a warning',
      '{\n  "tests": [\n    {\n      "name": "a",\n      "status": "PASSED"\n    }\n  ]\n}\n(node:1) {x}\n',
    ],
    ['JSON without indentation', '{\n"tests": [\n{\n"name": "a",\n"status": "PASSED"\n}\n]\n}'],
    [
      'brackets in names',
      'x {\n{"tests": [{"name": "}] {", "status": "FAILED"}, {"name": "a", "status": "PASSED"}]} y',
    ],
  ])('JSON, with %s', (_, log) => {
    expect(statuses('json', log, 'a')).toEqual(['passed']);
  });
});

describe('names that look alike', () => {
  it.each(['5m', '10 s', '1.5ms', '2min'])('takes the parameter [%s] of pytest for no duration', (parameter) => {
    const log = `PASSED t.py::test_unit[${parameter}]\nPASSED t.py::test_unit[7s]\n`;
    const names = [`t.py::test_unit[${parameter}]`, 't.py::test_unit[7s]', 't.py::test_unit[8s]', 't.py::test_unit'];
    expect(statuses('pytest', log, ...names)).toEqual(['passed', 'passed', 'missing', 'missing']);
  });

  it.each([
    ['test_a (m.A)\nSums. ... FAIL\nprinted\nSums. ... ok\n'],
    ['printed\nSums. ... ok\ntest_a (m.A)\nSums. ... FAIL\n'],
    ['test_a (m.A)\nSums. ... ok\nprinted\nSums. ... ERROR\n'],
  ])('gives a docstring of two tests of unittest the worse result: %j', (log) => {
    expect(statuses('unittest', log, 'Sums.')).not.toEqual(['passed']);
  });
});

describe('runners that name only failures', () => {
  it('passed the other tests if they ran', () => {
    const log =
      'Chrome 120.0 (Linux x86_64) Chart draws FAILED\nChrome 120.0 (Linux x86_64): Executed 3 of 3 (1 FAILED)\n';
    expect(statuses('javascript-failures', log, 'Chart draws', 'Chart resizes')).toEqual(['failed', 'passed']);
    expect(statuses('javascript-failures', '658 specs, 0 failures\n', 'Marked')).toEqual(['passed']);
  });

  it.each(['Executed 0 of 0 DISCONNECTED', 'Chrome failed 2 times (cannot start).', '0 passing'])(
    'say nothing of any test after %j',
    (log) => {
      expect(statuses('javascript-failures', log, 'Chart draws')).toEqual(['missing']);
    },
  );

  const FAILED = 'Chrome 120.0 (Linux x86_64) Chart draws FAILED\n';
  it.each([
    ['Karma lost its browser', `${FAILED}Chrome 120.0 (Linux x86_64): Executed 3 of 90 (1 FAILED) DISCONNECTED`],
    ['Karma skipped some and lost the rest', `${FAILED}Chrome 120.0 (Linux): Executed 3 of 90 (1 FAILED) (skipped 5)`],
    ['one of two browsers was lost', `Chrome 1 (Linux): Executed 9 of 9 SUCCESS\nFirefox 2 (Linux): Executed 8 of 9`],
    ['a hook failed', '  5 passing\n  1 failing\n\n  1) Chart\n       "before all" hook for "draws":\n     Error: x'],
    ['a hook of each test failed', '  5 passing\n  1 failing\n\n  1) "before each" hook for "draws":\n     Error: x'],
    ['a file of Jest did not load', 'FAIL a.js\n  ● Test suite failed to run\n\nTests:       3 passed, 3 total'],
  ])('say nothing of tests that may not have been run: %s', (_, log) => {
    expect(statuses('javascript-failures', log, 'Chart resizes')).toEqual(['missing']);
  });

  it.each([
    'Chrome 120.0 (Linux): Executed 3 of 90 SUCCESS\nChrome 120.0 (Linux): Executed 90 of 90 SUCCESS',
    'Chrome 120.0 (Linux): Executed 3 of 90\rChrome 120.0 (Linux): Executed 85 of 90 (skipped 5) SUCCESS',
    '  5 passing\n  1 failing\n\n  1) Chart\n       "before" text:\n     Error: x',
  ])('count progress, skipped tests and titles as no interruption: %j', (log) => {
    expect(statuses('javascript-failures', log, 'Chart resizes')).toEqual(['passed']);
  });
});

describe('tests that began, or were asked for, without a result', () => {
  const ASKED = '+ mvn test -Dtest=ATest\n';
  it.each([
    ['[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS\n', 'skipped'],
    ['[INFO] BUILD SUCCESS\n', 'passed'],
    [
      '[INFO] Tests are skipped.\n[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n',
      'passed',
    ],
    [
      '[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0\n[INFO] Tests are skipped.\n[INFO] BUILD SUCCESS\n',
      'passed',
    ],
  ])('a build of Maven with -Dtest= that says %j is %s', (log, status) => {
    expect(statuses('java', ASKED + log, 'ATest')).toEqual([status]);
  });

  it.each([
    ['lein test a\nlein test b\n', ['passed', 'missing']],
    ['lein test a\nlein test b\n\nRan 3 tests containing 5 assertions.\n', ['passed', 'passed']],
    ['lein test a\nFAIL in (x)\nlein test b\nException\n', ['failed', 'missing']],
    ['lein test a b\nRan 3 tests containing 5 assertions.\n', ['passed', 'passed']],
    ['lein test a\nRan 1 tests containing 1 assertions.\nlein test b\n', ['passed', 'missing']],
  ])('a namespace of Leiningen passes at its end: %j', (log, expected) => {
    expect(statuses('clojure', log, 'a', 'b')).toEqual(expected);
  });
});

describe('results in other languages', () => {
  it.each<[LogFormat, string, string, string]>([
    ['ctest', 'PASS: a.sh\nFAIL: b.sh\n', 'a.sh', 'b.sh'],
    ['ctest', '[ok]: a (3 ms)\n[err]: b in tests/x.tcl\n', 'a', 'b'],
    ['ctest', 'x[       OK ] A.a (0 ms)\n[  FAILED  ] A.b, where GetParam() = 3 (1 ms)\n', 'A.a', 'A.b'],
    ['php', 'Calc (App\\Calc)\n ✔ Adds [1 ms]\n ✘ Divides\n', 'Calc > Adds', 'Calc > Divides'],
    ['php', 'Calc\n ✔ Adds\n ✘ Divides\n', 'Calc > Adds', 'Calc > Divides'],
    ['swift', "Test Case 'A.a' passed (0.1 seconds)\nTest Case 'A.b' failed (0.1 seconds)\n", 'A.a', 'A.b'],
    ['javascript', 'ok 1 - a\nnot ok 2 - b # time=3ms\n', 'a', 'b'],
    ['javascript', 'PASS x.js\n  S\n    ✓ a (1 ms)\nFAIL y.js\n  T\n    ✕ b\n', 'x.js:a', 'S - b'.replace('S', 'T')],
    ['ruby', 'A#a = 0.01 s = .\nA#b = 0.02 s = F\n', 'A#a', 'A#b'],
    ['csharp', '  Passed N.a [12 ms]\n  Failed N.b [1 s]\n', 'N.a', 'N.b'],
    ['scala', '[info] - a (3 milliseconds)\n[info] - b *** FAILED *** (1 second)\n', 'a', 'b'],
    ['elixir', '  * test a (1.2ms) [L#3]\n  1) test b (My.Test)\n', 'a', 'b'],
    ['haskell', '  a: OK (0.1s)\n  b: FAIL\n', 'a', 'b'],
    ['hspec', 'Test suite s: RUNNING...\nP\n  a\n  b FAILED [1]\n', 'P.a', 'P.b'],
    ['julia', 'Test Summary: | Pass  Fail  Total\na |    2           2\nb |    1     1     2\n', 'a', 'b'],
    ['ocaml', '  [OK]    s   0   a.\n> [FAIL]  s   1   b.\n', 's 0 a.', 's 1 b.'],
    [
      'dart',
      '00:01 +1: /t/x_test.dart: a\n00:02 +1 -1: /t/x_test.dart: b [E]\n',
      '/t/x_test.dart: a',
      '/t/x_test.dart: b',
    ],
    ['lua', 'Success\t||\ta\nFail\t||\tb\n', 'a', 'b'],
    ['r', '✔ | 3 | a\n✖ | 1 2 | b\n', 'a', 'b'],
    ['r-check', '* checking a ... OK\n* checking b ...\n x\n WARNING\n', 'a', 'b'],
    ['clojure', 'lein test a\n\nlein test b\n\nFAIL in (x)\n', 'a', 'b'],
    ['cpp', '[1/2] a... OK\n[2/2] b... FAILED\n', 'a', 'b'],
    ['cucumber', 'a ....\nb ..F\n', 'a', 'b'],
    ['java', '+ mvn -Dtest=a\n[INFO] BUILD SUCCESS\n+ mvn -Dtest=b\n[INFO] BUILD FAILURE\n', 'a', 'b'],
    [
      'junit',
      'x\n<testsuite><testcase name="a" classname="C"/><testcase name="b"><error/></testcase></testsuite>\ny',
      'a (C)',
      'b',
    ],
  ])('%s: %j', (format, log, passed, failed) => {
    expect(statuses(format, log, passed, failed, 'nowhere')).toEqual([
      'passed',
      expect.stringMatching(/failed|error/),
      'missing',
    ]);
  });

  it('do not take the output of a test in a report for a test', () => {
    const report =
      '<testsuite><testcase name="a" classname="C"><system-out><![CDATA[<testcase name="b" classname="C"/>]]></system-out></testcase></testsuite>';
    expect(statuses('java', report, 'C::a', 'C::b')).toEqual(['passed', 'missing']);
  });
});
