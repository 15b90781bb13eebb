import { retried } from '../../../src/core/async/retries.js';
import { neutralise } from '../../../src/core/hostile-text.js';
import type { Issue } from '../../../src/core/run/issue.js';
import type { Message } from '../../../src/ports/llm-client.js';
import type { PromptLibrary } from '../../../src/ports/prompt-library.js';
import type { Sandbox } from '../../../src/ports/sandbox.js';
import { BaseRepository } from '../../source/base-repository.js';
import type { SourceOfBase } from '../../source/changed-code.js';
import { type Definition, definitionsOf } from '../../source/definitions.js';
import { isInside } from '../../source/files-at-base.js';
import { namesIn } from '../../source/issue-names.js';
import { definitionOf, fitting, hitsIn, MATCHES } from '../../source/read-sources.js';
import { fenceOf, issueText } from './chosen-files.js';

/* Which existing tests a model is asked about, and what it sees of them. */

/** Characters shown in all, and lines per test. */
const ROOM = 40_000;
const MOST_LINES = 60;
const MOST_FILES = 60;
/** Names searched for if no file is known to contain their tests. */
const MOST_SOUGHT = 150;
/** A test with more cases is listed as one. */
const MOST_CASES = 8;

/** Existing tests that share a body. */
export interface ShownTest {
  /** The names in the prompt and its answer, and the tests that each stands for. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  /** Source at base; empty if it was not found. */
  readonly body: string;
}

/**
 * Existing tests with their bodies, those most related to the issue's names first. A name with a file that does not
 * exist is of a test that another test made and ran; it is left out.
 * @param tests names as a runner reports them
 * @throws what the sandbox throws
 */
