import { contentKey, sha256 } from '../../../src/core/identifier.js';
import { type SandboxSession, WALL } from '../../../src/ports/sandbox.js';
import { inInstanceEnvironment } from '../drivers/test-dialect.js';
import { PYTHON_REACH, PYTHON_TEST_PROBE } from '../drivers/existing-tests-probe.js';
import { contextKey, type ExecutionContext, scratchDirectory } from '../execution-context.js';
import type { TreeSessions } from '../tree/tree-sessions.js';
import { changedFunctions, Mapped, mapped, type Noted } from './reach-notes.js';
import { type CommandedEnvironment, probedRequest, probeFiles, recordOf } from './run-regression.js';

/*
 * Which functions of the changed source files each existing test reaches: test files run once on base, with a tracer
 * only in the changed files. Results are stored per image and test file, so that later issues can reuse them.
 */

/** Shares of the budget: the limit per traced test file, and the least that is worth another run. */
const FILE_SHARE = 0.5;
const LEAST_SHARE = 0.2;
const NEAREST = 10;
/** Shares of the budget for test files without a test that reaches a change: per file, and in total. */
const NEAR = { each: 1 / 8, all: 1 / 4 };
/** Factor for these once some test has reached a change, since farther files are then worth less. */
const HURRY = 1 / 5;
/** Shares of a file's `patience`: after which it counts as slow, and what each of its classes then gets. */
const SLOW = { after: 1 / 5, each: 1 / 60 };
/** As NEAR, for farther files; in total they may take as long as the reaching files did, up to `NEAR.all`. */
const FAR = { each: 1 / 40, all: 1 / 24 };
/** Limit of commands started; if one records nothing, each half of its files is run separately. */
const MOST_RUNS = 12;
const STARTING_S = 120;
const LARGEST_RECORD = 32 * 1024 * 1024;

/** The context of an issue with a known command. */
export type CommandedContext = ExecutionContext & { readonly issue: { readonly environment: CommandedEnvironment } };

/** The test files to trace, the changes to look for, and the sessions. */
export interface Look {
  /** Nearest first. */
  readonly tests: readonly string[];
  /** Changed lines by source file. */
  readonly changed: ReadonlyMap<string, readonly number[]>;
  /** On base. */
  readonly sessions: TreeSessions;
}

/**
 * What the test files reach in each source, in order of the sources' names; files whose tests were not recorded in time
 * are omitted.
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function reachOf(
  context: CommandedContext,
  { tests, changed, sessions }: Look,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly Mapped[]>> {
  const sources = sourcesOf(changed);
  const map = new ReachMap(context, sources);
  const missing = await map.missingOf(tests);
  const search = new Search(context, tests, changed);
  // The nearest files get a separate run, since a runner may start with the farthest.
  const waiting = [missing.filter(search.isNear), missing.filter((test) => !search.isNear(test))];
  for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) {
    if (files.length === 0 || search.isOver) continue;
    const run = { plan: search.planFor(files), tests: files };
    const noted = await sessions.use((session) => recorded(session, context, run, signal));
    if (noted === null) break;
    const maps = mapped(noted, run.tests, sources);
    // One file can stop the runner for all, e.g. if it needs a missing database, or by an error in its conftest.py.
    if (maps.size === 0 && files.length > 1) waiting.unshift(...halves(files));
    await map.take(maps);
    search.take(maps);
  }
  if (search.runs > 0) await sessions.giveBytecode();
  return map.known;
}

/** Tracks the remaining budget, in CPU seconds. */
class Search {
  runs = 0;
  /** Seconds taken by files with a test that reaches a change. */
  private found = 0;
  private left: number;
  private readonly nearest: ReadonlySet<string>;

  constructor(
    private readonly context: CommandedContext,
    tests: readonly string[],
    private readonly changed: Look['changed'],
  ) {
    this.left = context.regressionS;
    this.nearest = new Set(tests.slice(0, NEAREST));
  }

  get isOver(): boolean {
    return this.left < this.context.regressionS * LEAST_SHARE || this.runs === MOST_RUNS;
  }

  readonly isNear = (test: string): boolean => this.nearest.has(test);

  planFor(tests: readonly string[]): ReachPlan {
    const { regressionS, issue } = this.context;
    const isNear = tests.some(this.isNear);
    const unreached = isNear ? NEAR : FAR;
    const files = sourcesOf(this.changed);
    return {
      root: issue.environment.workdir,
      files,
      changed: files.map((path) => this.changed.get(path) ?? []),
      seconds: this.left,
      most: regressionS * FILE_SHARE,
      patience: regressionS * unreached.each,
      hurry: isNear ? HURRY : 1,
      slow: regressionS * unreached.each * SLOW.after,
      each: regressionS * unreached.each * SLOW.each,
      lost: Math.max(regressionS * unreached.all, isNear ? 0 : Math.min(this.found, regressionS * NEAR.all)),
    };
  }

