import { TestLog } from '../../verifiers/execution-based/reports/test-log.js';
import { ExclusiveTurns } from '../core/async/concurrency.js';
import { retried } from '../core/async/retries.js';
import { BadInputError } from '../core/errors/errors.js';
import { SandboxLostError, SandboxStarvedError } from '../core/errors/unavailable.js';
import { CappedBytes } from '../core/hostile-text.js';
import { GIT_APPLY, type ReadablePatch, readPatch } from '../core/patch/patch.js';
import type { Issue } from '../core/run/issue.js';
import type { Repair } from '../core/patch/repair-patch.js';
import { findApplicableForm } from '../ports/applicable-form.js';
import {
  type ExecOutcome,
  type ExecRequest,
  type Sandbox,
  type SandboxSession,
  sandboxSpec,
  WALL,
} from '../ports/sandbox.js';
import type { HiddenTests } from './hidden-tests.js';
import type { LogReader } from './runner-logs.js';
import { hiddenTestFiles, type TestCommand } from './test-command.js';

/** A size that no test suite reaches. */
const LONGEST_LOG = 64 * 1024 * 1024;

/** The same for every candidate, so that a difference in outcome is due to the patch. */
const ENV: Readonly<Record<string, string>> = {
  PYTHONHASHSEED: '0',
  PYTHONIOENCODING: 'utf8',
  TZ: 'UTC',
  LC_ALL: 'C.UTF-8',
};

/** Directories in which published images keep the instance's interpreter; missing ones are ignored. */
const INSTANCE_PATH =
  'for d in /opt/miniconda3/envs/testbed/bin /root/.venv/bin; do [ -d "$d" ] && PATH="$d:$PATH"; done; export PATH';

/** Sends the stream with the log to stdout, of which `onStdout` receives everything. */
const REDIRECT: Readonly<Record<TestCommand['reportsOn'], string>> = {
  both: 'exec 2>&1',
  stderr: 'exec 3>&1 1>&2 2>&3 3>&-',
};

