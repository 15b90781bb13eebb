import { BadInputError } from '../core/errors/errors.js';
import { withTestFiles } from '../core/run/issue.js';
import { quoted } from '../core/hostile-text.js';
import {
  type LogFormat,
  logFormatByName,
  logFormatOfCommand,
} from '../../verifiers/execution-based/reports/log-formats.js';
import type { HiddenTests } from './hidden-tests.js';

/** How to run the hidden tests of an instance and parse their log. */
export interface TestCommand {
  /** For the container's shell, run from the repository's root. */
  readonly line: string;
  /** Files of the repository that this runner consists of; a candidate's changes to them are undone. */
  readonly runnerFiles: readonly string[];
  /** unittest reports on stderr; merging in stdout, where tests print, would only break up its lines. */
  readonly reportsOn: 'stderr' | 'both';
  readonly format: LogFormat;
  /** Whether it is the row's own script, which applies the test patch, and whose runner may have any exit code. */
  readonly isEvalScript: boolean;
  /** Files written into the container before the command runs, by absolute path. */
  readonly scripts: Readonly<Record<string, string>>;
}

const PYTEST = 'python3 -m pytest --tb=no -rA -p no:cacheprovider {files}';
const SCRIPTS = '/tmp/bestk-hidden';

/**
 * Commands of SWE-bench's harness (`swebench/harness/constants`); repositories not listed here run with plain pytest.
 */
const BY_REPO: Readonly<Record<string, string>> = {
  'django/django':
    'cd tests && python3 -W ignore runtests.py --settings=test_sqlite --parallel 1 --verbosity 2 {modules}',
  'django/django 1.9': 'cd tests && python3 -W ignore runtests.py --verbosity 2 {modules}',
  'sympy/sympy': "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' python3 bin/test -C --verbose {files}",
  'sphinx-doc/sphinx': 'tox --current-env -epy39 -v -- {files}',
};

/** Runners of languages, by the extension of their test files. */
const BY_EXTENSION: readonly (readonly [RegExp, string])[] = [
  [/\.py$/, PYTEST],
  [/\.go$/, 'go test -v {folders}'],
  [/\.rs$/, 'cargo test --no-fail-fast'],
];

/**
 * The command of a repository, or `given`, with `{files}`, `{folders}` and `{modules}` replaced: the files that the
 * test patch changes (or those with which the tests' names begin), their folders, and Python's dotted names below
 * `tests/`. The log format follows from the row or the command.
 * @throws BadInputError when there is no such file, or the way to run the tests is unknown
 */
export function testCommand(tests: HiddenTests, given: string | null): TestCommand {
  const files = testFiles(tests);
  const template = given ?? ownCommand(tests) ?? ofRepository(tests) ?? ofLanguage(files);
  const runnable = files.filter((path) => !/(^|\/)(__init__|conftest)\.py$/.test(path) && isTest(path));
  if (runnable.length === 0 && /\{(files|folders|modules)\}/.test(template)) {
    throw new BadInputError(
      'changes no file that could be run.',
      { field: 'test_patch' },
      'Pass --test-command with the tests to run and no {files} or {modules}.',
    );
  }
  const line = withTestFiles(template, runnable)
    .replaceAll('{folders}', () => [...new Set(runnable.map(folderOf))].map(quoted).join(' '))
    .replaceAll('{scripts}', () => SCRIPTS);
  const scripts = Object.entries(scriptsOf(tests, template)).map(([name, text]) => [`${SCRIPTS}/${name}`, text]);
  const format = logFormatOf(tests, template, given !== null);
  const own: Partial<HiddenTests> = given === null ? tests : {};
  const runner = runnerOf(format, own);
  const runnerFiles = [...runner.runnerFiles, ...(R2E_GYM.test(line) ? ['run_tests.sh'] : [])];
  return { line, scripts: Object.fromEntries(scripts) as Record<string, string>, format, ...runner, runnerFiles };
}

/** Its images hold the script in the repository. */
const R2E_GYM = /\bbash run_tests\.sh$/;

/** @throws BadInputError when it cannot be used */
function ownCommand({ command, unusable }: HiddenTests): string | null {
  if (unusable !== undefined) throw unusable;
  return command;
}

/**
 * The row's format, unless another command is given; else the one that the command implies. A log that is read as another
 * runner's names no test, and would make every patch wrong.
 * @throws BadInputError when the format is unknown
 */
