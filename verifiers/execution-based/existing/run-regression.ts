import { CappedBytes } from '../../../src/core/hostile-text.js';
import { type Environment, withTestFiles } from '../../../src/core/run/issue.js';
import {
  type ExecRequest,
  OUT_OF_CPU,
  type SandboxFile,
  type SandboxSession,
  WALL,
} from '../../../src/ports/sandbox.js';
import { logTail, inInstanceEnvironment } from '../drivers/test-dialect.js';
import { PYTHON_SITE_CUSTOMIZE, PYTHON_TEST_PROBE } from '../drivers/existing-tests-probe.js';
import {
  LARGEST_RECORD,
  NOTHING_RECORDED,
  type RecordedTests,
  type RecordReader,
  type RunRecord,
} from './run-record.js';
import { randomFrom, scratchDirectory } from '../execution-context.js';
import { endTests } from '../tree/tree-sessions.js';
import { plantFailingTest, type Planting, selectorOf } from './failing-test.js';

/** Result of the regression command on one tree: which existing tests passed, by their ids. */
export interface RegressionRun extends RecordedTests {
  readonly outcome: 'exited' | 'timed-out' | 'out-of-memory' | 'out-of-disk';
  readonly exit_code: number | null;
  readonly duration_ms: number;
  readonly log_tail: string;
  /** Whether the tests ran as the separate tests' user. */
  readonly isolated: boolean;
  /** Paths that the first run on base wrote to; empty for other runs. */
  readonly writes: readonly string[];
}

const CLEAR_S = 30;

export type CommandedEnvironment = Environment & { readonly regression_command: string };

export interface RegressionPlan extends Omit<Planting, 'random'> {
  readonly nonce: () => string;
  readonly user: Pick<ExecRequest, 'as'>;
  readonly read: RecordReader;
  /** Called when everything is set up, before the command. */
  readonly ready?: () => Promise<void>;
}

/**
 * Runs the instance's regression command once. `{files}` becomes the quoted regression files, `{modules}` their dotted
 * names. The shell command runs only in the sandbox's shell.
 * @throws whatever the session throws: infrastructure failures, never a verdict
 */
export async function runRegression(
  session: SandboxSession,
  environment: CommandedEnvironment,
  { nonce, user, places, control, read, ready }: RegressionPlan,
  signal: AbortSignal,
): Promise<RegressionRun> {
  const [directory, key] = [scratchDirectory(nonce), nonce()];
  const printed = new Printed();
  if (environment.regression_report !== null) {
    // A report that the image or the patch contains must not be taken for this run's.
    const argv = ['rm', '-rf', '--', environment.regression_report];
    await session.exec({ argv, cwd: environment.workdir, deadlineS: CLEAR_S }, signal);
  }
  const random = randomFrom(nonce);
  const planted = await plantFailingTest(session, environment, { random, places, control }, signal);
  const selector = planted === null ? [] : selectorOf(planted, environment);
  await session.writeFiles(probeFiles(directory), signal);
  await ready?.();
  const suite = { ...environment, regression_files: [...environment.regression_files, ...selector] };
  const limits = { cpuS: environment.test_timeout_s, deadlineS: WALL * environment.test_timeout_s };
  const request = { ...probedRequest(suite, { directory, key }), ...limits, ...user, onStdout: printed.take };
  const ended = await session.exec(inInstanceEnvironment(request), signal);
  const exited = ended.kind === 'exited';
  const left = async (): Promise<RunRecord> => ({
    notes: (await session.readFile(recordOf(directory), LARGEST_RECORD, signal)) ?? new Uint8Array(),
    ...{ key, planted, stdout: printed.bytes() },
    junit: await reportFile(session, environment, signal),
  });
  // A process still running could change the record while it is read, and make the reading fail.
  const isOver = exited && (user.as !== 'tests' || (await endTests(session, signal)));
  const recorded = isOver ? await read(await left(), signal) : NOTHING_RECORDED;
  return {
    outcome: exited && ended.exitCode === OUT_OF_CPU ? 'timed-out' : ended.kind,
    exit_code: exited ? ended.exitCode : null,
    duration_ms: ended.durationMs,
    ...recorded,
    log_tail: logTail(ended),
    isolated: user.as === 'tests',
    writes: [],
  };
}

/** The probe's files, in a separate directory. */
export function probeFiles(directory: string): SandboxFile[] {
  return [
    { path: `${directory}/bestk_probe.py`, content: PYTHON_TEST_PROBE },
    { path: `${directory}/sitecustomize.py`, content: PYTHON_SITE_CUSTOMIZE },
    // Writable for all users, readable only for the owner, since each line contains the key.
    { path: recordOf(directory), content: '', mode: 0o622 },
  ];
}

export function recordOf(directory: string): string {
  return `${directory}/record.jsonl`;
}

/** The regression command with its files; the Python processes that it starts load the probe. */
export function probedRequest(
  { regression_command, regression_files, workdir }: CommandedEnvironment,
  { directory, key }: { readonly directory: string; readonly key: string },
): Omit<ExecRequest, 'deadlineS'> {
  const command = withTestFiles(regression_command, regression_files);
  return {
    argv: ['/bin/sh', '-c', `export PYTHONPATH="$0\${PYTHONPATH:+:$PYTHONPATH}"; ${command}`, directory],
    cwd: workdir,
    env: { BESTK_PROBE: `${recordOf(directory)}|${key}`, PYTEST_PLUGINS: 'bestk_probe' },
  };
}

/** Collects stdout; empty once it exceeds the size of any report. */
export class Printed {
  private readonly kept: CappedBytes;

  constructor(most = LARGEST_RECORD) {
    this.kept = new CappedBytes(most);
  }

  readonly take = (piece: Uint8Array): void => {
    this.kept.push(piece);
  };

  bytes(): Uint8Array {
    return this.kept.truncated ? new Uint8Array() : this.kept.bytes();
  }
}

/** The report that the issue names; null if it names none, empty if it is missing or too large. */
async function reportFile(
  session: SandboxSession,
  environment: Environment,
  signal: AbortSignal,
): Promise<Uint8Array | null> {
  const { regression_report: path, workdir } = environment;
  if (path === null) return null;
  const bytes = await session.readFile(path.startsWith('/') ? path : `${workdir}/${path}`, LARGEST_RECORD + 1, signal);
  return bytes === null || bytes.length > LARGEST_RECORD ? new Uint8Array() : bytes;
}
