/** What a changed file is to verification: only `source` is applied there. */
export type FileRole = 'source' | 'test' | 'runner-config';

const TEST_DIRECTORIES = new Set(['tests', '__tests__', 'spec']);
const TEST_FILES = [/^test_.*\.py$/, /^tests?\.py$/, /_test\.(py|go|rb|c|cc|cpp)$/, /\.(test|spec)\.[cm]?[jt]sx?$/];

/**
 * Files that decide which tests run and how. `setup.cfg`, `pyproject.toml` and `package.json` also hold other things,
 * but what a hunk says cannot be told from its context lines for certain, so they are set apart whole: verification runs
 * with the base's configuration, and what is returned keeps them.
 */
const RUNNER_CONFIG = [
  /^conftest\.py$/,
  /^\.?pytest\.(ini|toml)$/,
  /^(tox|setup|mypy)\.(ini|cfg)$/,
  /^pyproject\.toml$/,
  /^package\.json$/,
  /^noxfile\.py$/,
  /\.pth$/,
  /^\.coveragerc$/,
  /^(jest|vitest|karma|playwright)\.config\.[cm]?[jt]s(on)?$/,
  /^\.mocharc(\..*)?$/,
  /^\.git(attributes|modules|ignore)$/,
];

/**
 * Role of a path, from its name alone. `test/` counts as tests only at the top: `django/test/` and `sympy/testing/` are
 * library code.
 */
export function roleOf(path: string): FileRole {
  const parts = path.split('/');
  const name = parts.at(-1) ?? '';
  const directories = parts.slice(0, -1);
  if (
    RUNNER_CONFIG.some((pattern) => pattern.test(name)) ||
    isContinuousIntegration(path) ||
    parts.some(isStartUp) ||
    standsForRunner(parts)
  ) {
    return 'runner-config';
  }
  if (directories[0] === 'test' || directories.some((directory) => TEST_DIRECTORIES.has(directory))) return 'test';
  return TEST_FILES.some((pattern) => pattern.test(name)) ? 'test' : 'source';
}

/** What Python runs at every start, or a package tells pytest to load. */
function isStartUp(part: string): boolean {
  return /^(site|user)customize(\.|$)|\.(egg|dist)-info$/.test(part);
}

/** A module beside the repository's root that would be imported in the runner's place; pytest's own is in `src/`. */
function standsForRunner([first = '']: readonly string[]): boolean {
  return /^(pytest|_pytest|unittest)(\.py)?$/.test(first);
}

function isContinuousIntegration(path: string): boolean {
  return /^\.(github|gitlab|circleci)\/|^\.(travis|gitlab-ci|appveyor)\.ya?ml$|^azure-pipelines\.ya?ml$/.test(path);
}
