import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import { OUT_OF_CPU, type SandboxSession, WALL } from '../../../src/ports/sandbox.js';
import { BadInputError } from '../../../src/core/errors/errors.js';
import {
  commandEnvironment,
  commandLine,
  commandOf,
  outcomeOf,
  type Reported,
  strayPath,
  type TestCommand,
} from '../drivers/command.js';
import { inInstanceEnvironment, logTail } from '../drivers/test-dialect.js';
import type { ExecutionContext } from '../execution-context.js';
import { Printed } from '../existing/run-regression.js';
import { asTests, endTests } from '../tree/tree-sessions.js';
import type { Batch, Keep, TestRun } from './run-batch.js';

/** Bytes; no report of a single test is larger. */
const LARGEST_REPORT = 1024 * 1024;
const CLEAR_S = 30;
/** How test runners report that SIGXCPU ended the test's process. */
const CPU_SPENT = /CPU time limit exceeded|SIGXCPU/;

/**
 * Runs generated tests by their commands, one after another: root puts each into the tree, it runs as the tests' user
 * with a temporary folder, and is removed again. Processes that it left running are killed. After a test that hit a
 * limit, or if something cannot be killed, the remaining tests need a fresh session.
 * @throws whatever the session or `keep` throws: infrastructure failures, never a verdict
 */
export async function runCommands(
  session: SandboxSession,
  { context, tests }: Pick<Batch, 'context' | 'tests'>,
  keep: Keep,
  signal: AbortSignal,
): Promise<void> {
  for (const test of tests) {
    const how = commandOf(test);
    if (how === null) throw new Error('only tests that have a command are run by one');
    const placing = await placed(session, context, how, signal);
    const { run, goesOn } = placing ?? (await runCommand(session, context, { test, how }, signal));
    await keep(test, run);
    if (!goesOn) return;
  }
}

interface Ended {
  readonly run: TestRun;
  /** Whether the session can run another test. */
  readonly goesOn: boolean;
}

/** Puts a test's files into the tree. @returns the test's result if it cannot be placed; null if all is well */
async function placed(
  session: SandboxSession,
  { issue }: ExecutionContext,
  how: TestCommand,
  signal: AbortSignal,
): Promise<Ended | null> {
  const { workdir } = issue.environment;
  const files = Object.entries(how.files).map(([path, content]) => ({
    path: `${workdir}/${path}`,
    content,
    mode: 0o644,
  }));
  const stray = strayPath(how);
  if (stray !== null) return refused(`bestk: ${stray} is no place in the repository`);
  for (const { path } of files) {
    const there = await session.readFile(path, 1, signal);
    if (there !== null)
      return refused(`bestk: the repository has a file ${path} of its own; a test needs another place`);
  }
  try {
    await session.writeFiles(files, signal);
  } catch (error) {
    // The patch has a file where the test needs a folder.
    if (!(error instanceof BadInputError)) throw error;
    return { ...refused(`bestk: ${error.message}`), goesOn: false };
  }
  return null;
}

function refused(log_tail: string): Ended {
  const run: TestRun = {
    outcome: 'crashed',
    exit_code: null,
    duration_ms: 0,
    log_tail,
    observed: null,
    isolated: true,
  };
  return { run, goesOn: true };
}

async function runCommand(
  session: SandboxSession,
  context: ExecutionContext,
  { test, how }: { readonly test: GeneratedTest; readonly how: TestCommand },
  signal: AbortSignal,
): Promise<Ended> {
  const { workdir, test_timeout_s: seconds } = context.issue.environment;
  const folder = `/tmp/${context.nonce().slice(0, 16)}`;
  const env = commandEnvironment(folder);
  const printed = new Printed(LARGEST_REPORT);
  const user = asTests(session);
  const ended = await session.exec(
    inInstanceEnvironment({
      argv: commandLine(how.command),
      cwd: workdir,
      env,
      ...user,
      cpuS: seconds,
      deadlineS: WALL * seconds,
      onStdout: printed.take,
    }),
    signal,
  );
  const measured = {
    exit_code: ended.kind === 'exited' ? ended.exitCode : null,
    duration_ms: ended.durationMs,
    log_tail: logTail(ended),
    observed: null,
    isolated: user.as === 'tests',
  };
  if (ended.kind !== 'exited') return { run: { outcome: ended.kind, ...measured }, goesOn: false };
  const { exitCode } = ended;
  const isSpent = exitCode === OUT_OF_CPU || (exitCode !== 0 && CPU_SPENT.test(measured.log_tail));
  // A process still running could change the report while it is read.
  if (!(await endTests(session, signal))) return { run: { outcome: 'crashed', ...measured }, goesOn: false };
  const report = how.report === 'junit' ? await reportIn(session, env, signal) : printed.bytes();
  const reported = outcomeOf(how.report, { exitCode, text: new TextDecoder().decode(report) });
  const ends = isSpent ? { ...reported, outcome: 'timed-out' as const, isWhole: false } : reported;
  const run: TestRun = { ...measured, outcome: ends.outcome, ...namedIn(ends, test) };
  const emptied = { argv: ['rm', '-rf', '--', folder], ...user, deadlineS: CLEAR_S };
  const isTidy = await areRemoved(session, Object.keys(how.files), signal);
  return { run, goesOn: isTidy && (await session.exec(emptied, signal)).kind === 'exited' };
}

function namedIn(
  { failed, isWhole }: Pick<Reported, 'failed' | 'isWhole'>,
  { test_id }: GeneratedTest,
): Pick<TestRun, 'named'> {
  const named = failed.some((name) => name.includes(test_id));
  return named || isWhole ? { named } : {};
}

/** Empty if there is none. */
async function reportIn(
  session: SandboxSession,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Uint8Array> {
  return (await session.readFile(env['BESTK_REPORT'] ?? '', LARGEST_REPORT, signal)) ?? new Uint8Array();
}

/** Root may not write in a folder of the image's user, who in turn may not write in those that were made for the test. */
async function areRemoved(session: SandboxSession, files: readonly string[], signal: AbortSignal): Promise<boolean> {
  for (const as of session.testsUser === null ? (['image'] as const) : (['root', 'image'] as const)) {
    const removed = await session.exec({ argv: ['rm', '-f', '--', ...files], as, deadlineS: CLEAR_S }, signal);
    if (removed.kind === 'exited' && removed.exitCode === 0) return true;
  }
  return false;
}
