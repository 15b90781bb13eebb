import { retried } from '../../src/core/async/retries.js';
import { UnavailableError } from '../../src/core/errors/errors.js';
import { contentKey } from '../../src/core/identifier.js';
import type { Issue } from '../../src/core/run/issue.js';
import type { ResultStore } from '../../src/ports/result-store.js';
import { type Sandbox, sandboxContent } from '../../src/ports/sandbox.js';
import { BaseRepository } from './base-repository.js';
import { type ChangedCode, changedCode, type SourceOfBase } from './changed-code.js';
import { calledIn, definitionsOf, innermost, linesInsideQuotes } from './definitions.js';

/** Raise this when the choice of source changes, to invalidate stored results. */
const PROTOCOL = 3;

/** Source around the changes of each patch, keyed by patch; empty without an image to read it from. */
export type ReadSources = (
  issue: Issue,
  patches: readonly string[],
  signal: AbortSignal,
) => Promise<ReadonlyMap<string, string>>;

export interface SourceTools {
  readonly sandbox: Sandbox;
  readonly results: ResultStore;
  /** Whether the run also executes something, and so cannot do without the engine. */
  readonly executes: boolean;
}

/**
 * Reads what is not stored yet, all in one container. Without an engine or an image it reads nothing: judging needs neither.
 * @throws UnavailableError when the image exists but cannot be read, or the engine is lost in a run that executes: its judges
 * would be asked, and paid for, without source, and again with it when the run resumes
 */
export function createSourceReader({ sandbox, results, executes }: SourceTools): ReadSources {
  return async (issue, patches, signal) => {
    const described = await sandbox.describeImage(issue.environment.image, signal).catch((error: unknown) => {
      if (!(error instanceof UnavailableError) || (executes && error.retryable)) throw error;
      return null;
    });
    if (described === null) return new Map();
    const { id: image } = described;
    const content = sandboxContent(issue.environment);
    const keyOf = (patch: string): string =>
      contentKey({ kind: 'source', protocol: PROTOCOL, image, ...content, patch });
    const found = new Map<string, string>();
    for (const patch of new Set(patches)) {
      const stored = await results.get(keyOf(patch));
      if (typeof stored === 'string') found.set(patch, stored);
    }
    const missing = [...new Set(patches)].filter((patch) => !found.has(patch));
    if (missing.length === 0) return found;
    for (const [patch, text] of await retried(() => read(sandbox, issue, missing, signal), { signal })) {
      await results.put(keyOf(patch), 'source', text);
      found.set(patch, text);
    }
    return found;
  };
}

async function read(
  sandbox: Sandbox,
  issue: Issue,
  patches: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly [string, string])[]> {
  await using base = await BaseRepository.open(sandbox, issue, `judge ${issue.instance_id}`, signal);
  const read: (readonly [string, string])[] = [];
  for (const patch of patches) read.push([patch, await sourceAround(base, patch, signal)]);
  return read;
}

/** Characters of the three parts; together about 7,000 tokens. */
const ROOM = { changed: 14_000, callers: 6_000, helpers: 6_000 } as const;
const MOST_NAMES = 10;
const MOST_CALLERS = 10;
const CALLERS_OF_ONE = 4;
/** Lines shown around a caller. */
const AROUND = 3;
/** For names used more often, only uses in the changed files are shown. */
const OFTEN = 100;
const MOST_HELPERS = 8;
const HELPER_LINES = 25;
/** A name defined in more places is not followed, since the name does not tell which one is meant. */
const FEW = 3;

/**
 * The source at base that a reader of a patch needs: the definitions it changes, lines that call or name them, and definitions
 * that the changed code calls. Depends only on the repository and the patch.
 * @returns pieces with headings; empty when the patch changes nothing that exists at base
 * @throws what the repository throws
 */
export async function sourceAround(base: SourceOfBase, patch: string, signal: AbortSignal): Promise<string> {
  const changes = await changedCode(base, patch, signal);
  const neighbours = new Neighbours(base, changes, signal);
  const pieces = [
    ...fitting(
      changes.map(({ path, text }) => ({ heading: `${path} (changed)`, text })),
      ROOM.changed,
      sizeOf,
    ),
    ...fitting(await neighbours.callers(), ROOM.callers, sizeOf),
    ...fitting(await neighbours.helpers(), ROOM.helpers, sizeOf),
  ];
  return pieces.map(({ heading, text }) => `--- ${heading}\n${text}`).join('\n\n');
}

/** A piece of a file: its heading and its text. */
interface Piece {
  readonly heading: string;
  readonly text: string;
}

function sizeOf({ heading, text }: Piece): number {
  return heading.length + text.length;
}

