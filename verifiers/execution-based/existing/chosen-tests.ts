import type { DistinctPatch } from '../execution-context.js';
import type { TreeSessions } from '../tree/tree-sessions.js';
import { changedLines, type Mapped } from './reach-notes.js';
import { type CommandedContext, reachingTests, reachOf } from './reach-map.js';

/** Maximum of files chosen by name only, when it is unknown what they execute. */
const MOST_BY_NAME = 10;
/** For Python files whose durations are unknown as well: few, since a single one could use up the budget. */
const MOST_UNSEEN = 4;
/** Share of the budget for tests that reach no changed function. */
const REST_SHARE = 0.1;
const MOST_REST = 3;
const MOST_SINGLE_TESTS = 400;
/** The nearest files that reach a change keep all tests that fit; each farther one gets this share of the budget. */
const NEAREST = 5;
const FAR_SHARE = 1 / 20;

export interface ChosenTests {
  /** Test files, or single tests of a file that is too large, nearest first. */
  readonly files: readonly string[];
  /** How many tests in them reach a function that a patch changes; null if unknown. */
  readonly reaching: number | null;
  /** Duration of one run of them on base; null if unknown. */
  readonly seconds: number | null;
}

/**
 * The test files, or single tests, to verify patches with: those that reach a function that a patch changes, nearest
 * first, then a few others, as many as fit the budget by their duration on base. If it is unknown what tests reach
 * (other languages than Python, an unsupported runner), the nearest by name.
 * @param nearest test files, nearest first
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
  /** Tests that pass and reach a changed function. */
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
  // If no test reaches a change, the nearest files get the whole budget.
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

  /** Adds the whole file; if it takes more than `most` seconds, only its tests that reach a change. */
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

  /** Adds whole files, at most `places` of them, within `seconds`. */
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
