import { replaceOnce } from '../../src/agent/tools/change-file.js';
import { countLines, decodeFile, encodeFile, numbered, outline, skeleton } from '../../src/agent/tools/load-file.js';
import { describeMatches } from '../../src/agent/tools/search.js';
import { clipOutput } from '../../src/agent/tools/tool-outcome.js';
import { decodeOutput } from '../../src/sandbox/container/container.js';
import { Prologue } from '../../src/sandbox/container/command-outcome.js';
import { readPrepared } from '../../src/sandbox/container/own-commands.js';
import { saysNoRoom } from '../../src/sandbox/container/host-resources.js';
import { ExitNotice } from '../../src/sandbox/kubernetes/exit-notice.js';
import { logTail } from '../../verifiers/execution-based/drivers/test-dialect.js';
import { mapped } from '../../verifiers/execution-based/existing/reach-notes.js';
import { isAnsweredFor, kindOnBase, raisedBy } from '../../verifiers/execution-based/generated/cell-kinds.js';
import { readCalls } from '../../verifiers/execution-based/generated/traced-example.js';
import { compare, DriverReports } from '../../verifiers/execution-based/generated/run-batch.js';
import { readRecord } from '../../verifiers/execution-based/existing/run-record.js';
import { LOG_FORMATS, type LogFormat, readLog } from '../../verifiers/execution-based/reports/log-formats.js';
import { readReport, readReportAs } from '../../verifiers/execution-based/reports/test-report.js';
import type { LinearCase } from '../fixtures/linear-time.js';

/** Of what comes over a connection at once. */
const PIECE = 64;

function logCases(formats: readonly LogFormat[], words: readonly string[]): readonly LinearCase[] {
  const read = (log: string): unknown =>
    formats.map((format) => {
      const tests = readLog(format, Buffer.from(log));
      return [tests?.statusOf('a[b'), tests?.statusOf('a "')];
    });
  return [[`logs of the formats ${formats.join(', ')}`, read, words]];
}

