import { sha256 } from '../../core/identifier.js';
import type { ExecOutcome } from '../../ports/sandbox.js';
import { clipOutput, told, type ToolOutcome } from './tool-outcome.js';
import type { Workspace } from './workspace.js';

/** Uses bash if the image has it, else `sh`; the command is an argument, never part of this script. */
const SHELL = 'b=$(command -v bash) || b=/bin/sh; exec "$b" -c "$1"';

/** Runs a command of the agent. Its exit code and the limits it hits are results. @throws what the session throws */
export async function executeBash(command: string, workspace: Workspace, signal: AbortSignal): Promise<ToolOutcome> {
  if (command.includes('\0')) return told('The command contains a NUL byte and was not run.');
  if (Buffer.byteLength(command) >= LONGEST_COMMAND) {
    return told(`The command is too long and was not run. Write it to a file with file_editor and run that.`);
  }
  const tail = new OutputTail();
  const outcome = await workspace.exec(['/bin/sh', '-c', SHELL, 'sh', command], signal, tail.take);
  const output = await shown(outcome, tail, { command, workspace, signal });
  switch (outcome.kind) {
    case 'exited':
      return { text: output, exitCode: outcome.exitCode, repeat: true };
    case 'timed-out': {
      const late = `did not end within ${workspace.actionS} s`;
      if (!outcome.survived) return { ...lost(`${late} and its container was lost`, output), exitCode: TIMED_OUT };
      const text = `The command ${late} and was stopped. Output until then:\n${output}`;
      return { text, exitCode: TIMED_OUT, repeat: false };
    }
    case 'out-of-memory':
      return lost('ran out of memory and was stopped', output);
    case 'out-of-disk':
      return lost('ran out of disk space and was stopped', output);
  }
}

/** Maximum bytes of one argument on Linux (MAX_ARG_STRLEN). */
const LONGEST_COMMAND = 128 * 1024;

/** Exit code of `timeout` on expiry. */
const TIMED_OUT = 124;

function lost(what: string, output: string): ToolOutcome {
  const text = `The command ${what}; all files are as they were before it. Output until then:\n${output}`;
  return { text, repeat: false, lost: true };
}

interface Shown {
  readonly command: string;
  readonly workspace: Workspace;
  readonly signal: AbortSignal;
}

/** The output as shown to the model; for clipped parts with the name of a file that holds the whole. */
async function shown({ stdout, stderr, ...outcome }: ExecOutcome, tail: OutputTail, where: Shown): Promise<string> {
  const whole = outcome.truncated ? tail.behind(stdout) : stdout;
  const { asR2e } = where.workspace;
  const isThere = outcome.kind === 'exited' || (outcome.kind === 'timed-out' && outcome.survived);
  const parts = await Promise.all(
    [['STDOUT', whole] as const, ['STDERR', stderr] as const].map(async ([name, text]) => {
      if (text === '' && !asR2e) return [];
      const clipped = clipOutput(text);
      const file = clipped === text || !isThere ? null : await keep(text, name, where);
      return [`[${name}]\n\n${clipped}${file === null ? '' : `\n[The full output is in ${file}.]`}`];
    }),
  );
  const failed = asR2e && outcome.kind === 'exited' && outcome.exitCode !== 0;
  return `${failed ? 'Error executing command:\n\n' : ''}${parts.flat().join('\n\n') || 'The command printed nothing.'}`;
}

/** Outside the repository; named by the command's hash, so that the file reappears in a rebuilt container. */
const KEEP = 'mkdir -p "${1%/*}" && cat >"$1"';
const FOLDER = '/tmp/bestk-output';
const NAME_DIGITS = 8;

/** @returns the file with the whole text; null if it could not be written */
async function keep(
  text: string,
  part: 'STDOUT' | 'STDERR',
  { command, workspace, signal }: Shown,
): Promise<string | null> {
  const file = `${FOLDER}/${sha256(command).slice(0, NAME_DIGITS)}.${part === 'STDOUT' ? 'out' : 'err'}`;
  const outcome = await workspace.run(['/bin/sh', '-c', KEEP, 'keep', file], { stdin: text }, signal);
  return outcome.kind === 'exited' && outcome.exitCode === 0 ? file : null;
}

/** Bytes kept from the end of an output. */
const KEPT = 32 * 1024;

/** The end of an output of any length: test runners print what matters last, but a sandbox keeps the beginning. */
export class OutputTail {
  private pieces: Uint8Array[] = [];
  private size = 0;

  readonly take = (piece: Uint8Array): void => {
    this.pieces.push(piece.slice(-KEPT));
    this.size += piece.length;
    if (this.pieces.length > 64) this.pieces = [this.end()];
  };

  /** The kept beginning and end, separated by a note of the gap. */
  behind(beginning: string): string {
    const missing = this.size - Buffer.byteLength(beginning) - KEPT;
    if (missing <= 0) return beginning;
    // The first line is usually incomplete.
    const end = this.end()
      .toString('utf8')
      .replace(/^[^\n]*\n/, '');
    return `${beginning}\n[… ${missing} bytes omitted …]\n${end}`;
  }

  private end(): Buffer {
    return Buffer.concat(this.pieces).subarray(-KEPT);
  }
}
