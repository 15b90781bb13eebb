import { byWord, firstGroup, printedLines, type ReadLine } from './log-lines.js';
import { TestLog } from './test-log.js';

const DURATION = / \([^()]+\)$/;
const LITERAL_COLOUR = /\[\d{1,2}m/g;
const INFO = /^\[info\] (.*)$/;
const TEST = /^ *- (\S.*)$/;
const OUTCOME = / (?:\*{3}|!{3}) ([A-Z]+)(?: \*{3}| !{3})/;
const STATUS_WORDS: Readonly<Record<string, 'failed' | 'error' | 'skipped'>> = {
  ...{ FAILED: 'failed', ERROR: 'error', ABORTED: 'error' },
  ...{ SKIPPED: 'skipped', IGNORED: 'skipped', CANCELED: 'skipped', CANCELLED: 'skipped', PENDING: 'skipped' },
};
const NO_SUITE =
  /Run completed|Total number|Suites:|Tests:|All tests|compiling|done compiling|loading|welcome to|set current/;
/** munit and utest: `+ name 0.01s`, `==> X suite.name 0.02s`. */
const MUNIT: ReadLine = byWord(/^(?:==> )?(?<word>[+xXis]) (?<name>\S.*) \d[\d.]*(?:[mμµn]?s)$/, {
  ...{ '+': 'passed', x: 'failed', i: 'skipped', s: 'skipped' },
});

/** Parses ScalaTest and munit as sbt prints them. A test is known by its title, and by its suite and title. @throws TooMuchError */
export function parseScalaLog(log: string): TestLog {
  const tests = new TestLog();
  let suite: string | null = null;
  for (const printed of printedLines(log)) {
    const line = printed.replace(LITERAL_COLOUR, '').trim();
    const said = firstGroup(INFO, line);
    const title = said === undefined ? undefined : firstGroup(TEST, said);
    if (title !== undefined) noteTitle(tests, title, suite);
    else suite = suiteIn(said) ?? suite;
    const found = MUNIT((said ?? line).trim());
    if (found !== null) tests.note(...found);
  }
  return tests;
}

function suiteIn(said = ''): string | null {
  const name = said.trim();
  return name === '' || name.startsWith('-') || NO_SUITE.test(name) ? null : name;
}

function noteTitle(tests: TestLog, printed: string, suite: string | null): void {
  const title = printed.replace(DURATION, '');
  const outcome = OUTCOME.exec(title);
  const name = (outcome === null ? title : title.slice(0, outcome.index)).trim();
  const status = outcome === null ? 'passed' : (STATUS_WORDS[outcome[1] ?? ''] ?? 'failed');
  tests.note(name, status, suite === null ? [] : [`${suite}: ${name}`]);
}

const NAMESPACES = /^lein test (\S.*)$/;
const LEIN_FAILURE = /^(FAIL|ERROR) in/;

const RAN = /^Ran \d+ tests\b/;

/** Parses Leiningen: a namespace passes when the next one begins or all ran, unless one of its tests fails. @throws TooMuchError */
export function parseClojureLog(log: string): TestLog {
  const tests = new TestLog();
  let running: readonly string[] = [];
  for (const printed of printedLines(log)) {
    const line = printed.trim();
    const begins = NAMESPACES.exec(line)?.[1];
    if (begins !== undefined || RAN.test(line)) for (const name of running) tests.note(name, 'passed');
    if (begins !== undefined) running = namespacesIn(begins);
    noteLeinFailure(tests, line, running.at(-1));
  }
  return tests;
}

function noteLeinFailure(tests: TestLog, line: string, namespace: string | undefined): void {
  const failure = LEIN_FAILURE.exec(line)?.[1];
  if (failure !== undefined && namespace !== undefined) tests.note(namespace, failure === 'FAIL' ? 'failed' : 'error');
}

/** `ns.a ns.b`, or `:only ns.a/test`. */
function namespacesIn(said: string): readonly string[] {
  if (!said.startsWith(':only')) return said.split(/\s+/);
  const [only = ''] = said.slice(':only'.length).trim().split('/', 1);
  return only === '' ? [] : [only];
}
