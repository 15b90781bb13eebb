import { byWord, printedLines, type ReadLine, readLines } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

const STATUS: Readonly<Record<string, LoggedStatus>> = {
  ...{ '.': 'passed', F: 'failed', E: 'error', S: 'skipped', O: 'skipped', P: 'skipped' },
};
/** `Class#test_name = 0.01 s = .`; names in lists end before the last full stop in front of a blank. */
const MINITEST = /^(\S.*?) = [\d.]+ s = ([.FES])$/;
const minitest: ReadLine = (line) => {
  const [, name = '', letter = ''] = MINITEST.exec(line.trim()) ?? [];
  const status = STATUS[letter];
  const end = `${name} `.lastIndexOf('. ');
  return status === undefined ? null : [name, status, end === -1 ? [] : [name.slice(0, end)]];
};
/** `test: name:  .: (0.001)`, as test-unit prints it. */
const UNIT = /^(?:test: )?(\S.*):\s+([.FEOP])(?!\w)/;
const testUnit: ReadLine = (line) => {
  const [, name = '', letter = ''] = UNIT.exec(line.trim()) ?? [];
  const status = STATUS[letter];
  return status === undefined ? null : [name.trim(), status];
};
/** `name - passed`, from RSpec's JSON. */
const rspec = byWord(/^\s*(?<name>\S.*) - (?<word>passed|failed|pending)/);
const SUITE = /^[A-Z]\w*$/;
const REPORTED = byWord(/^\s*(?<name>test\S*(?: [^A-Z]*)?) (?<word>PASS|PASSED|FAIL|FAILURE|ERROR|SKIP|SKIPPED)\b/);

/** Parses Minitest, its reporters, test-unit, and RSpec's results as data sets print them. @throws TooMuchError */
export function parseRubyLog(log: string): TestLog {
  const tests = new TestLog();
  let suite: string | null = null;
  for (const line of printedLines(log)) {
    if (SUITE.test(line)) suite = line;
    const reported = REPORTED(line);
    if (reported !== null) {
      const [name, status] = reported;
      tests.note(suite === null ? name : `${suite}::${name}`, status, [name]);
      continue;
    }
    const found = minitest(line) ?? testUnit(line) ?? rspec(line);
    if (found !== null) tests.note(...found);
  }
  return tests;
}

/** `name ....F`: a letter per step, with Cucumber's progress. */
const CUCUMBER = /^(\S.*) (\.+)(F?)/;

/** Parses `cucumber --format progress`; Minitest's lines are read too. @throws TooMuchError */
export function parseCucumberLog(log: string): TestLog {
  return readLines(log, minitest, (line) => {
    const [, name = '', dots = '', failure = ''] = CUCUMBER.exec(line.trim()) ?? [];
    if (failure === 'F') return [name, 'failed'];
    return dots.length < 2 ? null : [name, 'passed'];
  });
}
