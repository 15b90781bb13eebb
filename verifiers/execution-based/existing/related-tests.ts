import { type PatchFile, readPatch } from '../../../src/core/patch/patch.js';
import type { BaseRepository } from '../../source/base-repository.js';
import type { DistinctPatch } from '../tree/distinct.js';

const MOST_FILES = 25;
const MOST_SOURCES = 40;
const MOST_NAMES = 12;
/** Of every patch, whatever the others change. */
const KEPT_EACH = 3;
const SHORTEST_NAME = 4;

const CODE = String.raw`\.(py|go|rs|java|kt|scala|php|rb|[cm]?[jt]sx?)$`;
/** What defines a test, at the beginning of a line. */
const DEFINES_TEST = String.raw`^[[:space:]]*((async )?def test|(it|test|describe)\(|#\[(tokio::)?test\])`;

/** Names under which the runners of Python, Go, JavaScript, the JVM's languages, PHP, Ruby and Rust look for tests. */
const NAMED_AS_TESTS: readonly RegExp[] = [
  /(^|\/)tests?(_[^/]*|[A-Z0-9][^/]*)?\.py$/,
  /_tests?\.py$/,
  /(^|\/)unittest_[^/]*\.py$/,
  /_test\.go$/,
  /[._-](test|spec)\.[cm]?[jt]sx?$/,
  /(^|\/)__tests__\/.*\.[cm]?[jt]sx?$/,
  /(^|\/)(Test[A-Z]\w*|\w+(Test|Tests|TestCase|IT|Spec))\.(java|kt|scala|php)$/,
  /(^|\/)(test_[^/]*|[^/]*_(spec|test))\.rb$/,
  /(^|\/)tests\/[^/]+\.rs$/,
];
/** What lies beside tests and is none, whatever its functions are called. */
const HELPER =
  /(^|\/)(__init__|__main__|conftest|models|urls|admin|forms|views|settings|apps|managers|fields|middleware|routers|serializers|signals|templatetags|utils?|helpers?|base|common|fixtures?|factories)\.\w+$/;
const BESIDE_TESTS = /(^|\/)(tests?|testing|spec)\//;

/** Whether a file holds tests: by its name, or because it lies among tests and defines some. */
export function holdsTests(path: string, defining: ReadonlySet<string>): boolean {
  if (HELPER.test(path)) return false;
  return NAMED_AS_TESTS.some((name) => name.test(path)) || (BESIDE_TESTS.test(path) && defining.has(path));
}

/**
 * `#` and every file that may hold tests; `#` and those that define some; then for each line of stdin, `m` a module or `w` a
 * word, `#` and the files that hold it. Names stay data.
 */
const SCRIPT = String.raw`
code=$1 defines=$2
set -- '*test*' '*Test*' '*spec*' '*Spec*'
printf '#\n'; g ls-files -- "$@" | grep -E "$code"
printf '#\n'; g grep -l -I -E -e "$defines" -- "$@" | grep -E "$code"
while IFS= read -r line; do
  name=${'${line#??}'}
  case $line in w*) how=-w ;; *) how=-I ;; esac
  printf '#\n'; g grep -l -I -F "$how" -e "$name" -- "$@" | grep -E "$code" | head -n 300
done`;

/** What the patches change, by the part of them that changes it. */
type Shares = ReadonlyMap<string, number>;

/**
 * Files of existing tests that have to do with what the patches change, the closest first: named after a changed file,
 * importing it (rare imports count more), naming the functions and classes that change, of a path that shares its words,
 * or beside it. What more patches change counts more.
 * @returns paths from the repository's root; none when nothing is close
 * @throws what the sandbox throws
 */
export async function relatedTests(
  base: Pick<BaseRepository, 'ask'>,
  patches: readonly Pick<DistinctPatch, 'source'>[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { files, names } = changedBy(patches);
  if (files.size === 0) return [];
  const modules = [...files.keys()].map(moduleOf);
  const lines = [...modules.map((name) => `m ${name}`), ...[...names.keys()].map((name) => `w ${name}`)];
  const found = await base.ask(SCRIPT, { args: [CODE, DEFINES_TEST], lines }, signal);
  return found === null ? [] : closest(found, files, names);
}

const DEFINITION =
  /\b(?:class|def|func|function|fn|interface|struct|trait|module)\s+(?:\([^)\n]{0,200}\)\s*)?([A-Za-z_]\w*)/g;

