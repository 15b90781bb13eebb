import type { ExecOutcome, SandboxSession } from '../ports/sandbox.js';
import type { GradingContext } from './grade.js';
import type { TestCommand } from './test-command.js';
import { TestLog } from './test-logs.js';

const LONGEST_LOG = 64 * 1024 * 1024;

/** Same for every candidate, so that a difference in outcome is the patch's. */
const ENV: Readonly<Record<string, string>> = {
  PYTHONHASHSEED: '0',
  PYTHONIOENCODING: 'utf8',
  TZ: 'UTC',
  LC_ALL: 'C.UTF-8',
};

/** Where published images keep the instance's interpreter; a directory that is not there changes nothing. */
const INSTANCE_PATH =
  'for d in /opt/miniconda3/envs/testbed/bin /root/.venv/bin; do [ -d "$d" ] && PATH="$d:$PATH"; done; export PATH';

/** The stream that holds the log becomes stdout, which has no limit of its own. */
const REDIRECT: Readonly<Record<TestCommand['reportsOn'], string>> = {
  both: 'exec 2>&1',
  stderr: 'exec 3>&1 1>&2 2>&3 3>&-',
};

/** How the hidden tests ended on one tree. */
export interface TestRun {
  readonly ended: ExecOutcome;
  readonly log: TestLog;
  /** The command printed more than was read, or than could be read in time. */
  readonly isCut: boolean;
}

/**
 * Runs the hidden tests on a tree that is ready for them.
 * @throws whatever the session throws: infrastructure, never a grade
 */
export async function runTests(session: SandboxSession, bench: GradingContext, signal: AbortSignal): Promise<TestRun> {
  const { command, timeLimitS, readLog } = bench;
  const log = new Log();
  const scripts = Object.entries(command.scripts).map(([path, content]) => ({ path, content }));
  await session.writeFiles(scripts, signal);
  const ended = await session.exec(
    {
      argv: ['sh', '-c', [INSTANCE_PATH, REDIRECT[command.reportsOn], command.line].join('\n')],
      env: ENV,
      deadlineS: timeLimitS,
      onStdout: (piece) => {
        log.push(piece);
      },
    },
    signal,
  );
  const read = await readLog({ format: command.format, bytes: log.bytes() }, signal);
  return { ended, log: read ?? new TestLog(), isCut: log.isCut || read === null };
}

/** What the command printed, from its beginning, up to a size that no test suite reaches. */
class Log {
  private readonly pieces: Uint8Array[] = [];
  private kept = 0;
  private seen = 0;

  push(piece: Uint8Array): void {
    const part = piece.slice(0, LONGEST_LOG - this.kept);
    if (part.length > 0) this.pieces.push(part);
    this.kept += part.length;
    this.seen += piece.length;
  }

  get isCut(): boolean {
    return this.seen > this.kept;
  }

  bytes(): Uint8Array {
    return Buffer.concat(this.pieces);
  }
}
