/** A word as a POSIX shell reads it, whatever it holds. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** `{files}` and `{modules}` of a test command, replaced by files of tests. */
export function withTestFiles(command: string, files: readonly string[]): string {
  return command
    .replaceAll('{files}', () => files.map(quoted).join(' '))
    .replaceAll('{modules}', () => files.map((file) => quoted(moduleLabel(file))).join(' '));
}

/** A test file as Django's runner names it: `tests/forms_tests/tests/test_formsets.py` is `forms_tests.tests.test_formsets`. */
export function moduleLabel(file: string): string {
  return file
    .replace(/^tests\//, '')
    .replace(/\.py$/, '')
    .replaceAll('/', '.');
}

/** `git apply` with hooks, attribute filters and the repository's own whitespace rules out of play. */
export const GIT_APPLY: readonly string[] = [
  'git',
  ...['core.hooksPath=/dev/null', 'core.attributesFile=/dev/null', 'safe.directory=*'].flatMap((entry) => [
    '-c',
    entry,
  ]),
  'apply',
  '--whitespace=nowarn',
];
