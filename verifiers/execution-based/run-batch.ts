import { z } from 'zod';
import { CellOutcome } from '../../src/core/cell.js';
import type { GeneratedTest } from '../../src/core/generated-test.js';
import type { ExecOutcome, SandboxSession } from '../../src/ports/sandbox.js';
import type { Bench } from './bench.js';
import { logTail } from './log-tail.js';
import { NO_PROCESS_LEFT, PYTHON_SUITE_DRIVER } from './python-suite-driver.js';
import { scratchDirectory } from './scratch.js';
import { inInstanceEnvironment } from './suite-environment.js';

/** How one generated test ended on one tree. */
export const TestRun = z.object({
  outcome: CellOutcome,
  /** Negative: the signal that ended it; null: unknown. */
  exit_code: z.int().nullable(),
  duration_ms: z.number(),
  log_tail: z.string(),
});
export type TestRun = z.infer<typeof TestRun>;

export interface Batch {
  /** Of the first tests of the batch, in order; at least one, and fewer than asked for when the session was spoilt. */
  readonly runs: readonly TestRun[];
  /** The rest needs a fresh container. */
  readonly spoilt: boolean;
}

const Report = z.object({
  i: z.int(),
  status: z.int(),
  proof: z.string().nullable(),
  timed_out: z.boolean(),
  out_of_memory: z.boolean(),
  ms: z.number().min(0),
  log: z.string(),
});
type Report = z.infer<typeof Report>;

const SOLVED = 0;
const NOT_SOLVED = 2;
/** For the driver's start and for killing what does not end by itself. */
const SLACK_S = 30;
const PER_TEST_SLACK_S = 5;

/**
 * Runs generated tests (exit 0 solved, 2 not solved, anything else broken) in one session, by the exit-code-and-nonce
 * protocol: solved and not solved both need the proof that the script's own end was reached.
 * @throws whatever the session throws: infrastructure, never a verdict
 */
export async function runBatch(
  session: SandboxSession,
  bench: Bench,
  tests: readonly GeneratedTest[],
  signal: AbortSignal,
): Promise<Batch> {
  const { workdir, test_timeout_s } = bench.issue.environment;
  const folder = scratchDirectory(bench.nonce);
  const nonces = tests.map(() => bench.nonce());
  await session.writeFiles(
    [
      { path: `${folder}/driver.py`, content: PYTHON_SUITE_DRIVER },
      ...tests.map(({ content }, index) => ({ path: `${folder}/${index}.py`, content })),
    ],
    signal,
  );
  const hide = 'export BESTK_PYTHONPATH="$PYTHONPATH"; unset PYTHONPATH; exec "$@"';
  const driver = ['python3', '-W', 'ignore', `${folder}/driver.py`, folder, workdir];
  const ended = await session.exec(
    inInstanceEnvironment({
      argv: ['sh', '-c', hide, 'sh', ...driver, String(test_timeout_s), String(tests.length)],
      cwd: workdir,
      stdin: nonces.map((nonce) => `${nonce}\n`).join(''),
      deadlineS: tests.length * (test_timeout_s + PER_TEST_SLACK_S) + SLACK_S,
    }),
    signal,
  );
  return batchOf(ended, nonces);
}

function batchOf(ended: ExecOutcome, nonces: readonly string[]): Batch {
  const reports = readReports(ended.stdout, nonces.length);
  const runs = reports.map((report): TestRun => ({
    outcome: outcomeOf(report, nonces[report.i] ?? ''),
    exit_code: report.status,
    duration_ms: report.ms,
    log_tail: report.log,
  }));
  const complete = runs.length === nonces.length;
  const stopped = reports.at(-1)?.timed_out === true;
  const innocent =
    stopped || (ended.kind === 'exited' && runs.length > 0 && isInnocent(ended.exitCode, ended.truncated));
  if (!complete && !innocent) runs.push(culprit(ended));
  return { runs, spoilt: ended.kind !== 'exited' || stopped || !complete };
}

/** Whether the driver ended early for what earlier tests did, and not for the test it was about to run. */
function isInnocent(exitCode: number, truncated: boolean): boolean {
  return exitCode === NO_PROCESS_LEFT || (exitCode === 0 && truncated);
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

/** Reports in the order of the tests; whatever else stands on the driver's output is nobody's report. */
function readReports(stdout: string, count: number): readonly Report[] {
  const reports: Report[] = [];
  for (const line of stdout.split('\n')) {
    const report = readReport(line);
    if (report?.i === reports.length && reports.length < count) reports.push(report);
  }
  return reports;
}

function readReport(line: string): Report | null {
  if (!line.startsWith('{')) return null;
  try {
    return Report.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null;
  }
}

function outcomeOf({ status, proof, timed_out, out_of_memory }: Report, nonce: string): CellOutcome {
  if (timed_out) return 'timed-out';
  if (out_of_memory) return 'out-of-memory';
  if (proof !== `${nonce} ${String(status)}`) return 'crashed';
  if (status === SOLVED) return 'solved';
  return status === NOT_SOLVED ? 'not-solved' : 'crashed';
}
