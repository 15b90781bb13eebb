import { LOG_FORMATS, type LogFormat } from '../../verifiers/execution-based/reports/log-formats.js';
import type { TestLog, TestStatus } from '../../verifiers/execution-based/reports/test-log.js';
import { OUT_OF_CPU } from '../ports/sandbox.js';
import type { HiddenTests } from './hidden-tests.js';
import { type GradingContext, type TestRun, wallLimitS } from './run-hidden-tests.js';
import type { TestCommand } from './test-command.js';

/**
 * Why a run alone does not decide: it exceeded a limit, its log names less than half of the listed tests, only lacks
 * tests, or reports success that the exit code contradicts. The cause may be the patch, or the tests and the machine.
 */
export type Doubt = 'limit' | 'unread' | 'missing' | 'exit-code';

export interface Verdict {
  /** Null = unknown. */
  readonly resolved: boolean | null;
  /** One sentence for people. */
  readonly reason: string;
  /** Null = the run decides. */
  readonly doubt: Doubt | null;
}

/** Smallest and largest. */
type Exits = readonly [number, number];

/** Smallest and largest exit code of a shell whose command a signal ended. */
const SIGNALS: Exits = [129, 159];
/** Codes with which the runner of a row's own script may report failed tests; higher ones are the shell's. */
const ANY_FAILURE: Exits = [1, 125];
const NAMED = 3;
/** Results with which a PASS_TO_PASS test is maintained, as in SWE-bench's harness (`test_maintained`). */
export const MAINTAINED: readonly TestStatus[] = ['passed', 'skipped'];

/**
 * Whether a run of the hidden tests resolves the issue: the command exited within its limits with an exit code that
 * agrees with its log, and the log reports every required test as passed, or a PASS_TO_PASS test as skipped.
 * @param listed the required tests, and those left out because they do not pass on base
 */
export function judge(
  { tests, timeLimitS, command }: Pick<GradingContext, 'tests' | 'timeLimitS' | 'command'>,
  run: TestRun,
  listed: readonly string[],
): Verdict {
  if (run.ended.kind === 'timed-out') {
    const reason = `timed out: the tests did not end within ${wallLimitS(timeLimitS)} s, nor when they were repeated alone`;
    return { resolved: null, reason, doubt: null };
  }
  const required = requiredTests(tests);
  const lost = lostTests(run.log, tests);
  const limit = exceededLimit(run, timeLimitS);
  const reason =
    limit ?? whyNotPassed(lost, required.length) ?? disagreement(run, command.format, failureCodes(command));
  return {
    resolved: reason === null,
    reason: reason ?? `all ${required.length} tests passed`,
    doubt: limit === null ? doubtOf(run, { listed, lost, isRight: reason === null }) : 'limit',
  };
}

function doubtOf(
  { log }: TestRun,
  { listed, lost, isRight }: { listed: readonly string[]; lost: Statuses; isRight: boolean },
): Doubt | null {
  if (!namesHalf(log, listed)) return 'unread';
  if (isRight) return null;
  if (lost.length === 0) return 'exit-code';
  return lost.every(([, status]) => status === 'missing') ? 'missing' : null;
}

/** The required tests that were not passed, or, in PASS_TO_PASS, not maintained. */
function lostTests(log: TestLog, tests: HiddenTests): Statuses {
  const repaired = new Set(tests.failToPass);
  return statusesOf(log, requiredTests(tests)).filter(
    ([name, status]) => status !== 'passed' && (repaired.has(name) || !MAINTAINED.includes(status)),
  );
}

export function requiredTests({ failToPass, passToPass }: HiddenTests): readonly string[] {
  return [...new Set([...failToPass, ...passToPass])];
}

type Statuses = readonly (readonly [string, TestStatus])[];

export function statusesOf(log: TestLog, names: readonly string[]): Statuses {
  return names.map((name) => [name, log.statusOf(name)]);
}

export function namesHalf(log: TestLog, names: readonly string[]): boolean {
  return 2 * names.filter((name) => log.statusOf(name) !== 'missing').length >= names.length;
}

/** Why a run's log is not credible, or null: the candidate's code can write to it, so the exit code must agree. */
export function disagreement(
  { ended, log, isCut }: TestRun,
  format: LogFormat,
  exits: Exits = LOG_FORMATS[format].exits,
): string | null {
  if (isCut) return 'the tests printed more than is read';
  if (ended.kind !== 'exited') return `the tests ended as ${ended.kind}`;
  const { exitCode } = ended;
  const isExplained = isWithin(exitCode, [1, 1]) || isWithin(exitCode, exits);
  if (exitCode === 0 || (isExplained && !isSignal(exitCode, log) && log.hasFailures)) return null;
  return `the command ended with exit code ${exitCode}, which its log does not explain`;
}

/** Exit codes with which the tests of a patch may fail; undefined = those of the log's format. */
export function failureCodes({ isEvalScript }: Pick<TestCommand, 'isEvalScript'>): Exits | undefined {
  return isEvalScript ? ANY_FAILURE : undefined;
}

/** Mocha's code may be as high if as many tests failed. */
function isSignal(exitCode: number, log: TestLog): boolean {
  return isWithin(exitCode, SIGNALS) && exitCode !== log.failures;
}

function isWithin(code: number, [least, most]: Exits): boolean {
  return code >= least && code <= most;
}

/** Whether a credible run reached all tests: cargo stops after a crate's failures, and Node's own errors end Mocha. */
export function ranAll({ ended, log }: TestRun, { format, line }: GradingContext['command']): boolean {
  if (log.isIncomplete) return false;
  if (ended.kind !== 'exited' || ended.exitCode <= 1 || format === 'ctest') return true;
  return format === 'cargo' ? line.includes('--no-fail-fast') : ended.exitCode === log.failures;
}

/** The limit that a run exceeded, as a reason; null if it exceeded none. */
export function exceededLimit({ ended, log }: TestRun, timeLimitS: number): string | null {
  switch (ended.kind) {
    case 'exited':
      return ended.exitCode === OUT_OF_CPU && isSignal(ended.exitCode, log)
        ? `the tests took more than ${timeLimitS} s of CPU time`
        : null;
    case 'timed-out':
      return `the tests did not end within ${wallLimitS(timeLimitS)} s`;
    case 'out-of-memory':
      return 'the tests ran out of memory';
    case 'out-of-disk':
      return 'the tests ran out of disk';
  }
}

function whyNotPassed(lost: Statuses, required: number): string | null {
  if (lost.length === 0) return null;
  const named = lost.slice(0, NAMED).map(([name, status]) => `"${name}" ${status}`);
  const more = lost.length > NAMED ? `, and ${lost.length - NAMED} more` : '';
  return `${lost.length} of ${required} tests did not pass: ${named.join(', ')}${more}`;
}
