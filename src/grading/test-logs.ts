/** Result of one test; `missing`: the log does not name it. Only `passed` counts. */
export type TestStatus = 'passed' | 'failed' | 'skipped' | 'error' | 'missing';

/** Results that a log can report. */
export type LoggedStatus = Exclude<TestStatus, 'missing'>;

/** From best to worst: of two results for one test the worse holds, whatever printed the better one. */
const WORSE: readonly LoggedStatus[] = ['passed', 'skipped', 'failed', 'error'];

/** Results by the test's own id, and by alternative spellings of it. */
export interface TestStatuses {
  readonly exact: Map<string, LoggedStatus>;
  readonly loose: Map<string, LoggedStatus>;
}

/** Results of tests according to the log of one run. */
export class TestLog {
  constructor(readonly statuses: TestStatuses = { exact: new Map(), loose: new Map() }) {}

  /**
   * @param name the test's own id
   * @param others shorter or older spellings, which several tests may share; a listed name that matches one covers all
   * of them
   */
  note(name: string, status: LoggedStatus, others: readonly string[] = []): void {
    worsen(this.statuses.exact, name, status);
    for (const other of others) worsen(this.statuses.loose, other, status);
  }

  statusOf(name: string): TestStatus {
    return this.statuses.exact.get(name) ?? this.statuses.loose.get(name) ?? 'missing';
  }

  /** The tests' own ids, in the order in which the log names them. */
  get names(): Iterable<string> {
    return this.statuses.exact.keys();
  }

  /** Number of tests that failed or errored. */
  get failures(): number {
    return [...this.statuses.exact.values()].filter((status) => status === 'failed' || status === 'error').length;
  }

  get hasFailures(): boolean {
    return this.failures > 0;
  }
}

function worsen(statuses: Map<string, LoggedStatus>, name: string, status: LoggedStatus): void {
  const known = statuses.get(name);
  if (known === undefined || WORSE.indexOf(status) > WORSE.indexOf(known)) statuses.set(name, status);
}

