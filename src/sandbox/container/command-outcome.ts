import type { ExecOutcome, ExecRequest } from '../../ports/sandbox.js';
import type { RunningExec } from './container.js';
import { decodeOutput } from './output.js';

/** Exit status of "found, but could not be run", as shells have it. */
const CANNOT_RUN = 126;

/** What `timeout` exits with when it had to stop the command, by TERM or by KILL. */
const BY_TIMEOUT = new Set([124, 137]);

/** By performance.now(). */
export interface Timing {
  readonly deadlineMs: number;
  readonly askedAt: number;
}

export type Ending =
  | { readonly kind: 'exited'; readonly exitCode: number; readonly neverStarted?: true }
  | { readonly kind: 'timed-out'; readonly survived: boolean }
  | { readonly kind: 'out-of-memory' | 'out-of-disk' };

/**
 * How a command with this exit code ended, leaving memory aside. Codes alone say nothing: a command may itself exit with
 * 124 or 137, and `timeout` may pass on a code of the command's. So a time-out is an end at or after the deadline, by the
 * host's clock, survived as far as the container goes. A command that never started (an earlier one used up all processes, or broke the shell) cannot have passed.
 */
export function endingOf(exitCode: number, prologue: Prologue, { deadlineMs, askedAt }: Timing): Ending {
  if (prologue.startedAt === null) {
    return { kind: 'exited', exitCode: exitCode === 0 ? CANNOT_RUN : exitCode, neverStarted: true };
  }
  const now = performance.now();
  // The word that the command began may have come late to a busy host, the one that it ended did not come early.
  const isLate = now - prologue.startedAt >= deadlineMs || (BY_TIMEOUT.has(exitCode) && now - askedAt >= deadlineMs);
  if (isLate) return { kind: 'timed-out', survived: true };
  return { kind: 'exited', exitCode };
}

/** `timeout` came to run but found no process left for the command; all that coreutils or busybox then say. */
const NO_FORK = /^\S*timeout: (fork system call failed|v?fork): [^\n]*\n$/;
const TIMEOUT_FAILED = new Set([125, 1]);

/** An ending by what was said, too: a command for which there was no process has not started. */
export function refined(ending: Ending, stderr: Buffer): Ending {
  if (ending.kind !== 'exited' || !TIMEOUT_FAILED.has(ending.exitCode)) return ending;
  return NO_FORK.test(stderr.toString('latin1', 0, 200)) ? { ...ending, neverStarted: true } : ending;
}

/** The ending together with what was said until then; `startedAt` by performance.now(). */
export function outcomeOf(ending: Ending, { stdout, stderr }: RunningExec, startedAt: number): ExecOutcome {
  return {
    ...ending,
    stdout: decodeOutput(stdout.bytes(), stdout.truncated),
    stderr: decodeOutput(stderr.bytes(), stderr.truncated),
    truncated: stdout.truncated || stderr.truncated,
    durationMs: Math.round(performance.now() - startedAt),
  };
}

/** After the deadline `timeout` sends TERM, and this many seconds later KILL. */
const KILL_AFTER_S = 2;

/**
 * Prints how many processes of this container the kernel killed for lack of memory (cgroup v2, or v1), or nothing.
 * Needed because the engine reports such a kill only for process 1: a command shows 137, as after any `kill -9`.
 */
export const OOM_KILLS = `n=
for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r "$f" ] && while read -r k v; do [ "$k" = oom_kill ] && n=$v; done <"$f"
done
`;

/**
 * Runs before the command: says on stderr's first line that the container did start it, together with the number of
 * memory kills so far. Arguments are positional, so that nothing of the request is read as shell.
 */
const PROLOGUE = `${OOM_KILLS}printf 'bestk:%s\\n' "$n" >&2
cd "$1" || exit 126
unset OLDPWD
shift
exec "$@"`;

/** Longest first line the prologue can print. */
const MARKER = /^bestk:(\d{0,20})\n/;
const MARKER_BYTES = 32;

/** Whole seconds, at least one: busybox's `timeout` knows no fractions. */
export function wholeDeadline(deadlineS: number): number {
  return Math.max(1, Math.ceil(deadlineS));
}

/**
 * The request as an argv for the engine. `timeout` (its absolute path, or null when the image has none) kills the command
 * and its process group inside; processes that left the group die with the container, which is removed after a time-out.
 */
export function commandLine(request: ExecRequest, cwd: string, timeout: string | null): string[] {
  const limit = timeout === null ? [] : [timeout, '-k', String(KILL_AFTER_S), String(wholeDeadline(request.deadlineS))];
  return ['/bin/sh', '-c', PROLOGUE, 'sh', cwd, ...limit, ...request.argv];
}

/** Takes the prologue's line off the head of stderr and remembers when it came. */
export class Prologue {
  #head: Buffer | null = Buffer.alloc(0);
  /** When the command started, by performance.now(); null when it never did. */
  startedAt: number | null = null;
  /** Memory kills before the command; null when unknown. */
  oomKills: number | null = null;

  /** What of `chunk` belongs to the command. */
  readonly take = (chunk: Buffer): Buffer => {
    if (this.#head === null) return chunk;
    this.#head = Buffer.concat([this.#head, chunk]);
    const marker = MARKER.exec(this.#head.toString('latin1', 0, MARKER_BYTES));
    if (marker === null) return this.#head.length < MARKER_BYTES ? Buffer.alloc(0) : this.#release(0);
    this.startedAt = performance.now();
    this.oomKills = marker[1] === '' ? null : Number(marker[1]);
    return this.#release(marker[0].length);
  };

  #release(from: number): Buffer {
    const rest = this.#head?.subarray(from) ?? Buffer.alloc(0);
    this.#head = null;
    return rest;
  }
}