  take(found: ReadonlyMap<string, readonly Mapped[]>): void {
    this.runs += 1;
    for (const maps of found.values()) {
      const seconds = secondsOf(maps);
      this.left -= seconds;
      if (reachingTests(maps, this.changed).size > 0) this.found += seconds;
    }
  }
}

function sourcesOf(changed: Look['changed']): readonly string[] {
  return [...changed.keys()].sort();
}

function halves(all: readonly string[]): string[][] {
  const middle = Math.ceil(all.length / 2);
  return [all.slice(0, middle), all.slice(middle)];
}

function secondsOf([first]: readonly Mapped[]): number {
  return (first?.tests ?? []).reduce((sum, { seconds }) => sum + seconds, 0);
}

/** The tests of a file that reach a changed function. @param maps in order of the sources' names */
export function reachingTests(maps: readonly Mapped[], changed: Look['changed']): ReadonlySet<string> {
  const sources = sourcesOf(changed);
  const ids = maps.flatMap(({ tests, functions }, index) => {
    const wanted = changedFunctions(functions, changed.get(sources[index] ?? '') ?? []);
    return tests.filter(({ reached }) => reached.some((each) => wanted.has(each))).map(({ id }) => id);
  });
  return new Set(ids);
}

class ReachMap {
  /** By test file, then by source in their order. */
  readonly known = new Map<string, readonly Mapped[]>();
  private readonly keyOf: (test: string, source: string) => string;

  constructor(
    private readonly context: CommandedContext,
    private readonly sources: readonly string[],
  ) {
    const { regression_command: command } = context.issue.environment;
    const shared = { kind: 'reach', ...contextKey(context), command, probe: sha256(PYTHON_REACH + PYTHON_TEST_PROBE) };
    this.keyOf = (test, source) => contentKey({ ...shared, test, source });
  }

  /** Loads stored results. @returns the test files without any */
  async missingOf(tests: readonly string[]): Promise<readonly string[]> {
    const keys = tests.flatMap((test) => this.sources.map((source) => this.keyOf(test, source)));
    const stored = await this.context.results.getAll(keys);
    for (const test of tests) {
      const maps = this.sources.flatMap((source) => Mapped.safeParse(stored.get(this.keyOf(test, source))).data ?? []);
      if (maps.length === this.sources.length) this.known.set(test, maps);
    }
    return tests.filter((test) => !this.known.has(test));
  }

  async take(found: ReadonlyMap<string, readonly Mapped[]>): Promise<void> {
    for (const [test, maps] of found) {
      this.known.set(test, maps);
      for (const [index, map] of maps.entries()) {
        // A file cut short is not stored, since a larger budget may complete it.
        if (map.whole) await this.context.results.put(this.keyOf(test, this.sources[index] ?? ''), 'reach', map);
      }
    }
  }
}

/** The tracer's plan; times are in CPU seconds. */
interface ReachPlan {
  readonly root: string;
  readonly files: readonly string[];
  /** Changed lines of each file. */
  readonly changed: readonly (readonly number[])[];
  /** Limit for all tests; `most`: per test file. */
  readonly seconds: number;
  readonly most: number;
  /** Limit per test file while none of its tests has reached a changed function; `lost`: for all such files. */
  readonly patience: number;
  readonly lost: number;
  /** Factor for both once a test of any file has reached one. */
  readonly hurry: number;
  /** After this time in such a file its test classes are tried in turn; `each`: limit per class. */
  readonly slow: number;
  readonly each: number;
}

/** Runs test files on base with the tracer; null if nothing was recorded in time. */
async function recorded(
  session: SandboxSession,
  context: CommandedContext,
  { plan, tests }: { readonly plan: ReachPlan; readonly tests: readonly string[] },
  signal: AbortSignal,
): Promise<Noted | null> {
  const { nonce, regressionS, issue } = context;
  const [directory, key] = [scratchDirectory(nonce), nonce()];
  const { environment } = issue;
  await session.writeFiles(
    [
      ...probeFiles(directory),
      { path: `${directory}/bestk_reach.py`, content: PYTHON_REACH },
      { path: `${directory}/plan.json`, content: JSON.stringify(plan) },
    ],
    signal,
  );
  const { env, ...request } = probedRequest({ ...environment, regression_files: [...tests] }, { directory, key });
  const traced = { ...env, PYTEST_PLUGINS: 'bestk_probe,bestk_reach', BESTK_REACH: `${directory}/plan.json` };
  const deadlineS = WALL * regressionS + STARTING_S;
  // What was recorded in time counts, since nothing here judges a patch.
  const limits = { deadlineS, survivesTimeout: true };
  const ended = await session.exec(inInstanceEnvironment({ ...request, env: traced, ...limits }), signal);
  const isThere = ended.kind === 'exited' || (ended.kind === 'timed-out' && ended.survived);
  if (!isThere) return null;
  const bytes = await session.readFile(recordOf(directory), LARGEST_RECORD, signal);
  const isWhole = ended.kind === 'exited';
  return bytes === null ? null : { key, isWhole, lines: new TextDecoder().decode(bytes).split('\n') };
}
