import { BadInputError } from '../core/errors/errors.js';
import type { HiddenTests } from './hidden-tests.js';
import { parseDjangoLog } from './test-logs.js';
import { parsePytestLog } from './test-logs.js';
import { parseSympyLog } from './test-logs.js';
import type { TestLog } from './test-logs.js';

/** How the hidden tests of an instance are run and their log is read. */
export interface TestCommand {
  /** For the container's shell, from the repository's root. */
  readonly line: string;
  /** Files of the repository that this runner starts with; a candidate's changes to them do not count. */
  readonly runnerFiles: readonly string[];
  /** unittest reports on stderr; what tests print on stdout would only tear its lines. */
  readonly reportsOn: 'stderr' | 'both';
  readonly parse: (log: string) => TestLog;
}

const PYTEST = 'python3 -m pytest --tb=no -rA -p no:cacheprovider {files}';

/** As SWE-bench's harness runs them (`swebench/harness/constants`); what stands here no more runs with plain pytest. */
const BY_REPO: Readonly<Record<string, string>> = {
  'django/django':
    'cd tests && python3 -W ignore runtests.py --settings=test_sqlite --parallel 1 --verbosity 2 {modules}',
  'sympy/sympy': "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' python3 bin/test -C --verbose {files}",
  'sphinx-doc/sphinx': 'tox --current-env -epy39 -v -- {files}',
};

/**
 * The command of a repository, or `given`, with `{files}` and `{modules}` filled in: the Python files that the test patch
 * changes, and the same as dotted names below `tests/`. The reader of its log follows from the command.
 * @throws BadInputError when there is no such file
 */
export function testCommand(tests: HiddenTests, given: string | null): TestCommand {
  const template = given ?? BY_REPO[tests.repo ?? ''] ?? PYTEST;
  const files = runnable(tests);
  if (files.length === 0 && /\{(files|modules)\}/.test(template)) {
    throw new BadInputError(
      'changes no Python file that could be run.',
      { field: 'test_patch' },
      'Pass --test-command with the tests to run and no {files} or {modules}.',
    );
  }
  const line = template
    .replaceAll('{files}', () => files.map(quoted).join(' '))
    .replaceAll('{modules}', () => files.map(moduleOf).map(quoted).join(' '));
  return { line, ...readerOf(template) };
}

function readerOf(template: string): Omit<TestCommand, 'line'> {
  if (/\bruntests\.py\b|\bunittest\b/.test(template)) {
    const runnerFiles = ['tests/runtests.py', 'tests/test_sqlite.py'];
    return { runnerFiles, reportsOn: 'stderr', parse: parseDjangoLog };
  }
  if (/\bbin\/test\b/.test(template)) return { runnerFiles: ['bin/test'], reportsOn: 'both', parse: parseSympyLog };
  return { runnerFiles: [], reportsOn: 'both', parse: parsePytestLog };
}

function runnable({ files }: HiddenTests): readonly string[] {
  const present = files.filter(({ parsed }) => parsed.newFileName !== '/dev/null').map(({ path }) => path);
  return [...new Set(present)].filter((path) => path.endsWith('.py') && !/(^|\/)(__init__|conftest)\.py$/.test(path));
}

function moduleOf(path: string): string {
  return path
    .replace(/^tests\//, '')
    .replace(/\.py$/, '')
    .replaceAll('/', '.');
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
