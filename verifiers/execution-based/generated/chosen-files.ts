import type { Issue } from '../../../src/core/run/issue.js';
import type { Sandbox } from '../../../src/ports/sandbox.js';
import { BaseRepository } from '../../source/base-repository.js';
import type { TestLanguage } from '../drivers/test-dialect.js';

export interface ChosenFile {
  readonly path: string;
  /** Whole, or the parts around what the issue names. */
  readonly text: string;
}

const MOST_FILES = 5;
/** Characters of one file; five of them are about 20,000 tokens. */
const LONGEST = 16_000;
/** Lines kept around a line that the issue names something of. */
const AROUND = 25;
/** Shorter words are everywhere. */
const SHORTEST_NAME = 5;
const FEW_TERMS = 3;

/**
 * The language that most files are in, `#` and every file of it; then for each line of stdin, a name: `#` and the files that
 * hold it. Names stay data.
 */
const GREP = String.raw`
set -- '*.js' '*.mjs' '*.cjs' '*.jsx' '*.ts' '*.tsx'
language=javascript
[ "$(g ls-files -- "$@" | wc -l)" -gt "$(g ls-files -- '*.py' | wc -l)" ] || { set -- '*.py'; language=python; }
echo "$language"
printf '#\n'
g ls-files -- "$@"
while IFS= read -r term; do
  printf '#\n'
  g grep -l -I -F -e "$term" -- "$@" | head -n 200
done`;

export interface ChosenSource {
  /** Of most of the repository's files. */
  readonly language: TestLanguage;
  readonly files: readonly ChosenFile[];
}

/**
 * The source files of the base that have most to do with an issue: those that hold the names it mentions, rare names
 * counting more, those it names itself most of all. No model is asked.
 * @throws what the sandbox throws
 */
export async function chosenFiles(sandbox: Sandbox, issue: Issue, signal: AbortSignal): Promise<ChosenSource> {
  await using base = await BaseRepository.open(sandbox, issue, 'test writer', signal);
  const terms = issueTerms(issue.problem_statement);
  const found = (await base.ask(GREP, { lines: terms }, signal)) ?? '';
  const language = found.startsWith('javascript\n') ? 'javascript' : 'python';
  const best = rank(found, issue.problem_statement).slice(0, MOST_FILES);
  const files: ChosenFile[] = [];
  for (const path of best) {
    const text = await base.text(path, signal);
    if (text !== null) files.push({ path, text: relevant(text, terms) });
  }
  return { language, files };
}

function rank(output: string, issue: string): readonly string[] {
  const scores = new Map<string, number>();
  const [all = [], ...holding] = output
    .split('#\n')
    .slice(1)
    .map((group) => group.split('\n').filter((path) => path !== ''));
  // An issue that names much code needs no guesses from plain words.
  const guessed = holding.length < FEW_TERMS ? namedLikeWords(all, issue) : [];
  for (const paths of [...guessed, ...holding]) {
    for (const path of paths) scores.set(path, (scores.get(path) ?? 0) + 1 / paths.length);
  }
  const weighed = [...scores].map(([path, score]) => ({ path, score: score * weightOf(path, issue) }));
  return weighed.sort((a, b) => b.score - a.score || (a.path < b.path ? -1 : 1)).map(({ path }) => path);
}

/** Files by each word of the issue that is their name: `runserver.py` where it speaks of runserver. */
function namedLikeWords(paths: readonly string[], issue: string): readonly (readonly string[])[] {
  const words = new Set(issue.split(/\W+/).filter((word) => word.length >= SHORTEST_NAME));
  const byWord = new Map<string, string[]>();
  for (const path of paths) {
    const name = path.slice(path.lastIndexOf('/') + 1).replace(/\.\w+$/, '');
    if (words.has(name)) byWord.set(name, [...(byWord.get(name) ?? []), path]);
  }
  return [...byWord.values()];
}

/** Tests show how the project is used, but the source is what the issue is about. */
function weightOf(path: string, issue: string): number {
  const named = namesFile(issue, path) ? 10 : 1;
  return /(^|\/)(tests?|testing)\/|(^|\/)test_|_test\.py$|\.(test|spec)\.\w+$/.test(path) ? 0.3 * named : named;
}

function relevant(text: string, terms: readonly string[]): string {
  if (text.length <= LONGEST) return text;
  const lines = text.split('\n');
  const kept = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (!terms.some((term) => line.includes(term))) continue;
    for (let near = Math.max(0, index - AROUND); near <= index + AROUND; near += 1) kept.add(near);
  }
  const parts: string[] = [];
  let last = -1;
  for (const index of [...kept].filter((at) => at < lines.length).sort((a, b) => a - b)) {
    if (index !== last + 1) parts.push('# …');
    parts.push(lines[index] ?? '');
    last = index;
  }
  return parts.join('\n').slice(0, LONGEST);
}

const MOST_TERMS = 40;
/** Words that every Python project is full of. */
const COMMON = new Set([
  'self',
  'None',
  'True',
  'False',
  'import',
  'from',
  'return',
  'print',
  'class',
  'def',
  'python',
  'test',
  'tests',
  'error',
  'Error',
  'Exception',
  'Traceback',
  'line',
  'File',
  'ValueError',
  'TypeError',
]);

/** Names of code that an issue mentions, those that look most like names first: dotted, then CamelCase and snake_case, then words in code. */
export function issueTerms(issue: string): readonly string[] {
  // Addresses are full of what looks like names.
  const text = issue.slice(0, 60_000).replace(/https?:\/\/\S+/g, ' ');
  const dotted = text.match(/\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b/g) ?? [];
  const compound = text.match(/\b(?:[A-Za-z]+_\w+|_\w{3,}|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)\b/g) ?? [];
  const coded = [...text.matchAll(/`([^`\n]{3,60})`/g)].flatMap(
    ([, code = '']) => code.match(/[A-Za-z_]\w{2,}/g) ?? [],
  );
  const parts = dotted.flatMap((name) => name.split('.').slice(-2));
  const terms = [...compound, ...parts, ...coded].filter(
    (term) => term.length > 2 && term.length < 80 && !COMMON.has(term),
  );
  return [...new Set(terms)].slice(0, MOST_TERMS);
}

/** Whether an issue names a file, by its path or as a module. */
export function namesFile(issue: string, path: string): boolean {
  const module = path.replace(/\.py$/, '').replaceAll('/', '.');
  return issue.includes(path) || (module.includes('.') && issue.includes(module));
}
