import { LOG_FORMATS, type LogFormat } from '../../verifiers/execution-based/reports/log-formats.js';
import type { TestStatus } from '../../verifiers/execution-based/reports/test-log.js';
import { BadInputError, UnavailableError } from '../core/errors/errors.js';
import { contentKey } from '../core/identifier.js';
import { fingerprint, type ReadablePatch, readPatch } from '../core/patch/patch.js';
import type { Candidate } from '../core/run/candidate.js';
import type { HiddenTests } from './hidden-tests.js';
import { type GradingContext, runTests, testedBase, patchTree, type TestRun } from './run-hidden-tests.js';
import { retried } from '../core/async/retries.js';
import { type ExecOutcome, type SandboxSession, sandboxSpec } from '../ports/sandbox.js';

/** The outcome reward of one patch. */
export interface Grade {
  /** Null = unknown: the patch has no label, for the reason given. */
  readonly resolved: boolean | null;
  /** One sentence for people. */
  readonly reason: string;
  /** Seconds that the test command took; 0 when it was not run. */
  readonly seconds: number;
  /** Every required test by its name in the list; empty when none was run. */
  readonly tests: Readonly<Record<string, TestStatus>>;
}

/** Increment this when the way of grading changes: earlier grades are then not reused. */
const PROTOCOL = 4;

export interface CandidateGrade extends Grade {
  readonly instance_id: string;
  readonly candidate_id: string;
  /** Hash of everything the grade depends on. */
  readonly key: string;
}

/** A candidate without a label, because the infrastructure failed: neither right nor wrong. */
export interface Ungraded {
  readonly candidate_id: string;
  readonly reason: string;
}

export interface Graded {
  /** In the order of the candidates; those without a label, too, if their tests were run. */
  readonly grades: readonly CandidateGrade[];
  readonly ungraded: readonly Ungraded[];
  /** Listed tests that were not required of any candidate. */
  readonly leftOut: readonly LeftOut[];
  /** Why no patch of the instance can be labelled right: its logs cannot be read; null = a patch could be. */
  readonly unreadable: string | null;
  /** Why the gold patch does not pass here; null = it does, or was not run. */
  readonly goldProblem: string | null;
}

/** Numbers of candidates with a label, of right ones among them, and of those whose label is unknown. */
export function countLabels(grades: readonly Pick<Grade, 'resolved'>[]): {
  readonly graded: number;
  readonly resolved: number;
  readonly unknown: number;
} {
  const count = (label: boolean | null): number => grades.filter(({ resolved }) => resolved === label).length;
  return { graded: grades.length - count(null), resolved: count(true), unknown: count(null) };
}

export interface GradeBook {
  /** The grade from an earlier run under this key, if any; without a label, it is not used again. */
  known(key: string): Grade | null | Promise<Grade | null>;
  /** Receives every grade as soon as it exists, with or without a label. */
  enter(grade: CandidateGrade): Promise<void>;
}

/**
 * Grades every distinct patch once, in a fresh container, after running the hidden tests on base.
 * @throws the signal's reason when aborted; UnavailableError when base could not be run
 */
export async function gradeCandidates(
  given: GradingContext,
  candidates: readonly Candidate[],
  book: GradeBook,
  signal: AbortSignal,
): Promise<Graded> {
  const { bench, leftOut } = await withoutBroken(given, signal);
  const grades = new Map<string, CandidateGrade>();
  const ungraded = new Map<string, string>();
  await Promise.all(
    distinct(bench, candidates).map(async ({ key, ids, grade }) => {
      try {
        const found = (await book.known(key)) ?? (await grade(signal));
        for (const candidate_id of ids) {
          const { instance_id } = bench.issue;
          const { resolved, reason, seconds, tests } = found;
          const entry = { instance_id, candidate_id, resolved, reason, seconds, tests, key };
          await book.enter(entry);
          grades.set(candidate_id, entry);
        }
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof UnavailableError)) throw error;
        for (const id of ids) if (!grades.has(id)) ungraded.set(id, `${error.message} ${error.next}`);
      }
    }),
  );
  const ids = candidates.map(({ candidate_id }) => candidate_id);
  return {
    grades: ids.flatMap((id) => grades.get(id) ?? []),
    ungraded: ids.flatMap((id) => {
      const reason = ungraded.get(id);
      return reason === undefined ? [] : [{ candidate_id: id, reason }];
    }),
    leftOut,
    unreadable: null,
    goldProblem: null,
  };
}