async function shownTests(
  sandbox: Sandbox,
  issue: Issue,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<readonly ShownTest[]> {
  await using base = await BaseRepository.open(sandbox, issue, 'test writer', signal);
  const bodies = await new Bodies(base, signal).of(tests);
  const { names } = namesIn(issue.problem_statement);
  const weighed = [...bodies].map(([place, { text, cases }]) => ({
    names: namesOf(place, cases),
    body: text,
    weight: weightOf(text, names),
  }));
  const sorted = weighed.toSorted((a, b) => b.weight - a.weight);
  return fitting(sorted, ROOM, ({ names: said, body }) => body.length + [...said.keys()].join('\n--- ').length);
}

interface Asking {
  readonly sandbox: Sandbox;
  readonly prompts: PromptLibrary;
  /** The answer; empty if there is none. */
  readonly ask: (messages: readonly Message[]) => Promise<string>;
}

/** A model that excludes more than this share has misunderstood the question. */
const MOST_SHARE = 0.2;

/**
 * Existing tests that a right solution has to break, chosen by a model that sees the issue and their bodies (Agentless,
 * arXiv 2407.01489, section 3.3, shows names). None if it does not answer or names too many; unknown names are ignored.
 * @throws what the sandbox throws
 */
export async function excludedTests(
  { sandbox, prompts, ask }: Asking,
  issue: Issue,
  tests: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const shown = await retried(() => shownTests(sandbox, issue, tests, signal), { signal });
  const known = new Map(shown.flatMap(({ names }) => [...names]));
  const texts = shown.map(({ names, body }) => [...[...names.keys()].map((name) => `--- ${name}`), body].join('\n'));
  const data = { issue: issueText(issue), tests: neutralise(texts.map((text) => text.trimEnd()).join('\n\n')) };
  const { messages } = await prompts.render('test-writer/exclude', { ...data, fence: fenceOf(data) });
  const text = await ask(messages);
  const named = text.split('\n').flatMap((line) => known.get(line.trim().replace(/^--- /, '')) ?? []);
  const gone = new Set(named);
  return gone.size <= tests.length * MOST_SHARE ? tests.filter((test) => gone.has(test)) : [];
}

/** Relevance of a text: the weight of the issue's names in it, relative to its number of words. */
function weightOf(text: string, names: ReadonlyMap<string, number>): number {
  const words = new Set(text.match(/\w+/g) ?? []);
  const named = [...words].reduce((total, word) => total + (names.get(word) ?? 0), 0);
  return named / Math.sqrt(1 + words.size);
}

function namesOf(place: string, cases: readonly string[]): ReadonlyMap<string, readonly string[]> {
  if (cases.length > MOST_CASES) return new Map([[place, cases]]);
  return new Map(cases.map((name) => [name, [name]]));
}

interface Body {
  readonly text: string;
  readonly cases: readonly string[];
}

class Bodies {
  constructor(
    private readonly base: SourceOfBase,
    private readonly signal: AbortSignal,
  ) {}

  /** By test name without the case. */
  async of(tests: readonly string[]): Promise<ReadonlyMap<string, Body>> {
    const all = ((await this.base.ask('g ls-files', {}, this.signal)) ?? '').split('\n');
    const groups = grouped(tests, withoutCase);
    const files = new Files(all);
    const places = [...groups.keys()].map((place) => ({ place, path: files.of(place) }));
    const byFile = grouped(
      places.filter(({ path }) => path !== null),
      ({ path }) => path ?? '',
    );
    const elsewhere = places.filter(({ place, path }) => path === null && !SAYS_FILE.test(place));
    const texts = await this.byName(elsewhere.slice(0, MOST_SOUGHT).map(({ place }) => place));
    for (const [path, inFile] of [...byFile].slice(0, MOST_FILES)) {
      const lines = await this.linesOf(path);
      const definitions = definitionsOf(lines, path);
      for (const { place } of inFile) texts.set(place, bodyOf(place, lines, definitions));
    }
    for (const { place } of elsewhere) if (!texts.has(place)) texts.set(place, '');
    return new Map([...texts].map(([place, text]) => [place, { text, cases: groups.get(place) ?? [] }]));
  }

  /** If only the name is known, as in Go: the only definition of that name. */
  private async byName(places: readonly string[]): Promise<Map<string, string>> {
    const names = [...new Set(places.map(lastName))].filter((name) => name !== '');
    if (names.length === 0) return new Map();
    const args = [definitionOf(names)];
    const hits = hitsIn((await this.base.ask(MATCHES, { args }, this.signal)) ?? '');
    const found = await Promise.all(
      places.map(async (place): Promise<[string, string]> => {
        const named = hits.filter(({ text }) => new RegExp(`\\b${lastName(place)}\\b`).test(text));
        const [hit] = named;
        if (hit === undefined || named.length > 1) return [place, ''];
        const lines = await this.linesOf(hit.path);
        return [place, bodyOf(place, lines, definitionsOf(lines, hit.path))];
      }),
    );
    return new Map(found);
  }

  private async linesOf(path: string): Promise<readonly string[]> {
    return ((await this.base.text(path, this.signal)) ?? '').split('\n');
  }
}

function grouped<T>(members: readonly T[], keyOf: (member: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const member of members) {
    const group = groups.get(keyOf(member));
    if (group === undefined) groups.set(keyOf(member), [member]);
    else group.push(member);
  }
  return groups;
}

/** A test name with a file, as reported by runners of scripted languages. */
const SAYS_FILE = /\.(?:py|rb|php|[cm]?[jt]sx?)(?::| > )/;

/** Removes `[case]` (pytest) and `/case` (Go). */
function withoutCase(name: string): string {
  const [place = ''] = name.split('[', 1);
  return place.replace(/(\.Test\w*)\/.*$/s, '$1');
}

function lastName(place: string): string {
  return place.match(/\w+/g)?.at(-1) ?? '';
}

/** Finds the file that a test's name refers to, as a path or as a module. */
class Files {
  private readonly byEnd = new Map<string, string>();

  constructor(paths: readonly string[]) {
    for (const path of paths) {
      const parts = path.replace(/\.py$/, '').split('/');
      // Of several paths with the same end, the shortest is the likeliest.
      for (let from = 0; from < parts.length; from += 1) {
        const end = parts.slice(from).join('.');
        const known = this.byEnd.get(end);
        if (known === undefined || known.length > path.length) this.byEnd.set(end, path);
      }
    }
  }

  of(place: string): string | null {
    const [said = ''] = place.split(/:+| > /);
    const parts = said.replaceAll('/', '.').replace(/\.py$/, '').split('.');
    const fewest = SAYS_FILE.test(place) ? parts.length : 1;
    for (let length = parts.length; length >= fewest; length -= 1) {
      const path = this.byEnd.get(parts.slice(0, length).join('.'));
      if (path !== undefined) return path;
    }
    return null;
  }
}

/** Prefers a definition in a class that the name contains, then one outside of classes; empty if there is none. */
function bodyOf(place: string, lines: readonly string[], definitions: readonly Definition[]): string {
  const named = definitions.filter(({ name, isType }) => name === lastName(place) && !isType);
  const words = new Set(place.split(/\W+/));
  const holders = (inner: Definition): readonly Definition[] =>
    definitions.filter((each) => each.isType && each !== inner && isInside(inner, each));
  const definition =
    named.find((each) => holders(each).some(({ name }) => words.has(name))) ??
    named.find((each) => holders(each).length === 0) ??
    named[0];
  if (definition === undefined) return '';
  const body = lines.slice(definition.start, definition.end);
  return [...body.slice(0, MOST_LINES), ...(body.length > MOST_LINES ? ['…'] : [])].join('\n');
}
