import { contentKey, sha256 } from '../../../src/core/identifier.js';
import type { SandboxSession } from '../../../src/ports/sandbox.js';
import { inInstanceEnvironment } from '../drivers/test-dialect.js';
import { PYTHON_REACH, PYTHON_TEST_PROBE } from '../drivers/python-test-probe.js';
import { contextKey, type ExecutionContext, scratchDirectory } from '../execution-context.js';
import type { TreeSessions } from '../tree/tree-sessions.js';
import { changedFunctions, Mapped, mapped, type Noted } from './reach-notes.js';
import { type CommandedEnvironment, probedRequest, probeFiles, recordOf } from './run-regression.js';

/*
 * Which functions of some source files each existing test reaches: files of tests are run once on base, with a tracer in the
 * changed files alone. What is found of a file of tests is stored by the image, so that the next issue on it starts with that.
 */

/** Parts of the budget: what one file of tests may take while it is looked at, and with how much it is worth to begin. */
const FILE_SHARE = 0.5;
const LEAST_SHARE = 0.2;
const NEAREST = 10;
/** Parts of the budget that may be spent on files of tests without one that reaches: on each, and on all together. */
const NEAR = { each: 1 / 8, all: 1 / 4 };
/** How much of these is left once some test reached: the farther ones are then worth less. */
const HURRY = 1 / 5;
/** Of the patience with one file: when it is slow, and what each of its classes may then take. */
const SLOW = { after: 1 / 5, each: 1 / 60 };
/** The others may take as long as the nearest that reach did; this where they were faster. */
const FAR = { each: 1 / 40, all: 1 / 24 };
/** Commands that are started: where one notes nothing, each half of its files has one of its own. */
const MOST_RUNS = 12;
/** Wall time for each second of the CPU: others compute, too, and some tests wait. */
const WALL = 4;
const STARTING_S = 120;
const LARGEST_RECORD = 32 * 1024 * 1024;

/** An issue whose command is known. */
export type CommandedContext = ExecutionContext & { readonly issue: { readonly environment: CommandedEnvironment } };

/** Which files of tests are looked at, for what, and where. */
export interface Look {
  /** The nearest first. */
  readonly tests: readonly string[];
  /** Lines by source file. */
  readonly changed: ReadonlyMap<string, readonly number[]>;
  /** On base. */
  readonly sessions: TreeSessions;
}

/**
 * What the files of tests reach of each source, in the order of the sources' names; nothing of a file whose tests were not
 * noted in time.
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
  // A runner may begin with the farthest: the nearest have a run of their own.
  const waiting = [missing.filter(search.isNear), missing.filter((test) => !search.isNear(test))];
  for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) {
    if (files.length === 0 || search.isOver) continue;
    const run = { plan: search.planFor(files), tests: files };
    const noted = await sessions.use((session) => recorded(session, context, run, signal));
    if (noted === null) break;
    const maps = mapped(noted, run.tests, sources);
    // One file may keep the runner from all: without a database that it wants, or by an error in its conftest.py.
    if (maps.size === 0 && files.length > 1) waiting.unshift(...halves(files));
    await map.take(maps);
    search.take(maps);
  }
  if (search.runs > 0) await sessions.giveBytecode();
  return map.known;
}

/** What time there is, in seconds of the CPU. */
class Search {
  runs = 0;
  /** What files took of which a test reaches. */
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

/** The tests of a file that reach a function that changes. @param maps in the order of the sources' names */
export function reachingTests(maps: readonly Mapped[], changed: Look['changed']): ReadonlySet<string> {
  const sources = sourcesOf(changed);
  const ids = maps.flatMap(({ tests, functions }, index) => {
    const wanted = changedFunctions(functions, changed.get(sources[index] ?? '') ?? []);
    return tests.filter(({ reached }) => reached.some((each) => wanted.has(each))).map(({ id }) => id);
  });
  return new Set(ids);
}

class ReachMap {
  /** By file of tests, and by source in their order. */
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

  /** Takes what is stored. @returns the files of which nothing is */
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
        // With more time the rest of a file may be looked at.
        if (map.whole) await this.context.results.put(this.keyOf(test, this.sources[index] ?? ''), 'reach', map);
      }
    }
  }
}

/** As the tracer is told; in seconds of the CPU. */
interface ReachPlan {
  readonly root: string;
  readonly files: readonly string[];
  /** Lines of each of the files. */
  readonly changed: readonly (readonly number[])[];
  /** Of all tests, and of one file of tests. */
  readonly seconds: number;
  readonly most: number;
  /** Of one file of tests while none of its tests has reached a function of a changed line; of all such files together. */
  readonly patience: number;
  readonly lost: number;
  /** Part of both once a test of any file has. */
  readonly hurry: number;
  /** What a file without one may take before its classes are tried one after the other, and each of these. */
  readonly slow: number;
  readonly each: number;
}

/** Runs files of tests on base with the tracer; null when nothing was noted in time. */
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
  // What was noted by then counts: nothing here speaks of a patch.
  const limits = { deadlineS, survivesTimeout: true };
  const ended = await session.exec(inInstanceEnvironment({ ...request, env: traced, ...limits }), signal);
  const isThere = ended.kind === 'exited' || (ended.kind === 'timed-out' && ended.survived);
  if (!isThere) return null;
  const bytes = await session.readFile(recordOf(directory), LARGEST_RECORD, signal);
  const isWhole = ended.kind === 'exited';
  return bytes === null ? null : { key, isWhole, lines: new TextDecoder().decode(bytes).split('\n') };
}
