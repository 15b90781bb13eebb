import { z } from 'zod';
import { SandboxLostError } from '../../../src/core/errors/unavailable.js';
import { CellOutcome, type GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { ExecOutcome, ExecRequest, Ids, SandboxSession } from '../../../src/ports/sandbox.js';
import {
  inInstanceEnvironment,
  logTail,
  extensionOf,
  type DrivenDialect,
  type TestDialect,
  WALL,
} from '../drivers/test-dialect.js';
import { NO_PROCESS_LEFT } from '../drivers/python-suite-driver.js';
import { type ExecutionContext, scratchDirectory } from '../execution-context.js';
import { raisedBy } from './cell-kinds.js';

/** How one generated test ended on one tree. */
export const TestRun = z.object({
  outcome: CellOutcome.exclude(['forged']),
  /** Negative: the signal that ended it; null: unknown. */
  exit_code: z.int().nullable(),
  duration_ms: z.number(),
  log_tail: z.string(),
  /** What a test that observes told, one JSON value a line; null for the others. */
  observed: z.string().nullable(),
  /** Whether it ran as a user apart from root. */
  isolated: z.boolean(),
  /** The type of the error that ended it, where that was told. */
  raises: z.string().exactOptional(),
});
export type TestRun = z.infer<typeof TestRun>;

/** Tests of one language. */
export interface Batch {
  readonly context: ExecutionContext;
  readonly dialect: TestDialect;
  readonly tests: readonly GeneratedTest[];
}

export type DrivenBatch = Batch & { readonly dialect: DrivenDialect };

/** Takes each run when its test has ended; in the order of the tests. */
export type Keep = (test: GeneratedTest, run: TestRun) => Promise<void>;

/** For the driver's start and for killing what does not end by itself. */
const SLACK_S = 30;
const PER_TEST_SLACK_S = 5;

/**
 * Runs generated tests in one session, by the exit-code-and-nonce protocol (exit 0 solved, 2 not solved, anything else broken):
 * solved and not solved both need the proof that the script's own end was reached. At least the first test gets a run; those
 * without one need a fresh session.
 * @throws SandboxLostError when a test was kept from the CPU, and whatever the session or `keep` throws: infrastructure, never a verdict
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
      // The driver lets a test read its own script alone, while it runs. Sizes would tell which one is another's twin.
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
  if (reports.starved) throw new SandboxLostError('the machine was busy: a test did not have its seconds of the CPU');
}

function driverCall({ context, dialect, tests }: DrivenBatch, folder: string, user: Ids | null): ExecRequest {
  const { workdir, test_timeout_s: seconds } = context.issue.environment;
  return inInstanceEnvironment({
    ...(user === null ? {} : { as: 'root' }),
    argv: ['sh', '-c', dialect.shell, 'sh', ...dialect.driver({ folder, workdir, seconds, tests, user })],
    cwd: workdir,
    // No test that has the driver wait in vain costs more than its own time.
    silenceS: WALL * seconds + SLACK_S,
    deadlineS: tests.length * (WALL * seconds + PER_TEST_SLACK_S) + SLACK_S,
  });
}

/** Whether the driver ended early for what earlier tests left behind, and not for the test it was about to run. */
function isInnocent(ended: ExecOutcome, reported: number): boolean {
  return ended.kind === 'exited' && ended.exitCode === NO_PROCESS_LEFT && reported > 0;
}

/** The driver reports each test when it ends; where it died, the first one that it did not report was running. */
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
  // A bare assertion says it as plainly as an exit, and a patch gains nothing by forging it.
  const isAssertion = status === 1 && raises === 'AssertionError';
  return { outcome: isAssertion ? 'not-solved' : 'crashed', observed: null, raises };
}

const OUTCOME_OF_STATUS: Readonly<Record<number, TestRun['outcome']>> = { 0: 'solved', 2: 'not-solved' };

/** One line of the suite driver: how the process of test `i` ended. */
export const DriverReport = z.object({
  i: z.int().min(0),
  /** Exit status; negative: the signal that ended it. */
  status: z.int(),
  /** What came over the test's own pipe: its proof, or what it observed. */
  said: z.string(),
  timed_out: z.boolean(),
  /** It did, but others had the CPU in its time: nobody knows what it would have come to. */
  starved: z.boolean().default(false),
  out_of_memory: z.boolean(),
  ms: z.number().min(0),
  log: z.string(),
});
export type DriverReport = z.infer<typeof DriverReport>;

/** What a test said and its log, each byte written as six at worst. */
const LONGEST_LINE = 512 * 1024;

/**
 * Reads the driver's lines as they come and hands on its reports, in the order of the tests. Whatever else stands on that
 * output, an over-long line or a report out of turn is nobody's report.
 */
export class DriverReports {
  /** How many reports were handed on. */
  count = 0;
  /** The last test that was reported exceeded its time, after which the driver stops by itself. */
  stopped = false;
  /** It did so because the machine was busy. */
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

/** Floats that are no further apart than this, relative to the larger one or to 1, are the same. */
const TOLERANCE = 1e-9;
/** The driver keeps no more of what a test says; what is cut off there is no observation. */
export const MOST_OBSERVED = 65_536;

/** What was observed against what is expected; an observation that cannot be read is none. */
export function compare(observed: string, expected: readonly Json[]): 'solved' | 'not-solved' | 'crashed' {
  const values = readObserved(observed);
  if (values === null || values.length === 0) return 'crashed';
  return same(values, [...expected]) ? 'solved' : 'not-solved';
}

function toldBy({ observes, expect }: GeneratedTest, observed: string): TestRun['outcome'] {
  if (observes !== true) return compare(observed, expect ?? []);
  return (readObserved(observed)?.length ?? 0) > 0 ? 'observed' : 'crashed';
}

/** One value a line; null where the text is cut off or no JSON. */
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

/** Equal as JSON, whatever the order of keys; numbers within the tolerance. */
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
