import { z } from 'zod';
import { SandboxStarvedError } from '../../../src/core/errors/unavailable.js';
import { CellOutcome, type GeneratedTest } from '../../../src/core/run/generated-test.js';
import { type ExecOutcome, type ExecRequest, type Ids, type SandboxSession, WALL } from '../../../src/ports/sandbox.js';
import {
  inInstanceEnvironment,
  logTail,
  extensionOf,
  type DrivenDialect,
  type TestDialect,
  findHome,
} from '../drivers/test-dialect.js';
import { NO_PROCESS_LEFT } from '../drivers/python.js';
import { type ExecutionContext, scratchDirectory } from '../execution-context.js';
import { raisedBy } from './cell-kinds.js';

/** Result of one generated test on one tree. */
export const TestRun = z.object({
  outcome: CellOutcome.exclude(['forged']),
  /** Negative: the signal that ended it; null: unknown. */
  exit_code: z.int().nullable(),
  duration_ms: z.number(),
  log_tail: z.string(),
  /** Observations, one JSON value per line; null for tests that do not observe. */
  observed: z.string().nullable(),
  /** Whether it ran as the separate tests' user. */
  isolated: z.boolean(),
  /** Type of the error that ended it, if known. */
  raises: z.string().exactOptional(),
  /**
   * Whether its command reports a failed test whose name contains the test's id, as that of a control does. Absent if
   * its report cannot tell: it is cut off, or names no tests.
   */
  named: z.boolean().exactOptional(),
});
export type TestRun = z.infer<typeof TestRun>;

/** Tests of one language. */
export interface Batch {
  readonly context: ExecutionContext;
  readonly dialect: TestDialect;
  readonly tests: readonly GeneratedTest[];
}

export type DrivenBatch = Batch & { readonly dialect: DrivenDialect };

/** Receives each run when its test has ended, in the tests' order. */
export type Keep = (test: GeneratedTest, run: TestRun) => Promise<void>;

/** For starting the driver, and for killing tests that do not end by themselves. */
const SLACK_S = 30;
const PER_TEST_SLACK_S = 5;

/**
 * Runs generated tests in one session under the exit-code-and-nonce protocol (exit 0 solved, 2 not solved, anything
 * else broken); solved and not solved both need proof that the script reached its own end. At least the first test gets
 * a run; those without one need a fresh session.
 * @throws SandboxStarvedError if a test was starved of CPU, and what the session or `keep` throws: infrastructure, never a
 * verdict
 */
export async function runBatch(
  session: SandboxSession,
  { context, dialect, tests }: DrivenBatch,
  keep: Keep,
  signal: AbortSignal,
): Promise<void> {
  const folder = scratchDirectory(context.nonce);
  const isolated = session.testsUser !== null;
  const nonces = tests.map(() => context.nonce());
  const kept: Promise<void>[] = [];
  const take = (index: number, run: TestRun): void => {
    const test = tests[index];
    if (test === undefined) return;
    const keeping = keep(test, run);
    keeping.catch(() => undefined);
    kept.push(keeping);
  };
  const reports = new DriverReports(tests.length, (report) => {
    const test = tests[report.i];
    if (test !== undefined && !report.starved)
      take(report.i, { ...runOf(report, test, nonces[report.i] ?? ''), isolated });
  });
  const longest = Math.max(...tests.map(({ content }) => Buffer.byteLength(content)));
  await session.writeFiles(
    [
      ...Object.entries(dialect.files).map(([name, content]) => ({ path: `${folder}/${name}`, content })),
      // A test can read only its own script, during its run. Padded to equal size, since sizes would reveal twins.
      ...tests.map(({ path, content }, index) => ({
        path: `${folder}/${index}${extensionOf(path)}`,
        content: content + '\n'.repeat(longest - Buffer.byteLength(content)),
        mode: 0o600,
      })),
    ],
    signal,
  );
  const ended = await session.exec(
    {
      ...driverCall({ context, dialect, tests }, folder, session.testsUser),
      stdin: nonces.map((nonce) => `${nonce}\n`).join(''),
      onStdout: (piece) => {
        reports.push(piece);
      },
    },
    signal,
  );
  const { count, stopped } = reports;
  if (count < tests.length && !stopped && !isInnocent(ended, count)) take(count, { ...culprit(ended), isolated });
  await Promise.all(kept);
  if (reports.starved) throw new SandboxStarvedError('a test did not have its seconds of the CPU');
}

function driverCall({ context, dialect, tests }: DrivenBatch, folder: string, user: Ids | null): ExecRequest {
  const { workdir, test_timeout_s: seconds } = context.issue.environment;
  return inInstanceEnvironment({
    ...(user === null ? {} : { as: 'root' }),
    argv: [
      '/bin/sh',
      '-c',
      (user === null ? '' : findHome(user)) + dialect.shell,
      'sh',
      ...dialect.driver({ folder, workdir, seconds, tests, user }),
    ],
    cwd: workdir,
    // A test that hangs the driver costs no more than its own time limit.
    silenceS: WALL * seconds + SLACK_S,
    deadlineS: tests.length * (WALL * seconds + PER_TEST_SLACK_S) + SLACK_S,
  });
}

/** Whether the driver ended early because of what earlier tests left behind, not because of the next test. */
function isInnocent(ended: ExecOutcome, reported: number): boolean {
  return ended.kind === 'exited' && ended.exitCode === NO_PROCESS_LEFT && reported > 0;
}