const ESCAPE_CODE = /\u001b\[[0-9;]*[A-Za-z]/g;

/** Lines without colour codes and trailing white space, carriage returns included. */
export function logLines(log: string): readonly string[] {
  return log
    .replace(ESCAPE_CODE, '')
    .split('\n')
    .map((line) => line.trimEnd());
}

/** XFAIL counts as passed, as in SWE-bench's harness (`grading.py`, `test_passed`); XPASS and SKIPPED do not. */
const PYTEST_STATUS: Readonly<Record<string, LoggedStatus>> = {
  PASSED: 'passed',
  XFAIL: 'passed',
  FAILED: 'failed',
  ERROR: 'error',
  SKIPPED: 'skipped',
};
const SUMMARY = /^=+ short test summary info =+$/;
const SECTION = /^=+ (?:FAILURES|ERRORS|PASSES|XFAILURES|warnings summary|short test summary info)\b.* =+$/;
/** `PASSED path::test[a b]`, `FAILED path::test[a b] - message`. */
const SUMMARY_LINE = /^(PASSED|XFAIL|FAILED|ERROR) (.+)$/;
const WORD = / (PASSED|XFAIL|FAILED|ERROR|SKIPPED)(?= \(|$)/g;
const PERCENT = /\[ *\d+%\]$/;

/**
 * Parses pytest's output with `-rA`, `-v` or both. Only the last summary, and the lines before any captured output, can
 * report a pass, because tests may print anything elsewhere. A failure counts anywhere.
 */
export function parsePytestLog(log: string): TestLog {
  const lines = logLines(log);
  const tests = new TestLog();
  const lastSummary = lines.findLastIndex((line) => SUMMARY.test(line));
  const firstSection = lines.findIndex((line) => SECTION.test(line));
  for (const [index, line] of lines.entries()) {
    const inSummary = lastSummary !== -1 && index > lastSummary;
    const inProgress = firstSection === -1 || index < firstSection;
    const found = summaryLine(line) ?? (inProgress ? verboseLine(line) : null);
    if (found !== null && (inSummary || inProgress || isBad(found))) {
      tests.note(found.id, found.status, spellings(found.id));
    }
  }
  return tests;
}

function isBad({ status }: Found): boolean {
  return status === 'failed' || status === 'error';
}

interface Found {
  readonly id: string;
  readonly status: LoggedStatus;
}

function summaryLine(line: string): Found | null {
  const [, word = '', rest = ''] = SUMMARY_LINE.exec(line) ?? [];
  const status = PYTEST_STATUS[word];
  if (status === undefined) return null;
  return { id: word === 'PASSED' ? rest : idBeforeMessage(rest), status };
}

/** The id in `path::test[a b] - message`: a parameter may contain ` - ` too. */
function idBeforeMessage(text: string): string {
  const parameter = /^[^\s[]+\[/.exec(text)?.[0] ?? '';
  const close = parameter === '' ? -1 : closing(text, parameter.length);
  const end = text.indexOf(' - ', close === -1 ? 0 : close);
  return end === -1 ? text : text.slice(0, end);
}

/** End of the first `]` that ends the text or precedes a message. */
function closing(text: string, from: number): number {
  const message = text.indexOf('] - ', from);
  if (message !== -1) return message + 1;
  return text.endsWith(']') ? text.length : -1;
}

/** Parses `path::test[a b] PASSED (reason) [ 12%]`, as `-v` prints during the run. */
function verboseLine(line: string): Found | null {
  const said = line.slice(0, PERCENT.exec(line)?.index).trimEnd();
  const colons = said.indexOf('::', 1);
  if (colons === -1 || /\s/.test(said.slice(0, colons))) return null;
  for (const { index, 0: whole, 1: word = '' } of said.matchAll(WORD)) {
    const isLast = index + whole.length === said.length || said.endsWith(')');
    const status = isLast && index > colons + 2 ? PYTEST_STATUS[word] : undefined;
    if (status !== undefined) return { id: said.slice(0, index), status };
  }
  return null;
}

/**
 * Alternative names of a test in published lists: cut at the first blank (SWE-bench's parser keeps one word), a path as
 * parameter cut to its last part (`parse_log_pytest_options`), numbers for matplotlib's buttons
 * (`parse_log_matplotlib`), only the function, class and function without their file (R2E-Gym).
 */
function spellings(id: string): readonly string[] {
  const [word = id] = id.split(' ');
  const bracket = word.endsWith(']') ? word.indexOf('[') : -1;
  const [main, option] = bracket === -1 ? [word, ''] : [word.slice(0, bracket), word.slice(bracket + 1, -1)];
  const scope = main.lastIndexOf('::');
  const before = scope === -1 ? 0 : scope + 2;
  const names = [word, main.slice(before), id.slice(before), id.split('::').slice(1).join('.')];
  if (id.includes('MouseButton.')) {
    names.push(word.replaceAll('MouseButton.LEFT', '1').replaceAll('MouseButton.RIGHT', '3'));
  }
  if (option.startsWith('/') && !option.startsWith('//') && !option.includes('*')) {
    names.push(`${main}[/${option.slice(option.lastIndexOf('/') + 1)}]`);
  }
  return names.filter((name) => name !== id);
}

const RESULT = String.raw`(ok|FAIL|ERROR|skipped\b.*|expected failure|unexpected success)`;
/** The dot matches any character, so that a near miss at the end does not cause repeated backtracking. */
const SKIP_LINE = /^(.*?) \.\.\. {1,2}(skipped\b.*)$/s;
const RESULT_LINE = new RegExp(String.raw`^(.*) \.\.\. {1,2}${RESULT}$`, 'is');
const LATE_RESULT = new RegExp(`^\\s*${RESULT}$`);
const METHOD = /^(\w+) \(([\w.]+)\)$/;
const DJANGO_FAILURE = /^(FAIL|ERROR): (\w+ \([\w.]+\))/;
const RULE = /^={70}$/;

/**
 * Parses the output of Django's `runtests.py -v 2` and `python -m unittest -v`. A test with a docstring is known by its
 * first line, as in SWE-bench's lists, and by its method. `test_x (a.B.test_x)` (Python 3.11) becomes `test_x (a.B)`.
 */
export function parseDjangoLog(log: string): TestLog {
  const scan = new DjangoScan();
  for (const line of logLines(log)) scan.line(line);
  return scan.tests;
}

class DjangoScan {
  readonly tests = new TestLog();
  /** First lines of docstrings by method, since failures are reported again by method. */
  private readonly titles = new Map<string, Set<string>>();
  private readonly failures = new Set<string>();
  private previous = '';
  /** A test that printed something before its result. */
  private waiting: string | null = null;

  line(line: string): void {
    const [, name, result] = SKIP_LINE.exec(line) ?? RESULT_LINE.exec(line) ?? [];
    if (name !== undefined && result !== undefined) this.ended(name, statusOf(result));
    else if (RULE.test(this.previous) && DJANGO_FAILURE.test(line)) this.failure(line);
    else if (line.includes(' ... ')) this.waiting = line.slice(0, line.indexOf(' ... '));
    else this.lateResult(line);
    this.previous = line;
  }

  private lateResult(line: string): void {
    const result = LATE_RESULT.exec(line)?.[1];
    if (this.waiting !== null && result !== undefined) this.ended(this.waiting, statusOf(result));
  }

  private ended(said: string, status: LoggedStatus): void {
    this.waiting = null;
    // Before Python 3.11, a test with failed subtests ends its line without a result, and the next one follows on it.
    const name = normal(said.slice(said.lastIndexOf(' ... ') + 1).replace(/^\.\.\. /, ''));
    const method = normal(this.previous.trim());
    const own = name === normal(said) ? [] : [said];
    if (METHOD.test(name) || !METHOD.test(method)) {
      this.tests.note(name, status, own);
      return;
    }
    this.tests.note(method, status, [name, ...own]);
    this.titles.set(method, (this.titles.get(method) ?? new Set()).add(name));
  }

  private failure(line: string): void {
    const [, word = '', method = ''] = DJANGO_FAILURE.exec(line) ?? [];
    const name = normal(method);
    if (this.failures.has(`${word} ${name}`)) return;
    this.failures.add(`${word} ${name}`);
    this.tests.note(name, word === 'FAIL' ? 'failed' : 'error', [...(this.titles.get(name) ?? [])]);
  }
}

function normal(name: string): string {
  const [, method = '', path = ''] = METHOD.exec(name) ?? [];
  return method !== '' && path.endsWith(`.${method}`) ? `${method} (${path.slice(0, -method.length - 1)})` : name;
}

function statusOf(result: string): LoggedStatus {
  if (/^ok$/i.test(result) || result === 'expected failure') return 'passed';
  if (result.startsWith('skipped')) return 'skipped';
  return result === 'ERROR' ? 'error' : 'failed';
}

/** Letters of sympy's reporter; an expected failure counts as passed, as everywhere in SWE-bench. */
const SYMPY_STATUS: Readonly<Record<string, LoggedStatus>> = {
  ok: 'passed',
  f: 'passed',
  F: 'failed',
  T: 'failed',
  E: 'error',
  s: 'skipped',
  w: 'skipped',
};
const FILE = /^(\S+\.py)\[\??\d*\]/;
const TEST = /^(test_\w+)(?: |$)/;
const LETTER = /(?:^|\s)(ok|f|F|T|E|s|w)(?: *\[(?:OK|FAIL)\])?$/;
const SYMPY_FAILURE = /^_+ (\S+\.py):(test_\w+) _+$/;

/** Parses sympy's `bin/test --verbose`. Lists contain only function names; the file distinguishes equal ones. */
export function parseSympyLog(log: string): TestLog {
  const scan = new SympyScan();
  for (const line of logLines(log)) scan.line(line);
  return scan.tests;
}

class SympyScan {
  readonly tests = new TestLog();
  private file = '';
  /** The running test: its output may come between its name and its result. */
  private running: string | null = null;

  line(line: string): void {
    const [, file = '', name] = SYMPY_FAILURE.exec(line) ?? [];
    if (name !== undefined) this.note(file, name, 'failed');
    this.file = group(FILE, line) ?? this.file;
    this.running = group(TEST, line) ?? this.running;
    const status = SYMPY_STATUS[group(LETTER, line) ?? ''];
    if (this.running === null || status === undefined) return;
    this.note(this.file, this.running, status);
    this.running = null;
  }

  private note(file: string, name: string, status: LoggedStatus): void {
    this.tests.note(`${file}:${name}`, status, [name]);
  }
}

function group(pattern: RegExp, line: string): string | undefined {
  return pattern.exec(line)?.[1];
}