function logFormatOf(tests: HiddenTests, command: string, isGiven: boolean): LogFormat {
  const script = isGiven ? undefined : tests.evalScript;
  const fromRow = logFormatByName(tests.log ?? '');
  const implied = logFormatOfCommand(script?.tests ?? command);
  const [first, second] = isGiven ? [implied, fromRow] : [fromRow, implied];
  const format = first ?? second;
  if (format !== null) return format;
  if (script === undefined && isUnnamedPytest(tests)) return 'pytest';
  throw unknownFormat(tests);
}

function unknownFormat({ log, logColumn }: HiddenTests): BadInputError {
  const problem =
    log === null
      ? 'is missing, and the command does not say which program runs the tests.'
      : `names a parser of logs that bestk does not know: "${log.slice(0, LONGEST_PARSER)}".`;
  return new BadInputError(
    problem,
    { field: logColumn ?? 'log_parser' },
    'Pass --test-command, and end it with a comment that names a format of docs/grading.md, such as # log: junit.',
  );
}

const LONGEST_PARSER = 80;

function isUnnamedPytest({ log, failToPass, passToPass, files }: HiddenTests): boolean {
  if (log !== null) return false;
  const names = [...failToPass, ...passToPass];
  return names.some((name) => name.includes('::')) || files.some(({ path }) => path.endsWith('.py'));
}

const UNITTEST_RUNNER = ['tests/runtests.py', 'tests/test_sqlite.py'];

type Runner = Pick<TestCommand, 'runnerFiles' | 'reportsOn' | 'isEvalScript'>;

/** A row's own script is read as SWE-bench's harness reads it, both streams. */
function runnerOf(format: LogFormat, { evalScript }: Partial<HiddenTests>): Runner {
  const isEvalScript = evalScript !== undefined;
  if (format === 'unittest') {
    return { runnerFiles: UNITTEST_RUNNER, reportsOn: isEvalScript ? 'both' : 'stderr', isEvalScript };
  }
  return { runnerFiles: format === 'sympy' ? ['bin/test'] : [], reportsOn: 'both', isEvalScript };
}

function ofRepository({ repo, version }: HiddenTests): string | undefined {
  return BY_REPO[`${repo ?? ''} ${version ?? ''}`] ?? BY_REPO[repo ?? ''];
}

/** Defaults to pytest, whose messages best tell what is missing. @throws BadInputError for another language's tests */
function ofLanguage(files: readonly string[]): string {
  const known = BY_EXTENSION.find(([pattern]) => files.length > 0 && files.some((path) => pattern.test(path)));
  if (known !== undefined) return known[1];
  if (files.every((path) => !/\.(c|cc|cpp|java|kt|[jt]sx?|mjs|cjs|php|rb|scala|swift|cs)$/.test(path))) return PYTEST;
  throw new BadInputError(
    'is of a language whose tests are run in many ways.',
    { field: 'test_patch' },
    'Pass --test-command with the command that runs them.',
  );
}

/** @throws BadInputError when the command needs scripts that were not given */
function scriptsOf({ scripts, evalScript }: HiddenTests, template: string): Readonly<Record<string, string>> {
  if (!template.includes('{scripts}')) return {};
  if (evalScript !== undefined) return { [evalScript.name]: evalScript.text };
  if (scripts !== undefined) return scripts;
  throw new BadInputError(
    'of SWE-bench Pro are run by scripts that are not in its rows.',
    { field: 'hidden tests' },
    'Pass --run-scripts with the folder run_scripts/ of its repository.',
  );
}

/** From the test patch, or from the tests' names if the tests are part of the image. */
function testFiles({ files, testPatch, ...names }: HiddenTests): readonly string[] {
  if (testPatch === null) return filesInNames(names);
  const present = files.filter(({ parsed }) => parsed.newFileName !== '/dev/null').map(({ path }) => path);
  return [...new Set(present)];
}

function filesInNames({ failToPass, passToPass }: Pick<HiddenTests, 'failToPass' | 'passToPass'>): readonly string[] {
  const names = [...failToPass, ...passToPass];
  return [...new Set(names.flatMap((name) => (name.includes('::') ? name.split('::', 1) : [])))];
}

/** Files with hidden tests, in which no change of a candidate may remain. */
export function hiddenTestFiles(tests: HiddenTests): readonly string[] {
  if (tests.testPatch === null) return filesInNames(tests).filter(isTest);
  return tests.files.flatMap(({ paths }) => paths);
}

function isTest(path: string): boolean {
  return BY_EXTENSION.some(([pattern]) => pattern.test(path));
}

function folderOf(path: string): string {
  return path.includes('/') ? `./${path.slice(0, path.lastIndexOf('/'))}` : '.';
}
