import { z } from 'zod';
import { contentKey, sha256 } from '../../../src/core/fingerprint.js';
import { SUITE_ENV } from '../drivers/environment.js';
import { PYTHON_SITE_CUSTOMIZE, PYTHON_TEST_PROBE } from '../drivers/python-test-probe.js';
import { asSuite, type ExecutionContext, contextKey, type TreeRun } from '../execution-context.js';
import { cellJob } from '../generated/cell-job.js';
import { TreeSessions } from '../tree/tree-sessions.js';
import { type RegressionRun, runRegression } from './run-regression.js';

/** The existing tests that passed on base both times; the only ones a candidate is held to. */
export interface RegressionSet {
  readonly tests: readonly string[];
  /** Stable passes that nobody is held to, since a right solution has to break them. */
  readonly excluded: readonly string[];
  /** Functions of the runner that the repository itself replaces. */
  readonly changed: readonly string[];
  /** Why there is nothing to hold anybody to; null when there is. */
  readonly missing: string | null;
}

/** The set without tests that a right solution has to break. */
export function without(set: RegressionSet, excluded: readonly string[]): RegressionSet {
  const gone = new Set(excluded);
  return { ...set, tests: set.tests.filter((test) => !gone.has(test)), excluded };
}

/** Stable passes of the base runs. */
export function regressionSet(baseRuns: readonly RegressionRun[]): RegressionSet {
  const [first, ...others] = baseRuns;
  if (first === undefined) return { ...NOTHING, missing: 'the regression command was not run on base' };
  const broken = baseRuns.find(({ outcome }) => outcome !== 'exited');
  if (broken !== undefined) {
    return { ...NOTHING, missing: `the regression command ended on base as ${broken.outcome}` };
  }
  const stable = others.map(({ passed }) => new Set(passed));
  const tests = first.passed.filter((test) => stable.every((passed) => passed.has(test)));
  const missing = tests.length > 0 ? null : `no existing test passes on base twice: ${lastLine(first.log_tail)}`;
  return { tests, excluded: [], changed: baseRuns.flatMap((run) => run.changed), missing };
}

const NOTHING = { tests: [], excluded: [], changed: [] };

/**
 * |passed on the candidate ∩ set|; a missing or skipped test has not passed, an added one does not count. Where the patch
 * put something else in the place of the runner's functions, no pass of that run is worth anything.
 */
export function heldUp(set: RegressionSet, run: RegressionRun): { readonly passed: number; readonly lost: string[] } {
  const tampered = run.changed.some((name) => !set.changed.includes(name));
  const passed = new Set(tampered ? [] : run.passed);
  const lost = set.tests.filter((test) => !passed.has(test));
  return { passed: set.tests.length - lost.length, lost };
}

function lastLine(log: string): string {
  return log.trimEnd().split('\n').at(-1)?.slice(0, 300) ?? '';
}

const StoredRegressionRun = z.object({
  outcome: z.enum(['exited', 'timed-out', 'out-of-memory', 'out-of-disk']),
  exit_code: z.int().nullable(),
  duration_ms: z.number(),
  passed: z.array(z.string()),
  failed: z.array(z.string()),
  skipped: z.array(z.string()),
  changed: z.array(z.string()),
  log_tail: z.string(),
});
const PROBE = sha256(PYTHON_TEST_PROBE + PYTHON_SITE_CUSTOMIZE);

/**
 * The regression command on one tree, in a fresh container, or its stored result.
 * The first run on base gives its bytecode to what comes after.
 * @throws UnavailableError when the infrastructure kept failing
 */
export async function regressionOn(
  context: ExecutionContext,
  command: string,
  { tree, repeat }: TreeRun,
  signal: AbortSignal,
): Promise<RegressionRun> {
  const environment = { ...context.issue.environment, regression_command: command };
  const key = contentKey({
    kind: 'regression',
    ...contextKey(context),
    probe: PROBE,
    env: SUITE_ENV,
    tree,
    command,
    files: environment.regression_files,
    report: environment.regression_report,
    repeat,
  });
  const stored = await storedRun(context, key);
  if (stored !== null) return stored;
  if (context.remote !== undefined) {
    await context.remote(cellJob({ issue: { ...context.issue, environment } }, { tree, repeat }, null), signal);
    const done = await storedRun(context, key);
    if (done !== null) return done;
  }
  return asSuite(context, 'regression', { tree, repeat }, async () => {
    await using sessions = new TreeSessions(context, tree, signal);
    const run = await sessions.use((session) => runRegression(session, environment, context.nonce, signal));
    await context.results.put(key, 'regression', run);
    if (tree === null && repeat === 0 && run.outcome === 'exited') await sessions.giveBytecode();
    return run;
  });
}

async function storedRun({ results }: ExecutionContext, key: string): Promise<RegressionRun | null> {
  const stored = StoredRegressionRun.safeParse(await results.get(key));
  return stored.success ? stored.data : null;
}
