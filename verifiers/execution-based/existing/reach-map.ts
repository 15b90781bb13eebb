import { z } from 'zod';
import { contentKey, sha256 } from '../../../src/core/fingerprint.js';
import { asJson } from '../../../src/core/json.js';
import { moduleLabel } from '../../../src/core/shell.js';
import type { SandboxSession } from '../../../src/ports/sandbox.js';
import { inInstanceEnvironment } from '../drivers/environment.js';
import { PYTHON_REACH, PYTHON_TEST_PROBE } from '../drivers/python-test-probe.js';
import { contextKey, type ExecutionContext } from '../execution-context.js';
import { scratchDirectory } from '../tree/bytecode.js';
import type { TreeSessions } from '../tree/tree-sessions.js';
import { changedFunctions } from './changed-functions.js';
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
/** The others may take as long as the nearest that reach did; this where they were faster. */
const FAR = { each: 1 / 40, all: 1 / 24 };
/** Commands that are started: where one notes nothing, each half of its files has one of its own. */
const MOST_RUNS = 12;
/** Wall time for each second of the CPU: others compute, too, and some tests wait. */
const WALL = 4;
const STARTING_S = 120;
const LARGEST_RECORD = 32 * 1024 * 1024;
const MARKS_A_FILE = 100_000;

const Reached = z.object({
  t: z.string(),
  s: z.enum(['passed', 'failed', 'skipped']),
  k: z.string(),
  d: z.number(),
  r: z.array(z.int()),
});
const Functions = z.object({ f: z.string(), k: z.string(), n: z.array(z.tuple([z.string(), z.int(), z.int()])) });
const LeftOut = z.object({ o: z.string(), k: z.string() });
const Note = z.union([Reached, Functions, LeftOut]);

/** One file of tests on base, and what of one source file it executes. */
const Mapped = z.object({
  tests: z.array(
    z.object({
      id: z.string(),
      passed: z.boolean(),
      seconds: z.number(),
      /** Places in `functions`. */
      reached: z.array(z.int()),
    }),
  ),
  /** Name, first and last line at base; empty when the file was not loaded. */
  functions: z.array(z.tuple([z.string(), z.int(), z.int()])),
  /** Whether every test of the file was run. */
  whole: z.boolean(),
});
export type Mapped = z.infer<typeof Mapped>;

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
  const { regressionS } = context;
  const sources = sourcesOf(changed);
  const map = new ReachMap(context, sources);
  const missing = await map.missingOf(tests);
  let [left, runs, found] = [regressionS, 0, 0];
  // A runner may begin with the farthest: the nearest have a run of their own.
  const nearest = tests.slice(0, NEAREST);
  const waiting = [missing.filter((test) => nearest.includes(test)), missing.filter((test) => !nearest.includes(test))];
  for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) {
    if (files.length === 0 || left < regressionS * LEAST_SHARE || runs === MOST_RUNS) continue;
    const isNear = files.some((file) => nearest.includes(file));
    const unreached = isNear ? NEAR : FAR;
    const plan: ReachPlan = {
      ...{
        root: context.issue.environment.workdir,
        files: sources,
        changed: sources.map((path) => changed.get(path) ?? []),
      },
      ...{ seconds: left, most: regressionS * FILE_SHARE, patience: regressionS * unreached.each },
      lost: Math.max(regressionS * unreached.all, isNear ? 0 : Math.min(found, regressionS * NEAR.all)),
    };
    const [noted, own] = [
      await sessions.use((session) => recorded(session, context, { plan, tests: files }, signal)),
      files,
    ];
    if (noted === null) break;
    runs += 1;
    const maps = mapped(noted, own, sources);
    // One file may keep the runner from all: without a database that it wants, or by an error in its conftest.py.
    if (maps.size === 0 && own.length > 1) waiting.unshift(...halves(own));
    left -= await map.take(maps);
    for (const each of maps.values()) found += reachingTests(each, changed).size > 0 ? secondsOf(each) : 0;
  }
  if (runs > 0) await sessions.giveBytecode();
  return map.known;
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

  /** @returns the seconds that these tests took */
  async take(found: ReadonlyMap<string, readonly Mapped[]>): Promise<number> {
    let spent = 0;
    for (const [test, maps] of found) {
      this.known.set(test, maps);
      spent += secondsOf(maps);
      for (const [index, map] of maps.entries()) {
        // With more time the rest of a file may be looked at.
        if (map.whole) await this.context.results.put(this.keyOf(test, this.sources[index] ?? ''), 'reach', map);
      }
    }
    return spent;
  }
}

interface Noted {
  readonly key: string;
  /** False where the time was over before the last test. */
  readonly isWhole: boolean;
  readonly lines: readonly string[];
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

type Test = Omit<Mapped['tests'][number], 'reached'> & { readonly marks: readonly number[] };

/** By file of tests, and by source in their order. */
function mapped(
  { key, isWhole, lines }: Noted,
  files: readonly string[],
  sources: readonly string[],
): Map<string, Mapped[]> {
  const functions = new Map<string, Mapped['functions']>();
  const tests = new Map<string, Test>();
  const cut = new Set<string>();
  const ownerOf = owners(files);
  for (const line of lines) {
    const note = Note.safeParse(asJson(line)).data;
    if (note?.k !== key) continue;
    if ('f' in note) functions.set(note.f, note.n);
    else if ('o' in note) cut.add(ownerOf(note.o) ?? '');
    else tests.set(note.t, together(note, tests.get(note.t)));
  }
  const byFile = new Map<string, Test[]>();
  for (const test of tests.values()) {
    const file = ownerOf(test.id);
    if (file !== null) byFile.set(file, [...(byFile.get(file) ?? []), test]);
  }
  const mapOf = (file: string, own: readonly Test[], place: number): Mapped => ({
    tests: own.map(({ marks, ...test }) => ({
      ...test,
      reached: marks.filter((mark) => Math.floor(mark / MARKS_A_FILE) === place).map((mark) => mark % MARKS_A_FILE),
    })),
    functions: functions.get(sources[place] ?? '') ?? [],
    whole: isWhole && !cut.has(file),
  });
  return new Map([...byFile].map(([file, own]) => [file, sources.map((_, place) => mapOf(file, own, place))]));
}

/** A test that is noted twice took both times, and passed when it did both times. */
function together({ t: id, s, d, r }: z.infer<typeof Reached>, earlier: Test | undefined): Test {
  const { passed = true, seconds = 0, marks = [] } = earlier ?? {};
  return { id, passed: passed && s === 'passed', seconds: seconds + d, marks: [...marks, ...r] };
}

/** Which of the files a test is of, by its id: `path::test`, or `module.Class.test`. */
function owners(files: readonly string[]): (test: string) => string | null {
  const byName = new Map<string, string>();
  for (const file of files) {
    for (const name of [file, moduleLabel(file), file.replace(/\.py$/, '').replaceAll('/', '.')])
      byName.set(name, file);
  }
  return (test) => {
    const end = test.indexOf('::');
    const name = end === -1 ? test.split('.').slice(0, -2).join('.') : test.slice(0, end);
    return byName.get(name) ?? null;
  };
}
