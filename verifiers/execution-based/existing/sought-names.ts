import { type PatchFile, readPatch } from '../../../src/core/patch/patch.js';
import { changedCode, type SourceOfBase } from '../../source/changed-code.js';
import { definitionsOf, innermost } from '../../source/definitions.js';
import type { DistinctPatch } from '../execution-context.js';

const MOST_SOURCES = 40;
const MOST_NAMES = 12;
/** Kept for every patch, whatever the others change. */
const KEPT_EACH = 3;
const SHORTEST_NAME = 4;
const MOST_CALLERS = 24;
/** Files per name in which callers are looked up. */
const MOST_CALLING = 8;
/** A name in more files than this is too common to look up its callers. */
const OFTEN = 40;

/** Paths or names, each with the share of the patches' changes that it represents. */
export type Shares = ReadonlyMap<string, number>;

/** Search terms for test files. */
export interface Sought {
  /** Paths at base that the patches change. */
  readonly files: Shares;
  /** Classes and functions that change. */
  readonly names: Shares;
  /** Classes and functions that mention those; tests call them if the changed code is internal. */
  readonly callers: Shares;
}

/** What the patches change in the repository, and what calls that. @throws what the repository throws */
export async function soughtOf(
  base: SourceOfBase,
  patches: readonly Pick<DistinctPatch, 'source'>[],
  signal: AbortSignal,
): Promise<Sought> {
  const [files, names] = [new Map<string, number>(), new Map<string, number>()];
  const kept = new Set<string>();
  for (const { source } of patches) {
    const patch = readPatch(source);
    const own = patch.kind === 'ok' ? ofBase(patch.files) : [];
    // For a renamed file, its name at base.
    const paths = [...new Set(own.map(({ path, paths: [old = path] }) => old))];
    const telling = [...new Set([...(await changedNames(base, source, signal)), ...namedIn(own)])].filter(isTelling);
    share(files, paths, 1 / patches.length);
    share(names, telling, 1 / patches.length);
    for (const path of paths.slice(0, KEPT_EACH)) kept.add(path);
    for (const name of telling.slice(0, KEPT_EACH)) kept.add(name);
  }
  const changed = first(names, MOST_NAMES, kept);
  return { files: first(files, MOST_SOURCES, kept), names: changed, callers: await callersOf(base, changed, signal) };
}

const DEFINITION =
  /\b(?:class|def|func|function|fn|interface|struct|trait|module)\s+(?:\([^)\n]{0,200}\)\s*)?([A-Za-z_]\w*)/g;

/** Names in the patch text that it changes or defines. */
function namedIn(files: readonly PatchFile[]): readonly string[] {
  return files.flatMap(({ text }) => [...text.matchAll(DEFINITION)].map(([, name = '']) => name));
}

/** Names of the definitions around the changed lines at base. */
async function changedNames(base: SourceOfBase, source: string, signal: AbortSignal): Promise<readonly string[]> {
  return (await changedCode(base, source, signal)).flatMap(({ names }) => names);
}

function isTelling(name: string): boolean {
  return name.length >= SHORTEST_NAME && /^\w+$/.test(name) && !name.startsWith('__');
}

/** New files have no tests at base; they are used only if a patch changes no others. */
function ofBase(files: readonly PatchFile[]): readonly PatchFile[] {
  const changed = files.filter(({ parsed: { isCreate, isCopy } }) => isCreate !== true && isCopy !== true);
  return changed.length > 0 ? changed : files;
}

/** Splits a patch's weight among its parts, so that a large patch does not displace what others change. */
function share(shares: Map<string, number>, parts: readonly string[], whole: number): void {
  for (const part of parts) shares.set(part, (shares.get(part) ?? 0) + whole / parts.length);
}

/** The parts with the most weight, plus those in `kept`. */
function first(shares: Shares, most: number, kept: ReadonlySet<string> = new Set()): Shares {
  const sorted = [...shares].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  return new Map(sorted.filter(([name], index) => index < most || kept.has(name)));
}

/** For each name on stdin: `#` and `path:line:` of lines outside tests that contain it. Names are never interpreted. */
const CALLS = String.raw`
while IFS= read -r name; do
  printf '#\n'; g grep -n -I -w -F -e "$name" -- ':!*test*' ':!*Test*' ':!*spec*' | cut -c1-300 | head -n 400
done`;

async function callersOf(base: SourceOfBase, names: Shares, signal: AbortSignal): Promise<Shares> {
  const callers = new Map<string, number>();
  if (names.size === 0) return callers;
  const found = await base.ask(CALLS, { lines: [...names.keys()] }, signal);
  const groups = (found ?? '').split(/^#\n/m).slice(1);
  const hitsOf = (group = ''): readonly (readonly [string, number])[] =>
    group.split('\n').flatMap((row) => {
      const [, path, line] = /^([^:]+):(\d+):/.exec(row) ?? [];
      return path === undefined ? [] : [[path, Number(line) - 1] as const];
    });
  for (const [index, [name, weight]] of [...names].entries()) {
    const lines = new Map<string, number[]>();
    for (const [path, line] of hitsOf(groups[index])) lines.set(path, [...(lines.get(path) ?? []), line]);
    const isTold = lines.size <= OFTEN;
    const calling = isTold ? await Promise.all([...lines].slice(0, MOST_CALLING).map(holders(base, signal))) : [];
    const own = [...new Set(calling.flat())].filter((each) => each !== name && isTelling(each));
    share(callers, own, weight);
  }
  return first(callers, MOST_CALLERS);
}

/** Names of the definitions around lines of a file. */
function holders(base: SourceOfBase, signal: AbortSignal) {
  return async ([path, lines]: readonly [string, readonly number[]]): Promise<readonly string[]> => {
    const definitions = definitionsOf(((await base.text(path, signal)) ?? '').split('\n'), path);
    return lines.flatMap((line) => innermost(definitions, line)?.name ?? []);
  };
}