function changedBy(patches: readonly Pick<DistinctPatch, 'source'>[]): { files: Shares; names: Shares } {
  const [files, names] = [new Map<string, number>(), new Map<string, number>()];
  const kept = new Set<string>();
  for (const { source } of patches) {
    const patch = readPatch(source);
    const own = patch.kind === 'ok' ? ofBase(patch.files) : [];
    // Of a renamed file the name at base.
    const paths = [...new Set(own.map(({ path, paths: [old = path] }) => old))];
    const defined = new Set(own.flatMap(({ text }) => [...text.matchAll(DEFINITION)].map(([, name = '']) => name)));
    const telling = [...defined].filter((name) => name.length >= SHORTEST_NAME && !name.startsWith('__'));
    share(files, paths, 1 / patches.length);
    share(names, telling, 1 / patches.length);
    for (const path of paths.slice(0, KEPT_EACH)) kept.add(path);
    for (const name of telling.slice(0, KEPT_EACH)) kept.add(name);
  }
  return { files: first(files, MOST_SOURCES, kept), names: first(names, MOST_NAMES, kept) };
}

/** Files that base lacks have no tests there; of a patch that changes no others, these. */
function ofBase(files: readonly PatchFile[]): readonly PatchFile[] {
  const changed = files.filter(({ parsed: { isCreate, isCopy } }) => isCreate !== true && isCopy !== true);
  return changed.length > 0 ? changed : files;
}

/** Of a patch that changes much, each part weighs less: nobody pushes out what others change. */
function share(shares: Map<string, number>, parts: readonly string[], whole: number): void {
  for (const part of parts) shares.set(part, (shares.get(part) ?? 0) + whole / parts.length);
}

/** Those of most weight; but some of every patch. */
function first(shares: Shares, most: number, kept: ReadonlySet<string>): Shares {
  const sorted = [...shares].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return new Map(sorted.filter(([name], index) => index < most || kept.has(name)));
}

/** `django/forms/formsets.py` is imported as `django.forms.formsets`, a Go file by its folder, others by their name. */
function moduleOf(path: string): string {
  if (path.endsWith('.py')) {
    const parts = path.replace(/(\/__init__)?\.py$/, '').split('/');
    return (parts[0] === 'src' || parts[0] === 'lib' ? parts.slice(1) : parts).join('.');
  }
  return path.endsWith('.go') ? directory(path) : nameOf(path);
}

function closest(output: string, files: Shares, names: Shares): readonly string[] {
  const [all = [], defining = [], ...holding] = output
    .split('#\n')
    .slice(1)
    .map((group) => group.split('\n').filter((path) => path !== ''));
  const known = new Set(defining);
  const tests = new Set(all.filter((path) => holdsTests(path, known)));
  const scores = new Map<string, number>();
  const add = (path: string, score: number): void => {
    if (tests.has(path) && score > 0) scores.set(path, (scores.get(path) ?? 0) + score);
  };
  const words = new Map([...tests].map((test) => [test, wordsOf(test)]));
  const rarity = rarityOf([...words.values()]);
  for (const [source, share] of files) {
    // The first folder is the project's own name.
    const own = wordsOf(source.slice(source.indexOf('/') + 1));
    for (const [test, said] of words) {
      const shared = [...own].reduce((sum, word) => sum + (said.has(word) ? (rarity.get(word) ?? 0) : 0), 0);
      add(test, share * (closeness(test, source) + shared));
    }
  }
  const weights = [...files.values(), ...[...names.values()].map((share) => 0.7 * share)];
  for (const [index, paths] of holding.entries()) {
    const own = paths.filter((path) => tests.has(path));
    for (const test of own) add(test, (weights[index] ?? 0) / Math.sqrt(own.length));
  }
  const sorted = [...scores].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return sorted.slice(0, MOST_FILES).map(([path]) => path);
}

/** By name and place. */
function closeness(test: string, source: string): number {
  const [testName, name] = [nameOf(test), nameOf(source)];
  const tested = testName.replace(/^(test|unittest)_?|[._-]?(test|tests|spec)$|(Test|Tests|Spec)$/g, '');
  const named = tested === name ? 2 : 0;
  const beside = directory(test).replace(/(^|\/)(tests?|__tests__)$/, '') === directory(source) ? 0.5 : 0;
  return named + beside;
}

/** Words of paths that say nothing. */
const EVERYWHERE = new Set(['test', 'src', 'lib', 'main', 'java', 'init', 'py', 'js', 'ts', 'go', 'rs', 'rb', 'php']);

/** `tests/admin_views/test_autocomplete_view.py` shares two words with `django/contrib/admin/views/autocomplete.py`. */
function wordsOf(path: string): ReadonlySet<string> {
  const words = path
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  const singular = words.map((word) => word.replace(/ies$/, 'y').replace(/(?<=\w{2})s$/, ''));
  return new Set(singular.filter((word) => word.length > 1 && !EVERYWHERE.has(word)));
}

function rarityOf(texts: readonly ReadonlySet<string>[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const words of texts) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map([...counts].map(([word, count]) => [word, 1 / Math.sqrt(count)]));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).replace(/\.\w+$/, '');
}

function directory(path: string): string {
  return path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '';
}
