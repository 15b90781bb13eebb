import { readPatch } from '../../../src/core/patch/patch.js';
import type { DistinctPatch } from '../tree/distinct.js';
import { type CommandedContext, type Mapped, reachOf } from './reach-map.js';

/** Files that are taken by their names alone, where nothing tells what they execute. */
const MOST_BY_NAME = 10;
/** Of Python, where what they take is not known either: a few, lest one of them takes all the time there is. */
const MOST_UNSEEN = 4;
/** Part of the budget for tests that reach nothing of what changes. */
const REST_SHARE = 0.1;
const MOST_REST = 3;
const MOST_SINGLE_TESTS = 400;

export interface ChosenTests {
  /** Files, or single tests of a file that is too large, nearest first. */
  readonly files: readonly string[];
  /** How many of these reach a function that a patch changes; null when nothing tells. */
  readonly reaching: number | null;
  /** Of one run of them on base; null when nothing tells. */
  readonly seconds: number | null;
}

/**
 * The files of tests to hold patches to, or single tests of them: those that reach a function that a patch changes, nearest
 * first, then a few of the others, as many as fit the budget by their time on base. Where nothing tells what tests reach
 * (other languages than Python, a runner of its own), the nearest by name.
 * @param nearest files of tests, nearest first
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function chosenTests(
  context: CommandedContext,
  nearest: readonly string[],
  patches: readonly Pick<DistinctPatch, 'source'>[],
  signal: AbortSignal,
): Promise<ChosenTests> {
  const byName = { files: nearest.slice(0, MOST_BY_NAME), reaching: null, seconds: null };
  const changed = changedLines(patches);
  const sources = [...changed.keys()].sort();
  const tests = nearest.filter((path) => path.endsWith('.py'));
  if (tests.length === 0 || sources.length === 0) return byName;
  const known = await reachOf(context, tests, sources, signal);
  const looked = tests.flatMap((path) => {
    const maps = known.get(path);
    return maps === undefined || maps[0]?.tests.length === 0 ? [] : [lookedAt(path, maps, sources, changed)];
  });
  if (looked.length === 0) return { ...byName, files: nearest.slice(0, MOST_UNSEEN) };
  return withinBudget(looked, context.regressionS);
}

/** Lines at base that patches change, by file, in order; of what they add, those around it. */
function changedLines(patches: readonly Pick<DistinctPatch, 'source'>[]): ReadonlyMap<string, readonly number[]> {
  const changed = new Map<string, Set<number>>();
  for (const { source } of patches) {
    const patch = readPatch(source);
    for (const { path, parsed } of patch.kind === 'ok' ? patch.files : []) {
      if (!path.endsWith('.py')) continue;
      const lines = changed.get(path) ?? new Set<number>();
      changed.set(path, lines);
      for (const hunk of parsed.hunks) for (const line of linesOf(hunk)) lines.add(line);
    }
  }
  return new Map([...changed].map(([path, lines]) => [path, [...lines].sort((a, b) => a - b)]));
}

function linesOf({ oldStart, lines }: { readonly oldStart: number; readonly lines: readonly string[] }): number[] {
  const found: number[] = [];
  let line = oldStart;
  for (const text of lines) {
    if (text.startsWith('-')) found.push(line);
    if (text.startsWith('+')) found.push(line, line - 1);
    if (/^[- ]/.test(text)) line += 1;
  }
  return found;
}

interface LookedAt {
  readonly path: string;
  readonly whole: boolean;
  readonly seconds: number;
  /** Those that pass, and reach a changed function. */
  readonly reaching: readonly { readonly id: string; readonly seconds: number }[];
  readonly passing: number;
}

function lookedAt(
  path: string,
  maps: readonly Mapped[],
  sources: readonly string[],
  changed: ReadonlyMap<string, readonly number[]>,
): LookedAt {
  const [first = { tests: [], whole: false }] = maps;
  const reachingIds = new Set(
    maps.flatMap(({ tests, functions }, index) => {
      const wanted = changedFunctions(functions, changed.get(sources[index] ?? '') ?? []);
      return tests.filter(({ reached }) => reached.some((each) => wanted.has(each))).map(({ id }) => id);
    }),
  );
  const passing = first.tests.filter(({ passed }) => passed);
  return {
    path,
    whole: first.whole,
    seconds: first.tests.reduce((sum, { seconds }) => sum + seconds, 0),
    reaching: passing.filter(({ id }) => reachingIds.has(id)).map(({ id, seconds }) => ({ id, seconds })),
    passing: passing.length,
  };
}

/** The innermost functions of the lines; every function where none has any (they are the module's, or a class's). */
function changedFunctions(functions: Mapped['functions'], lines: readonly number[]): ReadonlySet<number> {
  const begin = (index: number): number => functions[index]?.[1] ?? 0;
  const hasEnded = (index: number, line: number): boolean => (functions[index]?.[2] ?? 0) < line;
  // Of functions inside each other, the inner one begins later, and ends first.
  const waiting = [...functions.keys()].sort((a, b) => begin(a) - begin(b)).values();
  const around: number[] = [];
  const found = new Set<number>();
  let next = waiting.next();
  for (const line of lines) {
    for (; next.done !== true && begin(next.value) <= line; next = waiting.next()) around.push(next.value);
    let innermost = around.at(-1);
    while (innermost !== undefined && hasEnded(innermost, line)) {
      around.pop();
      innermost = around.at(-1);
    }
    if (innermost !== undefined) found.add(innermost);
  }
  return found.size > 0 ? found : new Set(functions.keys());
}

function withinBudget(looked: readonly LookedAt[], budgetS: number): ChosenTests {
  const chosen = new Chosen(budgetS);
  const reaching = looked.filter(({ reaching: own }) => own.length > 0);
  for (const file of reaching) chosen.addReaching(file);
  // Where nothing reaches, the nearest stand for it.
  const [seconds, places] = chosen.files.length === 0 ? [budgetS, MOST_BY_NAME] : [budgetS * REST_SHARE, MOST_REST];
  chosen.addRest(
    looked.filter((file) => !reaching.includes(file)),
    seconds,
    places,
  );
  return { files: chosen.files, reaching: chosen.reaching, seconds: budgetS - chosen.left };
}

class Chosen {
  readonly files: string[] = [];
  reaching = 0;
  private single = 0;

  constructor(public left: number) {}

  /** The whole file; of one that is too large the tests that matter. */
  addReaching({ path, whole, seconds, reaching }: LookedAt): void {
    if (whole && seconds <= this.left) {
      this.add(path, seconds);
      this.reaching += reaching.length;
      return;
    }
    for (const test of reaching) {
      if (test.seconds > this.left || this.single >= MOST_SINGLE_TESTS) continue;
      this.add(test.id, test.seconds);
      this.single += 1;
      this.reaching += 1;
    }
  }

  /** As many whole files as there are places, in so many seconds. */
  addRest(files: readonly LookedAt[], seconds: number, places: number): void {
    const most = this.files.length + places;
    const least = this.left - seconds;
    for (const { path, whole, seconds: own, passing } of files) {
      if (this.files.length >= most) return;
      if (whole && passing > 0 && this.left - own >= Math.max(0, least)) this.add(path, own);
    }
  }

  private add(file: string, seconds: number): void {
    this.files.push(file);
    this.left -= seconds;
  }
}