/** The pieces that fit into `room`, taken greedily in order. */
export function fitting<T>(pieces: readonly T[], room: number, size: (piece: T) => number): readonly T[] {
  let left = room;
  return pieces.filter((piece) => {
    if (size(piece) > left) return false;
    left -= size(piece);
    return true;
  });
}

/** A line at base that a search found; counted from 0. */
interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

/** For each name on stdin: `#`, then the lines that contain it as a word. */
const USES = `while IFS= read -r name; do printf '#\\n'; g grep -n -I -w -F -e "$name" -- "$@" | cut -c1-400 | head -n 400; done`;
/** Every line that matches the pattern in the first argument. */
export const MATCHES = `pattern=$1; shift; g grep -n -I -E -e "$pattern" -- "$@" | cut -c1-400 | head -n 2000`;

/** @param names of word characters only; joined into one pattern, since git tries several patterns one after the other */
export function definitionOf(names: readonly string[]): string {
  const keywords = 'def|class|function|func|fn|struct|interface|trait|enum';
  return `(^|[[:space:]])(${keywords})[[:space:]]+([(][^)]*[)][[:space:]]*)?(${names.join('|')})([^[:alnum:]_]|$)`;
}

/** Code elsewhere in the repository that relates to the changed code. */
class Neighbours {
  private readonly shown: ReadonlySet<string>;
  private readonly homes: readonly string[];
  private readonly globs: readonly string[];

  constructor(
    private readonly base: SourceOfBase,
    private readonly changes: readonly ChangedCode[],
    private readonly signal: AbortSignal,
  ) {
    this.homes = changes.map(({ path }) => path);
    this.shown = new Set(changes.flatMap(({ path, lines }) => [...lines].map((line) => `${path}:${line}`)));
    this.globs = [...new Set(this.homes.flatMap(globsOf))];
  }

