import { retried } from '../../../src/core/async/retries.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import { contentKey } from '../../../src/core/identifier.js';
import { readPatch } from '../../../src/core/patch/patch.js';
import type { Issue } from '../../../src/core/run/issue.js';
import type { Sandbox } from '../../../src/ports/sandbox.js';
import { BaseRepository } from '../../source/base-repository.js';
import { namesIn } from '../../source/issue-names.js';
import { type ShownSource, sourceOfIssue } from '../../source/issue-source.js';
import { fitting, sourceAround, TEST_PATH } from '../../source/read-sources.js';
import { tracedCalls } from './traced-example.js';

/** Languages for generated tests, with the extensions used to count how much of a repository is in each. */
const LANGUAGES = {
  python: ['py'],
  javascript: ['js', 'mjs', 'cjs', 'jsx', 'ts', 'tsx'],
  go: ['go'],
  rust: ['rs'],
  java: ['java'],
  c: ['c'],
  cpp: ['cc', 'cpp', 'cxx', 'hpp', 'hh'],
  ruby: ['rb'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** A language that a model is asked to write tests in. */
export type WritersLanguage = keyof typeof LANGUAGES;

const NAMES = Object.keys(LANGUAGES) as readonly WritersLanguage[];
/** Shown but not counted, since headers may belong to either language. */
const HEADERS: Readonly<Partial<Record<WritersLanguage, readonly string[]>>> = { c: ['h'], cpp: ['h'] };

/** The language with the most files by these counts per extension; Python if there is none. */
export function languageOf(counts: Iterable<readonly [extension: string, count: number]>): WritersLanguage {
  const sums = new Map<WritersLanguage, number>();
  for (const [extension, count] of counts) {
    const name = NAMES.find((each) => (LANGUAGES[each] as readonly string[]).includes(extension));
    if (name !== undefined) sums.set(name, (sums.get(name) ?? 0) + count);
  }
  // The first of equals.
  return NAMES.reduce((most, name) => ((sums.get(name) ?? 0) > (sums.get(most) ?? 0) ? name : most), 'python');
}

/** The language of most source files that patches change. */
export function languageOfPatches(patches: readonly string[]): WritersLanguage {
  const files = patches.flatMap((patch) => {
    const parsed = readPatch(patch);
    return parsed.kind === 'ok' ? parsed.files.filter(({ role }) => role === 'source') : [];
  });
  return languageOf(files.map(({ path }) => [path.slice(path.lastIndexOf('.') + 1), 1] as const));
}

/** Prints the number of files per extension, then the entries of the root folder. */
const COUNTS = String.raw`
g ls-files | awk -F. '{ n[$NF]++ } END { for (e in n) print n[e], e }'
printf '#\n'; g ls-files | sed 's,/.*,/,' | sort -u | head -n 60`;
const LIST = 'g ls-files -- "$@"';

const EXAMPLE_LINES = 60;

interface ChosenSource {
  /** The language of most files in the repository. */
  readonly language: WritersLanguage;
  /** Functions and classes, by file; the most relevant file first. */
  readonly files: readonly ShownSource[];
  /** Entries of the repository's root; folders end with a slash. */
  readonly root: readonly string[];
  /** The beginning of an existing test, preferably one named like the shown source; null if there is none. */
  readonly example: ShownSource | null;
}

/**
 * The source at base most relevant to an issue, by names in it, by what its example code calls, and by what that calls.
 * @throws what the sandbox throws
 */
export async function chosenFiles(sandbox: Sandbox, issue: Issue, signal: AbortSignal): Promise<ChosenSource> {
  const calls = tracedCalls(sandbox, issue, signal);
  calls.catch(() => undefined);
  await using base = await BaseRepository.open(sandbox, issue, 'test writer', signal);
  const [counted = '', atRoot = ''] = ((await base.ask(COUNTS, {}, signal)) ?? '').split('#\n');
  const language = languageOf(
    linesOf(counted).map((line) => [line.slice(line.indexOf(' ') + 1), Number.parseInt(line, 10)] as const),
  );
  const globs = [...LANGUAGES[language], ...(HEADERS[language] ?? [])].map((extension) => `*.${extension}`);
  const all = linesOf((await base.ask(LIST, { args: globs }, signal)) ?? '');
  const reached = language === 'python' ? await calls : [];
  const sought = { names: namesIn(issue.problem_statement), files: all, globs, reached };
  const files = await sourceOfIssue(base, sought, signal);
  const nearest = nearestTest(all, files);
  const lines = nearest === null ? [] : ((await base.text(nearest, signal)) ?? '').split('\n', EXAMPLE_LINES);
  const example = nearest === null ? null : { path: nearest, text: lines.join('\n') };
  return { language, files, root: linesOf(atRoot), example };
}

function linesOf(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}

function nearestTest(all: readonly string[], shown: readonly ShownSource[]): string | null {
  const tests = all.filter((path) => TEST_PATH.test(path));
  const stems = shown.map(({ path }) =>
    path
      .slice(path.lastIndexOf('/') + 1)
      .replace(/\.\w+$/, '')
      .toLowerCase(),
  );
  const named = stems.flatMap((stem) => tests.find((path) => path.toLowerCase().includes(stem)) ?? []);
  return named[0] ?? tests[0] ?? null;
}

/** Character limits for authors of further tests: one patch, the tests so far, the source around patches. */
export const LONGEST_PATCH = 30_000;
export const LONGEST_SCRIPTS = 20_000;
const LONGEST_AROUND = 52_000;

/** The source at base around what the patches change, each piece once. @throws what the sandbox throws */
export function sourceAroundAll(
  sandbox: Sandbox,
  issue: Issue,
  patches: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const read = async (): Promise<string> => {
    await using base = await BaseRepository.open(sandbox, issue, 'test writer', signal);
    const pieces: string[] = [];
    for (const patch of patches) pieces.push(...(await sourceAround(base, patch, signal)).split(/\n\n(?=--- )/));
    return fitting([...new Set(pieces)], LONGEST_AROUND, ({ length }) => length).join('\n\n');
  };
  return retried(read, { signal });
}

/** Characters of an issue that are shown. */
const LONGEST_ISSUE = 40_000;

export function issueText({ problem_statement }: Issue): string {
  return neutralise(problem_statement.slice(0, LONGEST_ISSUE)).trim();
}

/** A hash of the fenced text itself, which therefore cannot contain it. */
export function fenceOf(data: unknown): string {
  return contentKey(data).slice(0, 16);
}
