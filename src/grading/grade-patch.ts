import { retried } from '../core/async/retry.js';
import type { ReadablePatch } from '../core/patch/patch.js';
import { type ExecOutcome, type SandboxSession, sandboxSpec } from '../ports/sandbox.js';
import { type GradingContext, type Grade, notRun } from './grade.js';
import { patchTree, runTests, type TestRun } from './run-tests.js';
import type { TestStatus } from './test-logs.js';

/**
 * Grades one patch in a container of its own.
 * @throws UnavailableError when the infrastructure kept failing: no grade, and never 0
 */
export function gradePatch(
  bench: GradingContext,
  candidate: { readonly text: string; readonly patch: ReadablePatch },
  signal: AbortSignal,
): Promise<Grade> {
  return inFreshContainer(bench, signal, async (session) => {
    const problem = await patchTree(session, bench, candidate, signal);
    return problem === null ? judge(bench, await runTests(session, bench, signal)) : notRun(problem);
  });
}

/** Does some work in a container of its own; infrastructure failures repeat it in another, at most three times. */
export async function inFreshContainer<R>(
  { sandbox, imageId, issue, pause }: GradingContext,
  signal: AbortSignal,
  work: (session: SandboxSession) => Promise<R>,
): Promise<R> {
  // The tests that an image hides from everybody else are what is run here.
  const spec = sandboxSpec({ ...issue.environment, hidden_paths: [] }, `grade ${issue.instance_id}`, imageId);
  return retried(
    async () => {
      await using session = await sandbox.open(spec, signal);
      return await work(session);
    },
    { signal, pause },
  );
}

/** Exit status by which pytest, unittest, sympy's runner and tox say that tests failed; others mean trouble. */
const TESTS_FAILED = 1;
const NAMED = 3;

/**
 * Whether a run of the hidden tests resolves the issue: the command ended by itself, within its time, with an exit code
 * that agrees with its log, and the log says of every required test that it passed.
 */
export function judge({ tests, timeLimitS }: Pick<GradingContext, 'tests' | 'timeLimitS'>, run: TestRun): Grade {
  const required = [...new Set([...tests.failToPass, ...tests.passToPass])];
  const statuses = required.map((name): [string, TestStatus] => [name, run.log.statusOf(name)]);
  const reason = whyNot(run.ended, timeLimitS) ?? notPassed(statuses) ?? disagreement(run);
  return {
    resolved: reason === null,
    reason: reason ?? `all ${required.length} tests passed`,
    seconds: Math.round(run.ended.durationMs / 10) / 100,
    tests: Object.fromEntries(statuses),
  };
}

/** Why the log of a run that ended by itself cannot be believed, or null: alone it is the candidate's own word. */
export function disagreement({ ended, log, isCut }: TestRun): string | null {
  if (isCut) return 'the tests printed more than is read';
  if (ended.kind !== 'exited') return `the tests ended as ${ended.kind}`;
  if (ended.exitCode === 0 || (ended.exitCode === TESTS_FAILED && log.hasFailures)) return null;
  return `the command ended with exit code ${ended.exitCode}, which its log does not explain`;
}

function whyNot(ended: ExecOutcome, timeLimitS: number): string | null {
  switch (ended.kind) {
    case 'exited':
      return null;
    case 'timed-out':
      return `the tests took longer than ${timeLimitS} s`;
    case 'out-of-memory':
      return 'the tests ran out of memory';
    case 'out-of-disk':
      return 'the tests ran out of disk';
  }
}

function notPassed(statuses: readonly (readonly [string, TestStatus])[]): string | null {
  const others = statuses.filter(([, status]) => status !== 'passed');
  if (others.length === 0) return null;
  const named = others.slice(0, NAMED).map(([name, status]) => `"${name}" ${status}`);
  const more = others.length > NAMED ? `, and ${others.length - NAMED} more` : '';
  return `${others.length} of ${statuses.length} tests did not pass: ${named.join(', ')}${more}`;
}
