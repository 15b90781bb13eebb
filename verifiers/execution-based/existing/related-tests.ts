import { readPatch } from '../../../src/core/patch/patch.js';
import { BaseRepository } from '../../source/base-repository.js';
import type { ExecutionContext } from '../execution-context.js';
import type { DistinctPatch } from '../tree/distinct.js';

const MOST_FILES = 10;
const MOST_SOURCES = 40;

/** What test files are called, as git reads it. */
const TEST_FILES = [
  '**/test_*.py',
  '**/*_test.py',
  '**/tests/**/*.py',
  '**/tests.py',
  '**/*_test.go',
  '**/*.test.*',
  '**/*.spec.*',
].map((glob) => `:(glob)${glob}`);

/** `#` and every test file; then for each name on stdin `#` and the test files that hold it. Names stay data. */
const SCRIPT = String.raw`
printf '#\n'; g ls-files -- "$@"
while IFS= read -r name; do printf '#\n'; g grep -l -I -F -e "$name" -- "$@" | head -n 300; done`;

/**
 * Existing tests that have to do with what the patches change, the closest first: files named after a changed one, files
 * that import it (rare imports count more), files that lie beside it. For issues that name no regression files.
 * @returns paths from the repository's root; none when nothing is close
 * @throws what the sandbox throws
 */
export async function relatedTests(
  { sandbox, issue }: Pick<ExecutionContext, 'sandbox' | 'issue'>,
  patches: readonly DistinctPatch[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const sources = changedFiles(patches);
  if (sources.length === 0) return [];
  await using base = await BaseRepository.open(sandbox, issue, 'related tests', signal);
  const found = await base.ask(SCRIPT, { args: TEST_FILES, lines: sources.map(moduleOf) }, signal);
  return found === null ? [] : closest(found, sources);
}

function changedFiles(patches: readonly DistinctPatch[]): readonly string[] {
  const files = patches.flatMap(({ source }) => {
    const patch = readPatch(source);
    return patch.kind === 'ok' ? patch.files.map(({ path }) => path) : [];
  });
  return [...new Set(files)].sort().slice(0, MOST_SOURCES);
}

/** `django/forms/formsets.py` is imported as `django.forms.formsets`, a Go file by its folder, others by their name. */
function moduleOf(path: string): string {
  if (path.endsWith('.py')) {
    const parts = path.replace(/(\/__init__)?\.py$/, '').split('/');
    return (parts[0] === 'src' || parts[0] === 'lib' ? parts.slice(1) : parts).join('.');
  }
  return path.endsWith('.go') ? directory(path) : nameOf(path);
}

function closest(output: string, sources: readonly string[]): readonly string[] {
  const [all = [], ...importing] = output
    .split('#\n')
    .slice(1)
    .map((group) => group.split('\n').filter((path) => path !== ''));
  const scores = new Map<string, number>();
  const add = (path: string, score: number): void => void scores.set(path, (scores.get(path) ?? 0) + score);
  for (const test of all) for (const source of sources) add(test, closeness(test, source));
  for (const files of importing) for (const test of files) add(test, 1 / Math.sqrt(files.length));
  return [...scores]
    .filter(([path, score]) => score > 0 && !path.endsWith('__init__.py'))
    .sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .slice(0, MOST_FILES)
    .map(([path]) => path);
}

/** By name and place. */
function closeness(test: string, source: string): number {
  const [testName, name] = [nameOf(test), nameOf(source)];
  const named = testName.replace(/^test_|_test$|\.(test|spec)$/g, '') === name ? 2 : 0;
  const beside = directory(test).replace(/(^|\/)(tests?|__tests__)$/, '') === directory(source) ? 0.5 : 0;
  return named + beside;
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.\w+$/, '');
}

function directory(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}