/** The driver reports each test when it ends; if it died, the first test without a report was running. */
function culprit(ended: ExecOutcome): Omit<TestRun, 'isolated'> {
  return {
    observed: null,
    outcome: ended.kind === 'exited' ? 'crashed' : ended.kind,
    exit_code: ended.kind === 'exited' ? ended.exitCode : null,
    duration_ms: ended.durationMs,
    log_tail: logTail(ended),
  };
}

function runOf(report: DriverReport, test: GeneratedTest, nonce: string): Omit<TestRun, 'isolated'> {
  const { status, timed_out, out_of_memory, ms, log } = report;
  const ended = { exit_code: status, duration_ms: ms, log_tail: log };
  const { outcome, ...said } = whatItSaid(report, test, `${nonce} ${String(status)}`);
  return { outcome: timed_out ? 'timed-out' : out_of_memory ? 'out-of-memory' : outcome, ...said, ...ended };
}

function whatItSaid(
  { said, status, log }: DriverReport,
  test: GeneratedTest,
  proof: string,
): Pick<TestRun, 'outcome' | 'observed' | 'raises'> {
  if (test.expect !== undefined || test.observes === true) {
    const observed = said.replace(proof, '');
    return { outcome: toldBy(test, observed), observed };
  }
  if (said === proof) return { outcome: OUTCOME_OF_STATUS[status] ?? 'crashed', observed: null };
  const raises = raisedBy(said, log);
  if (raises === null) return { outcome: 'crashed', observed: null };
  // A failed bare assertion is as clear as an exit code, and a patch gains nothing by forging it.
  const isAssertion = status === 1 && raises === 'AssertionError';
  return { outcome: isAssertion ? 'not-solved' : 'crashed', observed: null, raises };
}

const OUTCOME_OF_STATUS: Readonly<Record<number, TestRun['outcome']>> = { 0: 'solved', 2: 'not-solved' };

/** One line of the suite driver: how the process of test `i` ended. */
export const DriverReport = z.object({
  i: z.int().min(0),
  /** Exit status; negative: the signal that ended it. */
  status: z.int(),
  /** Output of the test's own pipe: its proof, or its observations. */
  said: z.string(),
  timed_out: z.boolean(),
  /** It timed out for lack of CPU, so its real outcome is unknown. */
  starved: z.boolean().default(false),
  out_of_memory: z.boolean(),
  ms: z.number().min(0),
  log: z.string(),
});
export type DriverReport = z.infer<typeof DriverReport>;

/** `said` and the log, with each byte escaped to six at worst. */
const LONGEST_LINE = 512 * 1024;

/**
 * Parses the driver's output as it arrives and passes on its reports, in the tests' order. Foreign or over-long lines
 * and reports out of order are ignored.
 */
export class DriverReports {
  /** Number of reports passed on. */
  count = 0;
  /** Whether the last reported test timed out, after which the driver stops by itself. */
  stopped = false;
  /** Whether that was because the machine was busy. */
  starved = false;
  private readonly decoder = new TextDecoder();
  private rest = '';

  constructor(
    private readonly expected: number,
    private readonly onReport: (report: DriverReport) => void,
  ) {}

  push(piece: Uint8Array): void {
    const lines = (this.rest + this.decoder.decode(piece, { stream: true })).split('\n');
    this.rest = (lines.pop() ?? '').slice(0, LONGEST_LINE);
    for (const line of lines) this.line(line);
  }

  private line(line: string): void {
    const report = parse(line);
    if (report?.i !== this.count || this.count >= this.expected) return;
    this.count += 1;
    this.stopped = report.timed_out;
    this.starved = report.starved;
    this.onReport(report);
  }
}

function parse(line: string): DriverReport | null {
  if (!line.startsWith('{') || line.length > LONGEST_LINE) return null;
  try {
    return DriverReport.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}

export type Json = z.infer<ReturnType<typeof z.json>>;

/** Numbers within this tolerance, relative to the larger one or to 1, are equal. */
const TOLERANCE = 1e-9;
/** The driver's limit for a test's output; output of this length may be cut off and is not an observation. */
export const MOST_OBSERVED = 65_536;

/** Compares observations with expected values; `crashed` if they are unreadable or missing. */
export function compare(observed: string, expected: readonly Json[]): 'solved' | 'not-solved' | 'crashed' {
  const values = readObserved(observed);
  if (values === null || values.length === 0) return 'crashed';
  return same(values, [...expected]) ? 'solved' : 'not-solved';
}

function toldBy({ observes, expect }: GeneratedTest, observed: string): TestRun['outcome'] {
  if (observes !== true) return compare(observed, expect ?? []);
  return (readObserved(observed)?.length ?? 0) > 0 ? 'observed' : 'crashed';
}

/** One value per line; null if the text is cut off or not JSON. */
export function readObserved(observed: string): Json[] | null {
  if (observed.length >= MOST_OBSERVED) return null;
  try {
    return observed
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => z.json().parse(JSON.parse(line)));
  } catch {
    return null;
  }
}

/** Equality as JSON, regardless of key order; numbers within the tolerance. */
export function same(a: Json, b: Json): boolean {
  if (typeof a === 'number' && typeof b === 'number') {
    return a === b || Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a), Math.abs(b));
  }
  if (!isComposed(a) || !isComposed(b)) return a === b;
  const other = new Map(Object.entries(b));
  const own = Object.entries(a);
  if (Array.isArray(a) !== Array.isArray(b) || own.length !== other.size) return false;
  return own.every(([key, value]) => {
    const beside = other.get(key);
    return beside !== undefined && same(value, beside);
  });
}

function isComposed(value: Json): value is Json[] | Record<string, Json> {
  return typeof value === 'object' && value !== null;
}
