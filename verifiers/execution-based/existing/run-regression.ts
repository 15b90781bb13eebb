import { z } from 'zod';
import type { Environment } from '../../../src/core/run/issue.js';
import { withTestFiles } from '../../../src/core/shell.js';
import type { ExecRequest, SandboxSession } from '../../../src/ports/sandbox.js';
import { logTail } from '../drivers/environment.js';
import { PYTHON_SITE_CUSTOMIZE, PYTHON_TEST_PROBE } from '../drivers/python-test-probe.js';
import { inInstanceEnvironment } from '../drivers/environment.js';
import { readReport } from '../readers/test-report.js';
import { randomFrom } from '../random.js';
import { StatusByTest, type TestReport, type TestStatus } from '../readers/test-status.js';
import { scratchDirectory } from '../tree/bytecode.js';
import { type ControlEnd, plantFailingTest, withoutFailingTest } from './failing-test.js';

/** How the regression command ended on one tree: which existing tests passed, by their own ids. */
export interface RegressionRun {
  readonly outcome: 'exited' | 'timed-out' | 'out-of-memory' | 'out-of-disk';
  readonly exit_code: number | null;
  readonly duration_ms: number;
  readonly passed: readonly string[];
  readonly failed: readonly string[];
  readonly skipped: readonly string[];
  /** Whether the runner's report says so, for lack of anything that the probe saw. */
  readonly reported: boolean;
  /** Functions of the test runner that were put in the place of its own. */
  readonly changed: readonly string[];
  readonly log_tail: string;
  /** Whether the tests ran as a user apart from root. */
  readonly isolated: boolean;
  /** What became of the test that fails whatever the code does. */
  readonly control: ControlEnd;
  /** Of the first run on base: where it wrote to. */
  readonly writes: readonly string[];
}

const LARGEST_RECORD = 64 * 1024 * 1024;
const CLEAR_S = 30;
const Note = z.object({
  t: z.string().min(1).max(2_000),
  s: z.enum(['passed', 'failed', 'skipped']),
  k: z.string(),
  c: z.array(z.string()).optional(),
});

export interface RegressionPlan {
  readonly nonce: () => string;
  readonly user: Pick<ExecRequest, 'as'>;
  /** Where tests stand that the command ran on base. */
  readonly places: readonly string[];
  /** Done when everything is in its place, before the command. */
  readonly ready?: () => Promise<void>;
}

/**
 * Runs the instance's regression command once. `{files}` becomes the quoted regression files, `{modules}` their dotted names; it is the issue's own
 * shell command and runs in the sandbox's shell, nowhere else.
 * @throws whatever the session throws: infrastructure, never a verdict
 */
export async function runRegression(
  session: SandboxSession,
  environment: Environment & { readonly regression_command: string },
  { nonce, user, places, ready }: RegressionPlan,
  signal: AbortSignal,
): Promise<RegressionRun> {
  const directory = scratchDirectory(nonce);
  const record = `${directory}/record.jsonl`;
  const key = nonce();
  const printed = new Printed();
  if (environment.regression_report !== null) {
    // One that the image or the patch brings along is nobody's report.
    const argv = ['rm', '-rf', '--', environment.regression_report];
    await session.exec({ argv, cwd: environment.workdir, deadlineS: CLEAR_S }, signal);
  }
  const control = await plantFailingTest(session, environment, { random: randomFrom(nonce), places }, signal);
  await session.writeFiles(
    [
      { path: `${directory}/bestk_probe.py`, content: PYTHON_TEST_PROBE },
      { path: `${directory}/sitecustomize.py`, content: PYTHON_SITE_CUSTOMIZE },
      // To be added to by all, and read by nobody: each line has the key.
      { path: record, content: '', mode: 0o622 },
    ],
    signal,
  );
  await ready?.();
  const ended = await session.exec(
    inInstanceEnvironment({
      ...user,
      argv: [
        'sh',
        '-c',
        `export PYTHONPATH="$0\${PYTHONPATH:+:$PYTHONPATH}"; ${withTestFiles(environment.regression_command, environment.regression_files)}`,
        directory,
      ],
      cwd: environment.workdir,
      env: { BESTK_PROBE: `${record}|${key}`, PYTEST_PLUGINS: 'bestk_probe' },
      deadlineS: environment.test_timeout_s,
      onStdout: printed.take,
    }),
    signal,
  );
  const exited = ended.kind === 'exited';
  const bytes = exited ? await session.readFile(record, LARGEST_RECORD, signal) : null;
  const junit = exited ? await reportFile(session, environment, signal) : null;
  const report = (): TestReport => (exited ? readReport({ junit, stdout: printed.text() }) : new Map());
  return {
    outcome: ended.kind,
    exit_code: exited ? ended.exitCode : null,
    duration_ms: ended.durationMs,
    ...byStatus({ record: bytes === null ? '' : new TextDecoder().decode(bytes), key, control }, report),
    log_tail: logTail(ended),
    isolated: user.as === 'tests',
    writes: [],
  };
}

/** What was printed, up to a size beyond which it is no report. */
class Printed {
  private pieces: Uint8Array[] = [];
  private size = 0;

  readonly take = (piece: Uint8Array): void => {
    this.size += piece.length;
    if (this.size <= LARGEST_RECORD) this.pieces.push(piece);
    else this.pieces = [];
  };

  text(): string {
    return Buffer.concat(this.pieces).toString('utf8');
  }
}

/** The report that the issue names; null when it names none, empty when there is none or it is too large. */
async function reportFile(
  session: SandboxSession,
  environment: Environment,
  signal: AbortSignal,
): Promise<string | null> {
  const { regression_report: path, workdir } = environment;
  if (path === null) return null;
  const bytes = await session.readFile(path.startsWith('/') ? path : `${workdir}/${path}`, LARGEST_RECORD + 1, signal);
  return bytes === null || bytes.length > LARGEST_RECORD ? '' : new TextDecoder().decode(bytes);
}

type Statuses = Pick<RegressionRun, 'passed' | 'failed' | 'skipped' | 'reported' | 'changed' | 'control'>;

interface Noted {
  readonly record: string;
  readonly key: string;
  /** Name of the failing test that was added. */
  readonly control: string | null;
}

/** By what the probe noted; where it saw no test, by the runner's report. */
function byStatus({ record, key, control: name }: Noted, report: () => TestReport): Statuses {
  const tests = new StatusByTest();
  const changed: string[] = [];
  for (const line of record.split('\n')) {
    const note = readNote(line);
    if (note?.k !== key) continue;
    if (note.c === undefined) tests.note(note.t, note.s);
    else changed.push(...note.c);
  }
  const reported = tests.all.size === 0;
  const all = reported ? report() : tests.all;
  const { control, ids } = withoutFailingTest(all, name);
  const having = (status: TestStatus): string[] =>
    [...all]
      .filter(([test, value]) => value === status && !ids.has(test))
      .map(([test]) => test)
      .sort();
  const [passed, failed, skipped] = [having('passed'), having('failed'), having('skipped')];
  return { passed, failed, skipped, reported, changed, control };
}

/** A torn or foreign line is no note: its test counts as missing, and missing is never a pass. */
function readNote(line: string): z.infer<typeof Note> | null {
  if (line === '') return null;
  try {
    const note = Note.safeParse(JSON.parse(line));
    return note.success ? note.data : null;
  } catch {
    return null;
  }
}
