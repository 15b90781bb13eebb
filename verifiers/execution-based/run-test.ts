import type { CellOutcome } from '../../src/core/cell.js';
import type { GeneratedTest } from '../../src/core/generated-test.js';
import type { ExecOutcome, SandboxSession } from '../../src/ports/sandbox.js';
import { logTail } from './log-tail.js';
import { inInstanceEnvironment } from './suite-environment.js';
import { PYTHON_TEST_RUNNER } from './python-test-runner.js';

/** How one generated test ended on one tree. */
export interface TestRun {
  readonly outcome: CellOutcome;
  readonly exit_code: number | null;
  readonly duration_ms: number;
  readonly log_tail: string;
}

export interface TestPlace {
  readonly workdir: string;
  readonly timeoutS: number;
  /** Unguessable, new for every run of every test; lower-case letters and digits. */
  readonly nonce: () => string;
}

const SOLVED = 0;
const NOT_SOLVED = 2;
const LONGEST_PROOF = 200;

/** A directory with a neutral, random name outside the repository, so that no patch can put a file in its place. */
export function scratchDirectory(nonce: () => string): string {
  return `/var/lib/${nonce().slice(0, 16)}`;
}

/**
 * Runs one generated test (exit 0 solved, 2 not solved, anything else broken) by the exit-code-and-nonce protocol.
 * Solved and not solved both need the proof that the script's own end was reached; without it the cell is `crashed`.
 * @throws whatever the session throws: infrastructure, never a verdict
 */
export async function runTest(
  session: SandboxSession,
  test: GeneratedTest,
  place: TestPlace,
  signal: AbortSignal,
): Promise<TestRun> {
  const directory = scratchDirectory(place.nonce);
  const nonce = place.nonce();
  const [runner, script, verdict] = [`${directory}/run.py`, `${directory}/test_issue.py`, `${directory}/verdict`];
  await session.writeFiles(
    [
      { path: runner, content: PYTHON_TEST_RUNNER },
      { path: script, content: test.content },
    ],
    signal,
  );
  const ended = await session.exec(
    inInstanceEnvironment({
      argv: ['python3', '-W', 'ignore', runner, script, place.workdir, verdict],
      cwd: place.workdir,
      stdin: `${nonce}\n`,
      deadlineS: place.timeoutS,
    }),
    signal,
  );
  const proof = ended.kind === 'exited' ? await readProof(session, verdict, signal) : null;
  return {
    outcome: outcomeOf(ended, proof, nonce),
    exit_code: ended.kind === 'exited' ? ended.exitCode : null,
    duration_ms: ended.durationMs,
    log_tail: logTail(ended),
  };
}

async function readProof(session: SandboxSession, path: string, signal: AbortSignal): Promise<string | null> {
  const bytes = await session.readFile(path, LONGEST_PROOF, signal);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

function outcomeOf(ended: ExecOutcome, proof: string | null, nonce: string): CellOutcome {
  if (ended.kind !== 'exited') return ended.kind;
  if (proof !== `${nonce} ${String(ended.exitCode)}`) return 'crashed';
  if (ended.exitCode === SOLVED) return 'solved';
  return ended.exitCode === NOT_SOLVED ? 'not-solved' : 'crashed';
}
