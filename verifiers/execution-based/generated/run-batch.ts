import { z } from 'zod';
import { CellOutcome } from '../../../src/core/run/cell.js';
import type { GeneratedTest } from '../../../src/core/run/generated-test.js';
import type { ExecOutcome, SandboxSession } from '../../../src/ports/sandbox.js';
import { inInstanceEnvironment, logTail } from '../drivers/environment.js';
import { NO_PROCESS_LEFT } from '../drivers/python-suite-driver.js';
import { extensionOf, type TestDialect } from '../drivers/test-dialect.js';
import type { ExecutionContext } from '../execution-context.js';
import { scratchDirectory } from '../tree/bytecode.js';

/** How one generated test ended on one tree. */
export const TestRun = z.object({
  outcome: CellOutcome,
  /** Negative: the signal that ended it; null: unknown. */
  exit_code: z.int().nullable(),
  duration_ms: z.number(),
  log_tail: z.string(),
});
export type TestRun = z.infer<typeof TestRun>;

/** Tests of one language. */
export interface Batch {
  readonly context: ExecutionContext;
  readonly dialect: TestDialect;
  readonly tests: readonly GeneratedTest[];
}

/** Takes each run when its test has ended; in the order of the tests. */
export type Keep = (test: GeneratedTest, run: TestRun) => Promise<void>;

const SOLVED = 0;
const NOT_SOLVED = 2;
/** For the driver's start and for killing what does not end by itself. */
const SLACK_S = 30;
const PER_TEST_SLACK_S = 5;

/**
 * Runs generated tests (exit 0 solved, 2 not solved, anything else broken) in one session, by the exit-code-and-nonce
 * protocol: solved and not solved both need the proof that the script's own end was reached. At least the first test
 * gets a run; those without one need a fresh session.
 * @throws whatever the session or `keep` throws: infrastructure, never a verdict
 */
export async function runBatch(
  session: SandboxSession,
  { context, dialect, tests }: Batch,
  keep: Keep,
  signal: AbortSignal,
): Promise<void> {
  const folder = scratchDirectory(context.nonce);
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
    take(report.i, runOf(report, nonces[report.i] ?? ''));
  });
  await session.writeFiles(
    [
      ...Object.entries(dialect.files).map(([name, content]) => ({ path: `${folder}/${name}`, content })),
      ...tests.map(({ path, content }, index) => ({ path: `${folder}/${index}${extensionOf(path)}`, content })),
    ],
    signal,
  );
  const ended = await session.exec(
    {
      ...driverCall({ context, dialect, tests }, folder),
      stdin: nonces.map((nonce) => `${nonce}\n`).join(''),
      onStdout: (piece) => {
        reports.push(piece);
      },
    },
    signal,
  );
  const { count, stopped } = reports;
  if (count < tests.length && !stopped && !isInnocent(ended, count)) take(count, culprit(ended));
  await Promise.all(kept);
}

function driverCall({ context, dialect, tests }: Batch, folder: string): Parameters<SandboxSession['exec']>[0] {
  const { workdir, test_timeout_s: seconds } = context.issue.environment;
  return inInstanceEnvironment({
    argv: ['sh', '-c', dialect.shell, 'sh', ...dialect.driver({ folder, workdir, seconds, tests })],
    cwd: workdir,
    deadlineS: tests.length * (seconds + PER_TEST_SLACK_S) + SLACK_S,
  });
}

/** Whether the driver ended early for what earlier tests left behind, and not for the test it was about to run. */
function isInnocent(ended: ExecOutcome, reported: number): boolean {
  return ended.kind === 'exited' && ended.exitCode === NO_PROCESS_LEFT && reported > 0;
}

/** The driver reports each test when it ends; where it died, the first one that it did not report was running. */
function culprit(ended: ExecOutcome): TestRun {
  return {
    outcome: ended.kind === 'exited' ? 'crashed' : ended.kind,
    exit_code: ended.kind === 'exited' ? ended.exitCode : null,
    duration_ms: ended.durationMs,
    log_tail: logTail(ended),
  };
}

function runOf(report: DriverReport, nonce: string): TestRun {
  return {
    outcome: outcomeOf(report, nonce),
    exit_code: report.status,
    duration_ms: report.ms,
    log_tail: report.log,
  };
}

function outcomeOf({ status, proof, timed_out, out_of_memory }: DriverReport, nonce: string): CellOutcome {
  if (timed_out) return 'timed-out';
  if (out_of_memory) return 'out-of-memory';
  if (proof !== `${nonce} ${String(status)}`) return 'crashed';
  if (status === SOLVED) return 'solved';
  return status === NOT_SOLVED ? 'not-solved' : 'crashed';
}

/** One line of the suite driver: how the process of test `i` ended. */
export const DriverReport = z.object({
  i: z.int().min(0),
  /** Exit status; negative: the signal that ended it. */
  status: z.int(),
  proof: z.string().nullable(),
  timed_out: z.boolean(),
  out_of_memory: z.boolean(),
  ms: z.number().min(0),
  log: z.string(),
});
export type DriverReport = z.infer<typeof DriverReport>;

const LONGEST_LINE = 64 * 1024;

/**
 * Reads the driver's lines as they come and hands on its reports, in the order of the tests. Whatever else stands on that
 * output, an over-long line or a report out of turn is nobody's report.
 */
export class DriverReports {
  /** How many reports were handed on. */
  count = 0;
  /** The last test that was reported exceeded its time, after which the driver stops by itself. */
  stopped = false;
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