interface Distinct {
  readonly key: string;
  readonly ids: string[];
  readonly grade: (signal: AbortSignal) => Promise<Grade>;
}

function distinct(bench: GradingContext, candidates: readonly Candidate[]): readonly Distinct[] {
  const groups = new Map<string, Distinct>();
  for (const { candidate_id, patch: text } of candidates) {
    const patch = readPatch(text);
    const key = keyOf(bench, patch.kind === 'ok' ? wholeFingerprint(patch) : text.trim());
    const group = groups.get(key);
    if (group !== undefined) group.ids.push(candidate_id);
    else groups.set(key, { key, ids: [candidate_id], grade: grader(bench, text) });
  }
  return [...groups.values()];
}

function grader(bench: GradingContext, text: string): Distinct['grade'] {
  const patch = readPatch(text);
  if (patch.kind === 'empty') return () => Promise.resolve(notRun('the patch is empty'));
  if (patch.kind === 'refused') {
    return () => Promise.resolve(notRun(`the patch is refused (${patch.reason}): ${patch.detail}`));
  }
  return (signal) => gradePatch(bench, { text, patch }, signal);
}

/** Covers all files, tests included, because grading applies the whole patch. */
function wholeFingerprint({ kind, files }: ReadablePatch): string {
  return fingerprint({ kind, files: files.map((file) => ({ ...file, role: 'source' })) });
}

function keyOf({ imageId, issue, tests, command, timeLimitS, sandbox }: GradingContext, patch: string): string {
  const { workdir, base_commit, setup_patch } = issue.environment;
  const { testPatch, failToPass, passToPass } = tests;
  const instance = [issue.instance_id, imageId, workdir, base_commit];
  const asked = [testPatch, failToPass, passToPass, command.line, timeLimitS, sandbox.limits];
  const isPlain = setup_patch === null && Object.keys(command.scripts).length === 0;
  const further = isPlain ? [] : [setup_patch, command.scripts];
  return contentKey([PROTOCOL, instance, asked, ...further, patch]);
}

/** A PASS_TO_PASS test that does not pass on base in this image. */
export interface LeftOut {
  readonly name: string;
  readonly on_base: TestStatus;
}

/**
 * Runs the hidden tests once on base. A PASS_TO_PASS test that does not pass there (the image's repository lacks it, or
 * it needs the network) cannot count against a patch: it is left out and reported. FAIL_TO_PASS is kept in full, and so
 * are all tests if the run on base is not credible, and those that it may not have reached.
 * @throws BadInputError when the test patch does not apply to base, which would make every patch wrong
 */
export async function withoutBroken(
  bench: GradingContext,
  signal: AbortSignal,
): Promise<{ readonly bench: GradingContext; readonly leftOut: readonly LeftOut[] }> {
  const { tests } = bench;
  const run = await inFreshContainer(bench, signal, async (session) => {
    const detail = await testedBase(session, tests.testPatch, signal);
    if (detail === null) return runTests(session, bench, signal);
    throw new BadInputError(
      `does not apply to the image's repository: ${detail}`,
      { field: 'test_patch' },
      'Check that the image and environment.base_commit are those of the hidden tests.',
    );
  });
  if (disagreement(run, bench.command.format) !== null) return { bench, leftOut: [] };
  const kept: readonly TestStatus[] = ranAll(run, bench.command) ? MAINTAINED : [...MAINTAINED, 'missing'];
  const isKept = (name: string): boolean => kept.includes(run.log.statusOf(name));
  const leftOut = tests.passToPass
    .filter((name) => !isKept(name) && !tests.failToPass.includes(name))
    .map((name) => ({ name, on_base: run.log.statusOf(name) }));
  return { bench: { ...bench, tests: { ...tests, passToPass: tests.passToPass.filter(isKept) } }, leftOut };
}

