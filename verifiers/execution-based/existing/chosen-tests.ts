import type { DistinctPatch } from '../execution-context.js';
import type { TreeSessions } from '../tree/tree-sessions.js';
import { changedLines, type Mapped } from './reach-notes.js';
import { type CommandedContext, reachingTests, reachOf } from './reach-map.js';

/** Files that are taken by their names alone, where nothing tells what they execute. */
const MOST_BY_NAME = 10;
/** Of Python, where what they take is not known either: a few, lest one of them takes all the time there is. */
const MOST_UNSEEN = 4;
/** Part of the budget for tests that reach nothing of what changes. */
const REST_SHARE = 0.1;
const MOST_REST = 3;
const MOST_SINGLE_TESTS = 400;
/** Of the nearest that reach all tests are kept that fit; of each of the others as many as take this part of the budget. */
const NEAREST = 5;
const FAR_SHARE = 1 / 20;

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
 * @param sessions on base
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function chosenTests(
  context: CommandedContext,
  nearest: readonly string[],
  {
    patches,
    sessions,
  }: { readonly patches: readonly Pick<DistinctPatch, 'source'>[]; readonly sessions: TreeSessions },
  signal: AbortSignal,
): Promise<ChosenTests> {
  const byName = { files: nearest.slice(0, MOST_BY_NAME), reaching: null, seconds: null };
  const changed = changedLines(patches);
  const tests = nearest.filter((path) => path.endsWith('.py'));
  if (tests.length === 0 || changed.size === 0) return byName;
  const known = await reachOf(context, { tests, changed, sessions }, signal);
  const looked = tests.flatMap((path) => {
    const maps = known.get(path);
    return maps === undefined || maps[0]?.tests.length === 0 ? [] : [lookedAt(path, maps, changed)];
  });
  if (looked.length === 0) return { ...byName, files: nearest.slice(0, MOST_UNSEEN) };
  return withinBudget(looked, context.regressionS);
}

interface LookedAt {
  readonly path: string;
  readonly whole: boolean;
  readonly seconds: number;
  /** Those that pass, and reach a changed function. */
  readonly reaching: readonly { readonly id: string; readonly seconds: number }[];
  readonly passing: number;
}

function lookedAt(path: string, maps: readonly Mapped[], changed: ReadonlyMap<string, readonly number[]>): LookedAt {
  const [first = { tests: [], whole: false }] = maps;
  const reachingIds = reachingTests(maps, changed);
  const passing = first.tests.filter(({ passed }) => passed);
  return {
    path,
    whole: first.whole,
    seconds: first.tests.reduce((sum, { seconds }) => sum + seconds, 0),
    reaching: passing.filter(({ id }) => reachingIds.has(id)).map(({ id, seconds }) => ({ id, seconds })),
    passing: passing.length,
  };
}

function withinBudget(looked: readonly LookedAt[], budgetS: number): ChosenTests {
  const chosen = new Chosen(budgetS);
  const reaching = looked.filter(({ reaching: own }) => own.length > 0);
  for (const [index, file] of reaching.entries()) {
    chosen.addReaching(file, index < NEAREST ? budgetS : budgetS * FAR_SHARE);
  }
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

  /** The whole file; of one that takes more than so many seconds the tests that matter. */
  addReaching({ path, whole, seconds, reaching }: LookedAt, most: number): void {
    if (whole && seconds <= Math.min(this.left, most)) {
      this.add(path, seconds);
      this.reaching += reaching.length;
      return;
    }
    const least = Math.max(0, this.left - most);
    for (const test of reaching) {
      if (this.left - test.seconds < least || this.single >= MOST_SINGLE_TESTS) continue;
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