/** Readers of what a container printed or holds, each with the words that it looks for. */
export const OUTPUT: readonly LinearCase[] = [
  [
    'TAP',
    (stdout) => readReport({ junit: null, stdout }),
    ['ok 1 - t', 'not ok', '# SKIP', ' # todo ', '1..1\n', 'x\n', '    ', '\n'],
  ],
  [
    'a document of a test runner',
    (stdout) => [readReport({ junit: null, stdout }), readReportAs('rspec-json', stdout)],
    [
      '{"testResults":[',
      '{"examples":[',
      '{"name":"a","assertionResults":[',
      '{"fullName":"a","status":"passed"},',
      '{},',
      '{}',
      ']}',
      '\n',
    ],
  ],
  [
    'go test -json',
    (stdout) => readReport({ junit: null, stdout }),
    ['{"Action":"pass","Package":"p","Test":"t"}\n', '{"Action":"fail"', '"Package":"p"', '}\n', '{', '\n'],
  ],
  [
    'JUnit',
    (junit) => readReport({ junit, stdout: '' }),
    [
      '<testsuite>',
      '</testsuite>',
      '<testcase name="x"/>',
      '<testcase ',
      'name=',
      '<failure>',
      '</failure>',
      '</testcase>',
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '&lt;',
      '<?xml',
      '?>',
      '<!DOCTYPE',
      'a="1" ',
    ],
  ],
  [
    'the log of pytest',
    LOG_FORMATS.pytest.read,
    [
      '=== FAILURES ===\n',
      '= short test summary info =',
      'PASSED a::b',
      'FAILED a::b[',
      '] - ',
      ' PASSED',
      ' (',
      ') ',
      ' [ 9%]',
      '::',
      'a.py',
      '\n',
    ],
  ],
  [
    'the log of Django',
    LOG_FORMATS.unittest.read,
    [
      'test_a (a.B) ... ok\n',
      'test_a (a.B)\n',
      ' ... ',
      'ok\n',
      'skipped',
      'FAIL',
      `${'='.repeat(70)}\n`,
      'FAIL: test_a (a.B)\n',
      'title ... ok\n',
      '\n',
    ],
  ],
  [
    'the log of sympy',
    LOG_FORMATS.sympy.read,
    ['a.py[3] ', 'test_a ', ' ok', ' F', ' [OK]', '_ a.py:test_a _', '.py:', 'test_', '\n'],
  ],
  ...logCases(
    ['go', 'cargo', 'java', 'junit', 'json'],
    [
      '--- PASS: ',
      'test a ... ok',
      'failures:\n',
      'a.B > c PASSED',
      ' STANDARD_OUT\n',
      '> Task :a',
      '[ERROR] a.b',
      ' <<< FAILURE!',
      ' in ',
      'Tests run: 1, Failures: 0, Errors: 0, Skipped: 0,',
      '-Dtest=a ',
      'BUILD SUCCESS\n',
      '<testsuite>',
      '<testcase name="a"/>',
      '</testsuite>',
      '{"tests"',
      '[{"name":"a","status":"PASSED"}]}',
      '\n',
    ],
  ),
  ...logCases(
    ['javascript', 'javascript-failures'],
    [
      '  ✓ a (1 ms)\n',
      '[1ms]',
      ' 1) a\n',
      'ok 1 - a {\n',
      '}\n',
      'PASS a\n',
      'a ... ok\n',
      '1 passing\n',
      'Error',
      'Starting browser\n',
      'Chrome 1 (x) a FAILED',
      '{"stats"',
      '"passes":[',
      '[skipped]',
      '\n',
    ],
  ),
  ...logCases(
    ['ctest', 'cpp', 'ruby', 'cucumber', 'php', 'csharp', 'swift'],
    [
      '1/1 Test #1: a ...',
      ' Passed',
      '[ OK ] a (1 ms)',
      ', where ',
      'PASS: a',
      '<doctest>',
      '</doctest>',
      'a... OK',
      ' ran 1 tests in 1 msec ',
      'a = 1 s = .',
      'test: a: .',
      ' - passed',
      'a ..F',
      ' ✔ a [1 ms]',
      'a (b)',
      '  Passed a [1 ms]',
      "Test Case 'a' passed",
      '\n',
    ],
  ),
  ...logCases(
    ['scala', 'clojure', 'dart', 'elixir', 'haskell', 'hspec', 'julia', 'lua', 'ocaml', 'r', 'r-check'],
    [
      '[info] - a (1 ms)',
      ' *** FAILED *** ',
      '+ a 1s',
      'lein test a ',
      '00:01 +1: /a.dart: a',
      ' [E]',
      '* test a (1ms) [L#1]',
      'a: OK',
      'Test suite a: RUNNING...\n',
      ' FAILED [1]\n',
      'Failures:\n',
      'Test Summary: | Pass  Total\n',
      'a | 1 1\n',
      'Success || a',
      '[OK] a 0 b',
      'Running[1]: (a)\n',
      'Output[1]:\n',
      '✔ | 1 | a',
      '* checking a ...',
      '\n',
    ],
  ),
  [
    'notes of a tracer',
    (text) => mapped({ key: 'k', isWhole: true, lines: text.split('\n') }, ['a.py'], ['b.py']),
    [
      '{"t":"a.py::t","s":"passed","k":"k","d":1,"r":[1]}\n',
      '{"f":"b.py","k":"k","n":[["f",1,2]]}\n',
      '{"o":"a.py","k":"k"}\n',
      '{"t":"',
      '[',
      ',1',
      '}\n',
      '\n',
    ],
  ],
  [
    'reports of a driver',
    (text) => {
      const reports = new DriverReports(5, () => undefined);
      reports.push(Buffer.from(text));
      return reports.count;
    },
    ['{"i":0,"status":0,"said":"","timed_out":false,"out_of_memory":false,"ms":1,"log":""}\n', '{"i":', '{', '"', '\n'],
  ],
  [
    'the record of a run',
    (text) =>
      readRecord({
        notes: Buffer.from(text),
        key: 'k',
        planted: { names: ['c', 'c'], path: 'a.py' },
        junit: null,
        stdout: Buffer.from(text),
      }),
    [
      '{"t":"a","s":"passed","k":"k"}\n',
      '{"t":"::c","s":"failed","k":"k","c":["f"]}\n',
      '{"t":',
      'ok 1 - a\n',
      '"',
      '\n',
    ],
  ],
  [
    'why a test ended',
    (text) => {
      const run = { outcome: 'crashed', log_tail: text, raises: 'NameError' } as const;
      return [
        kindOnBase(run, text),
        kindOnBase({ ...run, outcome: 'not-solved' }, text),
        isAnsweredFor(run, text, text),
        raisedBy(text, text),
      ];
    },
    [
      "name 'a' is not defined\n",
      'Warning',
      '  File "',
      ', line 1\n',
      'a.',
      'Error',
      ' is not a function',
      '{"raises": "',
      '\n',
    ],
  ],
  [
    'the end of a command in a pod',
    (text) => {
      const notice = new ExitNotice('m');
      for (let at = 0; at < text.length; at += PIECE) notice.take(Buffer.from(text.slice(at, at + PIECE)));
      return notice.rest();
    },
    ['\u001ebestk-exit m ', '\u001ebestk-exit', '1', '\u001e'],
  ],
  [
    'how a command began',
    (text) => [
      new Prologue().take(Buffer.from(text)),
      saysNoRoom(Buffer.from(text)),
      decodeOutput(Buffer.from(text), true),
    ],
    ['bestk:1\n', 'bestk:', 'No space left on ', 'Out of disk', 'write '],
  ],
  ['what a test observed', (text) => compare(text, [1]), ['1\n', '[', ']', '{"a":', '}', '"', '\n']],
  ['the end of a log', (text) => logTail({ stdout: text, stderr: text }), ['\n', '\u001b[31m']],
  [
    'what an agent is shown',
    (text) => [
      clipOutput(text),
      outline(text),
      skeleton(text),
      numbered(text, 1, Infinity),
      countLines(text),
      replaceOnce(text, 'ab', 'c'),
      replaceOnce(text, `${text.slice(text.length / 2)}x`, 'c'),
    ],
    ['def f():\n', 'class A:\n', ' def f(', "'''", 'ab', '    ', '\n'],
  ],
  [
    'a file that an agent edits',
    (text) => {
      const file = decodeFile(Buffer.from(text, 'latin1'));
      return file && encodeFile(file.text, file.encoding);
    },
    ['\u00e9', '\u00c3\u00a9', '\0', '\r\n', '\n'],
  ],
  [
    'what an agent searched for',
    (text) => describeMatches('a', '/repo', text),
    ['a.py:1\n', 'a.py:', ':1', '1:', '1', ':', '\n'],
  ],
  [
    'how a container was prepared',
    (text) =>
      [0, 10, 15, 99, 200].map((code) => {
        try {
          return readPrepared({ image: 'i', workdir: '/r', baseCommit: null, purpose: 'test' }, code, text, text);
        } catch (error) {
          return error;
        }
      }),
    ['single ', 'pack ', 'abc0 ', '1 ', '/', '\n'],
  ],
  ["what an issue's code calls", readCalls, ['[["a.py", 1, 0, true]', ', ["a.py", 1, 0, true]', '[', ']', '"', '\n']],
];