/**
 * Grades one patch in a fresh container.
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

/** Runs work in a fresh container; infrastructure failures repeat it in another one, at most three times in all. */
export async function inFreshContainer<R>(
  { sandbox, imageId, issue, timeLimitS, pause }: GradingContext,
  signal: AbortSignal,
  work: (session: SandboxSession) => Promise<R>,
): Promise<R> {
  // Grading runs the tests that the image hides from all other sandboxes.
  const spec = sandboxSpec({ ...issue.environment, hidden_paths: [] }, `grade ${issue.instance_id}`, imageId);
  const lasting = { ...spec, longestS: timeLimitS };
  return retried(
    async () => {
      await using session = await sandbox.open(lasting, signal);
      return await work(session);
    },
    { signal, pause },
  );
}

/** Smallest and largest exit code of a shell whose command a signal ended. */
const SIGNALS = [129, 159] as const;
const NAMED = 3;
/** Results with which a PASS_TO_PASS test is maintained, as in SWE-bench's harness (`test_maintained`). */
const MAINTAINED: readonly TestStatus[] = ['passed', 'skipped'];

/**
 * Whether a run of the hidden tests resolves the issue: the command exited within its time with an exit code that
 * agrees with its log, and the log reports every required test as passed, or a PASS_TO_PASS test as skipped.
 */
export function judge(
  { tests, timeLimitS, command }: Pick<GradingContext, 'tests' | 'timeLimitS' | 'command'>,
  run: TestRun,
): Grade {
  const required = [...new Set([...tests.failToPass, ...tests.passToPass])];
  const statuses = required.map((name): [string, TestStatus] => [name, run.log.statusOf(name)]);
  const reason = whyNot(run.ended, timeLimitS) ?? notPassed(tests, statuses) ?? disagreement(run, command.format);
  return {
    resolved: reason === null,
    reason: reason ?? `all ${required.length} tests passed`,
    seconds: Math.round(run.ended.durationMs / 10) / 100,
    tests: Object.fromEntries(statuses),
  };
}

/** Why a run's log is not credible, or null: the candidate's code can write to it, so the exit code must agree. */
export function disagreement({ ended, log, isCut }: TestRun, format: LogFormat): string | null {
  if (isCut) return 'the tests printed more than is read';
  if (ended.kind !== 'exited') return `the tests ended as ${ended.kind}`;
  const { exitCode } = ended;
  const isExplained = isWithin(exitCode, [1, 1]) || isWithin(exitCode, LOG_FORMATS[format].exits);
  const isSignal = isWithin(exitCode, SIGNALS) && exitCode !== log.failures;
  if (exitCode === 0 || (isExplained && !isSignal && log.hasFailures)) return null;
  return `the command ended with exit code ${exitCode}, which its log does not explain`;
}

function isWithin(code: number, [least, most]: readonly [number, number]): boolean {
  return code >= least && code <= most;
}

/** Whether a credible run reached all tests: cargo stops after a crate's failures, and Node's own errors end Mocha. */
function ranAll({ ended, log }: TestRun, { format, line }: GradingContext['command']): boolean {
  if (log.isIncomplete) return false;
  if (ended.kind !== 'exited' || ended.exitCode <= 1 || format === 'ctest') return true;
  return format === 'cargo' ? line.includes('--no-fail-fast') : ended.exitCode === log.failures;
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

function notPassed(
  { failToPass }: Pick<HiddenTests, 'failToPass'>,
  statuses: readonly (readonly [string, TestStatus])[],
): string | null {
  const repaired = new Set(failToPass);
  const others = statuses.filter(
    ([name, status]) => status !== 'passed' && (repaired.has(name) || !MAINTAINED.includes(status)),
  );
  if (others.length === 0) return null;
  const named = others.slice(0, NAMED).map(([name, status]) => `"${name}" ${status}`);
  const more = others.length > NAMED ? `, and ${others.length - NAMED} more` : '';
  return `${others.length} of ${statuses.length} tests did not pass: ${named.join(', ')}${more}`;
}

/** A grade without a test run: the patch itself decides it. */
function notRun(reason: string): Grade {
  return { resolved: false, reason, seconds: 0, tests: {} };
}
