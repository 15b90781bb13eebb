import { byWord, printedLines, type ReadLine, readLines, noteFirst } from './log-lines.js';
import { TestLog } from './test-log.js';
import { readDoctestReportIn } from './xml-reports.js';

/** ctest's line up to the name; the name may contain blanks and dots. */
const CTEST = /^ *\d+\/\d+ +Test +#\d+: (\S.*)$/;
const CTEST_RESULT =
  /(?<![.])\.{2,}[ A-Za-z]{0,40}\**(Passed|Failed|Skipped|Not Run|Timeout|Exception|SEGFAULT|Subprocess)/;
const ctest: ReadLine = (line) => {
  const said = CTEST.exec(line)?.[1];
  const result = said === undefined ? null : CTEST_RESULT.exec(said);
  if (said === undefined || result === null) return null;
  const name = said.slice(0, result.index).trim();
  const word = result[1];
  if (word === 'Passed') return [name, 'passed'];
  return [name, word === 'Skipped' || word === 'Not Run' ? 'skipped' : 'failed'];
};

/** A line break before the result may be missing. Failures are listed again, without a duration. */
const GOOGLETEST = byWord(/^.*\[ *(?<word>OK|FAILED|SKIPPED|DISABLED) *\] (?<name>\S.*)$/);
const COUNT = /^\d+ tests?\b/;
const googletest: ReadLine = (line) => {
  const [printed = '', status] = line.includes('] ') ? (GOOGLETEST(line) ?? []) : [];
  if (status === undefined || COUNT.test(printed)) return null;
  const name = printed.replace(/ \([^()]*\)$/, '');
  return [name, status, [name.split(', where ', 1)[0] ?? name]];
};

/** `PASS: name`, as Automake prints it. */
const automake = byWord(/^\s*(?<word>PASS|FAIL|SKIP|XFAIL|XPASS|ERROR): (?<name>\S.*)$/);
/** `[err]: name in path`: the path is part of no name. */
const REDIS = byWord(/^\s*\[(?<word>ok|err|skip|ignore)\]: (?<name>\S.*)$/);
const redis: ReadLine = (line) => {
  const [name = '', status] = REDIS(line) ?? [];
  if (status === undefined) return null;
  return status === 'error' ? [name.replace(/ in \S+$/, ''), 'failed'] : [name, status];
};
const micropython = byWord(/^\s*(?<word>pass|FAIL|skip) +(?<name>\S.*)$/);
const pony = byWord(/^(?:----|\*{4}) (?<word>Passed|FAILED): (?<name>\S+)$/);
/** `Test name      passed`. */
const inColumns = byWord(/^\s*Test\s+(?<name>\S.*) (?<word>passed|failed|skipped)$/);
const meson = byWord(/^ *\d+\/\d+ (?<name>\S+(?: \S+)*) {2,}(?<word>OK|FAIL|SKIP|TIMEOUT|ERROR)\b/);
const tap = byWord(/^ *(?<word>ok|not ok) \d+ (?:- )?(?<name>[^#\s][^#]*)/);

/** Parses ctest, GoogleTest, doctest, Automake, Meson and the runners of C repositories in data sets. @throws TooMuchError */
export function parseCLog(log: string): TestLog {
  const tests = new TestLog();
  const readers = [ctest, googletest, automake, redis, pony, inColumns, meson, tap, micropython];
  for (const line of printedLines(log)) noteFirst(tests, line, readers);
  for (const { classname, name, status } of readDoctestReportIn(log)) {
    tests.note(classname === '' ? name : `${classname} > ${name}`, status);
  }
  return tests;
}

const BOTAN = /^(\S.*) ran (\d+) tests in [\d.]+ (?:msec|sec) (\S.*)$/i;
const botan: ReadLine = (line) => {
  const [, name = '', count = '', said] = BOTAN.exec(line) ?? [];
  return said === undefined
    ? null
    : [`${name} ran ${count} tests ${said}`, /\bfailed\b/i.test(said) ? 'failed' : 'passed'];
};
const NUMBER = /^\[\d+\/\d+\] */;
const DOTS = '...';
/** `[1/9] name... OK`; a line with a runner's word is a test by itself (`parse_log_cpp_v3`). */
const withWord: ReadLine = (line) => {
  const dots = line.lastIndexOf(DOTS);
  const isNamed = dots > 0 && /^ *\w+$/.test(line.slice(dots + DOTS.length));
  const name = isNamed ? line.slice(0, dots).replace(NUMBER, '').trim() : line;
  if (/\bSKIPPED\b/i.test(line)) return [name, 'skipped'];
  if (/\b(?:FAILED|FAIL|Failure)\b/i.test(line)) return [name, 'failed'];
  if (/\b(?:OK|PASSED)\b/i.test(line)) return [name, 'passed'];
  return isNamed ? [name, 'error'] : null;
};

/** `[1/9] name... OK`, and Botan's groups of tests. @throws TooMuchError */
export function parseCppLog(log: string): TestLog {
  return readLines(log, (printed) => {
    const line = printed.trim();
    return line === '' ? null : (botan(line) ?? withWord(line));
  });
}
