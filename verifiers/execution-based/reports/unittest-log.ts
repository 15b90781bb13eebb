import { logLines } from './log-lines.js';
import { type LoggedStatus, TestLog } from './test-log.js';

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
  scan.end();
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

  /** A docstring is one test's only name and another's second one if the output of a test hid the method. */
  end(): void {
    const { exact, loose } = this.tests.statuses;
    for (const [name, status] of loose) if (exact.has(name)) this.tests.note(name, status);
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