/** Input shared by the grades of one instance. */
export interface GradingContext {
  readonly sandbox: Sandbox;
  /** Content id of the image. */
  readonly imageId: string;
  readonly issue: Issue;
  readonly tests: HiddenTests;
  readonly command: TestCommand;
  readonly readLog: LogReader;
  /** Whether every candidate is graded by itself, even if equal or empty, to compare repeated runs. */
  readonly repeats: boolean;
  /** CPU seconds of each process of the test command; a run that takes more does not resolve the issue. */
  readonly timeLimitS: number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The run of the hidden tests on one tree. */
export interface TestRun {
  readonly ended: ExecOutcome;
  readonly log: TestLog;
  /** The command printed more than was read, or than could be parsed in time. */
  readonly isCut: boolean;
  /** Repairs without which the patch did not apply to base; those by its text alone are not among them. */
  readonly repairs: readonly Repair[];
}

/** Limit of the test command in seconds of wall-clock time. */
export function wallLimitS(timeLimitS: number): number {
  return WALL * timeLimitS;
}

/** All test runs of this process. */
const turns = new ExclusiveTurns();

/**
 * Runs the hidden tests in a fresh container. A run that reaches the wall-clock limit, perhaps because the machine is busy,
 * is repeated once while no other test run of this process is under way.
 * @param prepare returns why the tests cannot be run on its tree, or null
 * @returns the reason of `prepare`, or the run
 * @throws UnavailableError when the infrastructure kept failing
 */
async function runInFreshContainer(
  bench: GradingContext,
  prepare: (session: SandboxSession) => Promise<string | null>,
  signal: AbortSignal,
): Promise<string | TestRun> {
  const once = (): Promise<string | TestRun> =>
    inFreshContainer(bench, signal, async (session) => (await prepare(session)) ?? runTests(session, bench, signal));
  const first = await turns.shared(once, signal);
  return typeof first !== 'string' && first.ended.kind === 'timed-out' ? turns.alone(once, signal) : first;
}

/** Runs the hidden tests on a patch. @returns why they cannot be run, or the run; throws as `runInFreshContainer` */
export async function runPatch(bench: GradingContext, text: string, signal: AbortSignal): Promise<string | TestRun> {
  const patch = readPatch(text);
  if (patch.kind === 'empty') return 'the patch is empty';
  if (patch.kind === 'refused') return `the patch is refused (${patch.reason}): ${patch.detail}`;
  let repairs: readonly Repair[] = [];
  const prepare = async (session: SandboxSession): Promise<string | null> => {
    const prepared = await patchTree(session, bench, patch, signal);
    repairs = prepared.repairs.filter((repair) => !patch.repairs.includes(repair));
    return prepared.problem;
  };
  const run = await runInFreshContainer(bench, prepare, signal);
  return typeof run === 'string' ? run : { ...run, repairs };
}

/**
 * Runs the hidden tests on base.
 * @throws BadInputError when the test patch does not apply to base, which would make every patch wrong; otherwise as
 * `runInFreshContainer`
 */
export async function runBase(bench: GradingContext, signal: AbortSignal): Promise<TestRun> {
  const apply = (session: SandboxSession): Promise<string | null> => testedBase(session, bench, signal);
  const run = await runInFreshContainer(bench, apply, signal);
  if (typeof run !== 'string') return run;
  throw new BadInputError(
    `does not apply to the image's repository: ${run}`,
    { field: 'test_patch' },
    'Check that the image and environment.base_commit are those of the hidden tests.',
  );
}

/** Runs work in a fresh container; infrastructure failures repeat it in another one, at most three times in all. */
async function inFreshContainer<R>(
  { sandbox, imageId, issue, timeLimitS, pause }: GradingContext,
  signal: AbortSignal,
  work: (session: SandboxSession) => Promise<R>,
): Promise<R> {
  // Grading runs the tests that the image hides from all other sandboxes.
  const spec = sandboxSpec({ ...issue.environment, hidden_paths: [] }, `grade ${issue.instance_id}`, imageId);
  const lasting = { ...spec, longestS: wallLimitS(timeLimitS) };
  return retried(
    async () => {
      await using session = await sandbox.open(lasting, signal);
      return await work(session);
    },
    { signal, pause },
  );
}

/** @throws whatever the session throws: infrastructure, never a grade */
export async function runTests(session: SandboxSession, bench: GradingContext, signal: AbortSignal): Promise<TestRun> {
  const { command, timeLimitS, readLog } = bench;
  const log = new CappedBytes(LONGEST_LOG);
  const scripts = Object.entries(command.scripts).map(([path, content]) => ({ path, content }));
  await session.writeFiles(scripts, signal);
  const request: ExecRequest = {
    environment: 'image',
    argv: ['sh', '-c', [INSTANCE_PATH, REDIRECT[command.reportsOn], command.line].join('\n')],
    env: ENV,
    cpuS: timeLimitS,
    deadlineS: wallLimitS(timeLimitS),
    onStdout: (piece) => {
      log.push(piece);
    },
  };
  const ended = await session.exec(request, signal).catch((error: unknown) => starved(error, request));
  const read = await readLog({ format: command.format, bytes: log.bytes() }, signal);
  return { ended, log: read ?? new TestLog(), isCut: log.truncated || read === null, repairs: [] };
}

/** A busy machine is not failed infrastructure: the run is repeated alone instead. */
function starved(error: unknown, { deadlineS }: ExecRequest): ExecOutcome {
  if (!(error instanceof SandboxStarvedError)) throw error;
  const nothing = { stdout: '', stderr: '', truncated: false };
  return { ...nothing, kind: 'timed-out', survived: false, durationMs: 1_000 * deadlineS };
}

const DEADLINE_S = 300;
const LONGEST_DETAIL = 500;

/** git with hooks, the user's attribute files and pathspec magic disabled. */
const GIT: readonly string[] = [
  'git',
  '--literal-pathspecs',
  ...['core.hooksPath=/dev/null', 'core.attributesFile=/dev/null', 'safe.directory=*'].flatMap((entry) => [
    '-c',
    entry,
  ]),
];

/** Restores each file to its state in the commit; files that are not in the commit are removed. */
const RESTORE = [
  `g() { ${GIT.map((word) => `'${word}'`).join(' ')} "$@"; }`,
  'commit=$1; shift',
  'cd "$(g rev-parse --show-toplevel)" || exit 1',
  'for path do',
  '  rm -rf -- "./$path"',
  '  if g cat-file -e "$commit:$path" 2>/dev/null; then g checkout -q "$commit" -- "$path" || exit 1; fi',
  'done',
].join('\n');

/**
 * Prepares the tree: base with the candidate's whole patch, then the tests' and the runner's own files restored to
 * base, then the test patch. This is the order of SWE-bench's harness; no candidate's file remains where a hidden test
 * goes. A patch that git does not apply is repaired as for verification.
 * @returns why the patch cannot be graded, or null, and the repairs
 * @throws SandboxLostError when git could not restore files, since it ran none of the candidate's code
 */
async function patchTree(
  session: SandboxSession,
  { tests, command }: GradingContext,
  patch: ReadablePatch,
  signal: AbortSignal,
): Promise<{ readonly problem: string | null; readonly repairs: readonly Repair[] }> {
  const { form, detail } = await findApplicableForm(session, patch, signal);
  const failed = (problem: string): Awaited<ReturnType<typeof patchTree>> => ({ problem, repairs: [] });
  if (form === null) return failed(`the patch does not apply: ${detail.trim().slice(0, LONGEST_DETAIL)}`);
  const applied = await apply(session, form.text, signal);
  if (!succeeded(applied)) return failed(`the patch does not apply: ${detailOf(applied)}`);
  const ownRunner = patch.files
    .filter(({ role, paths }) => role === 'runner-config' || paths.some((path) => command.runnerFiles.includes(path)))
    .flatMap(({ paths }) => paths);
  await restore(session, [...hiddenTestFiles(tests), ...ownRunner], signal);
  const { repairs } = form;
  if (tests.testPatch === null) return { problem: null, repairs };
  const tested = await applyTests(session, tests.testPatch, { command, signal });
  if (succeeded(tested)) return { problem: null, repairs };
  return failed(`the hidden tests do not apply on top of the patch: ${detailOf(tested)}`);
}

/**
 * Applies the hidden tests to base, unless the image contains them. @returns git's message if they do not apply, or
 * null
 */
async function testedBase(
  session: SandboxSession,
  { tests: { testPatch }, command }: Pick<GradingContext, 'tests' | 'command'>,
  signal: AbortSignal,
): Promise<string | null> {
  if (testPatch === null) return null;
  const asked = await applyTests(session, testPatch, { command, signal });
  return succeeded(asked) ? null : detailOf(asked);
}

function apply(
  session: SandboxSession,
  patch: string,
  signal: AbortSignal,
  options: readonly string[] = [],
): Promise<ExecOutcome> {
  const stdin = patch.endsWith('\n') ? patch : `${patch}\n`;
  return session.exec({ argv: [...GIT_APPLY, ...options, '-'], stdin, deadlineS: DEADLINE_S }, signal);
}

/** Only checks that they apply if the row's script applies them: they cannot be applied twice. */
function applyTests(
  session: SandboxSession,
  testPatch: string,
  { command, signal }: { readonly command: TestCommand; readonly signal: AbortSignal },
): Promise<ExecOutcome> {
  return apply(session, testPatch, signal, command.isEvalScript ? ['--check'] : []);
}

async function restore(session: SandboxSession, paths: readonly string[], signal: AbortSignal): Promise<void> {
  const argv = ['sh', '-c', RESTORE, 'sh', session.baseCommit, ...new Set(paths)];
  const done = await session.exec({ argv, deadlineS: DEADLINE_S }, signal);
  if (!succeeded(done)) throw new SandboxLostError(`the tests' files could not be restored: ${detailOf(done)}`);
}

function succeeded(ended: ExecOutcome): boolean {
  return ended.kind === 'exited' && ended.exitCode === 0;
}

function detailOf(ended: ExecOutcome): string {
  return ended.kind === 'exited' ? ended.stderr.trim().slice(0, LONGEST_DETAIL) : `git ended as ${ended.kind}`;
}