  /** Lines that name what the patch changes or defines, with context. */
  async callers(): Promise<readonly Piece[]> {
    const all = this.changes.flatMap(({ names, added }) => [...names, ...added]);
    const names = [...new Set(all)].slice(0, MOST_NAMES);
    if (names.length === 0 || this.globs.length === 0) return [];
    const found = (await this.base.ask(USES, { args: this.globs, lines: names }, this.signal)) ?? '';
    const groups = found.split(/^#\n/m).slice(1);
    const chosen = names.flatMap((name, index) =>
      this.usesOf(name, hitsIn(groups[index] ?? '')).map((hit) => ({ heading: `${hit.path} (uses ${name})`, hit })),
    );
    const pieces = chosen
      .slice(0, MOST_CALLERS)
      .map(async ({ heading, hit }) => ({ heading, text: await this.around(hit) }));
    return Promise.all(pieces);
  }

  private usesOf(name: string, hits: readonly Hit[]): readonly Hit[] {
    const using = this.nearest(hits).filter(
      ({ path, line, text }) =>
        (hits.length <= OFTEN || this.homes.includes(path)) && !this.shown.has(`${path}:${line}`) && uses(text, name),
    );
    return apart(using).slice(0, CALLERS_OF_ONE);
  }

  private async around({ path, line }: Hit): Promise<string> {
    const lines = await this.linesOf(path);
    const holder = innermost(definitionsOf(lines, path), line) ?? { start: 0, end: lines.length, header: 0 };
    const from = Math.max(holder.start, line - AROUND);
    const to = Math.min(holder.end, line + AROUND + 1);
    const head = holder.header < from && holder.start > 0 ? [lines[holder.header], '…'] : [];
    return [`[lines ${from + 1}-${to}]`, ...head, ...lines.slice(from, to)].join('\n');
  }

  /**
   * Definitions that the changed code calls, and other definitions with a name that the patch defines: siblings and overridden
   * ones.
   */
  async helpers(): Promise<readonly Piece[]> {
    const called = calledIn(this.changes.map(({ code }) => code).join('\n'));
    const meant = await this.classesBehind(called);
    const names = [...new Set([...this.changes.flatMap(({ added }) => added), ...meant, ...called])];
    const asked = names.filter((name) => /^\w+$/.test(name)).slice(0, 4 * MOST_HELPERS);
    if (asked.length === 0 || this.globs.length === 0) return [];
    const args = [definitionOf(asked), ...this.globs];
    const found = hitsIn((await this.base.ask(MATCHES, { args }, this.signal)) ?? '');
    const shipped = found.filter(({ path }) => !TEST_PATH.test(path));
    // Two names may share a line.
    const chosen = [...new Set(asked.flatMap((name) => this.definitionAmong(shipped, name)))];
    const pieces = this.nearest(chosen)
      .slice(0, MOST_HELPERS)
      .map((hit) => this.definitionAt(hit));
    return (await Promise.all(pieces)).flat();
  }

  /** Classes assigned to a called name in the changed files, as in `error_class=ErrorList`. */
  private async classesBehind(called: readonly string[]): Promise<readonly string[]> {
    const texts = await Promise.all([...new Set(this.homes)].map((path) => this.linesOf(path)));
    const given = [
      ...texts
        .flat()
        .join('\n')
        .matchAll(/\b(\w+)\s*=\s*([A-Z]\w*)\b(?!\s*[(.])/g),
    ];
    return given.flatMap(([, name = '', meant = '']) => (called.includes(name) && /[a-z]/.test(meant) ? [meant] : []));
  }

  private definitionAmong(hits: readonly Hit[], name: string): readonly Hit[] {
    const named = this.nearest(hits.filter(({ text }) => new RegExp(`\\b${name}\\b`).test(text)));
    const [first] = named;
    if (first === undefined || this.shown.has(`${first.path}:${first.line}`)) return [];
    return named.length <= FEW || this.homes.includes(first.path) ? [first] : [];
  }

  private async definitionAt({ path, line }: Hit): Promise<readonly Piece[]> {
    const lines = await this.linesOf(path);
    const definition = definitionsOf(lines, path).find(({ header }) => header === line);
    if (definition === undefined) return [];
    const whole = withoutLongTexts(lines.slice(definition.start, definition.end));
    const cut = whole.length > HELPER_LINES ? [...whole.slice(0, HELPER_LINES), '…'] : whole;
    const text = [`[line ${definition.start + 1}]`, ...cut].join('\n');
    return [{ heading: `${path} (definition)`, text }];
  }

  private async linesOf(path: string): Promise<readonly string[]> {
    return ((await this.base.text(path, this.signal)) ?? '').split('\n');
  }

  /** Sorted by distance from the changed files; tests last. */
  private nearest(hits: readonly Hit[]): readonly Hit[] {
    const far = new Map<string, number>();
    for (const { path } of hits) if (!far.has(path)) far.set(path, distance(path, this.homes));
    const of = ({ path }: Hit): number => far.get(path) ?? 0;
    return hits.toSorted((a, b) => of(a) - of(b) || (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
  }
}

export function hitsIn(output: string): readonly Hit[] {
  return output.split('\n').flatMap((row) => {
    const [, path, line, text] = /^([^:]+):(\d+):(.*)$/.exec(row) ?? [];
    return path === undefined || text === undefined ? [] : [{ path, line: Number(line) - 1, text }];
  });
}

/** Drops hits whose context overlaps that of an earlier one. */
function apart(hits: readonly Hit[]): readonly Hit[] {
  return hits.filter(
    ({ path, line }, index) =>
      !hits.slice(0, index).some((other) => other.path === path && Math.abs(other.line - line) <= 2 * AROUND),
  );
}

/** Imports, exports, lists of them, comments and definitions name something without using it. */
function uses(text: string, name: string): boolean {
  const trimmed = text.trim();
  if (/^(#|\/\/|\*|__all__\b|from\s|import\s|export\s*\{)|^[\w\s,]+,$/.test(trimmed)) return false;
  return !new RegExp(`\\b(?:def|class|function|func|fn)\\s+${name.replaceAll('$', '\\$')}\\b`).test(text);
}

export const TEST_PATH =
  /(^|\/)(tests?|testing|__tests__|spec)\/|(^|\/)(test_|conftest)|_test\.\w+$|\.(test|spec)\.\w+$/;

function distance(path: string, homes: readonly string[]): number {
  const steps = homes.map((home) => {
    if (home === path) return 0;
    const [a, b] = [home.split('/'), path.split('/')];
    let common = 0;
    while (common < a.length - 1 && a[common] === b[common]) common += 1;
    return a.length - common;
  });
  return Math.min(...steps) + (TEST_PATH.test(path) ? 20 : 0);
}

const FAMILIES = [
  ['.py', '.pyi', '.pyx'],
  ['.js', '.mjs', '.cjs', '.jsx', '.ts', '.tsx', '.vue'],
  ['.c', '.h', '.cc', '.cpp', '.hpp'],
];

/** Git globs for files of the same language. */
function globsOf(path: string): readonly string[] {
  const extension = /\.\w+$/.exec(path)?.[0];
  if (extension === undefined) return [];
  return (FAMILIES.find((family) => family.includes(extension)) ?? [extension]).map((each) => `*${each}`);
}

/** Cuts triple-quoted strings to their first line, since the rest is not code. */
export function withoutLongTexts(lines: readonly string[]): readonly string[] {
  const inside = linesInsideQuotes(lines);
  return lines.flatMap((line, index) => {
    if (!inside.has(index)) return [line];
    return inside.has(index - 1) ? [] : ['…'];
  });
}
