import { SandboxStarvedError } from '../../core/errors/unavailable.js';
import type { ExecOutcome, ExecRequest } from '../../ports/sandbox.js';
import { CANNOT_RUN, type Container, decodeOutput, KILLED, type RunningExec } from './container.js';
import { type Prepared, runPlain } from './own-commands.js';

/** Exit status of `timeout` when it stopped the command, by TERM or by KILL. */
const BY_TIMEOUT = new Set([124, KILLED]);

/** On the clock of performance.now(). */
interface Timing {
  readonly deadlineMs: number;
  readonly askedAt: number;
  /** Null = now. */
  readonly endedAt: number | null;
}

export type Ending =
  | { readonly kind: 'exited'; readonly exitCode: number; readonly neverStarted?: true }
  | { readonly kind: 'timed-out'; readonly survived: boolean }
  | { readonly kind: 'out-of-memory' | 'out-of-disk' };

/**
 * How a command with this exit code ended, not considering memory. The code alone proves nothing: a command may itself
 * exit with 124 or 137, and `timeout` may pass on such a code. A time-out is therefore an end at or after the deadline
 * by the host's clock; the container survives it. A command that never started (an earlier one used up all processes,
 * or broke the shell) cannot have passed.
 */
export function endingOf(exitCode: number, prologue: Prologue, { deadlineMs, askedAt, endedAt }: Timing): Ending {
  if (prologue.startedAt === null) {
    return { kind: 'exited', exitCode: exitCode === 0 ? CANNOT_RUN : exitCode, neverStarted: true };
  }
  const at = endedAt ?? performance.now();
  // A busy host may notice the start late but not the end early: with `timeout`'s codes, time counts from the request.
  const isLate = at - prologue.startedAt >= deadlineMs || (BY_TIMEOUT.has(exitCode) && at - askedAt >= deadlineMs);
  if (isLate) return { kind: 'timed-out', survived: true };
  return { kind: 'exited', exitCode };
}

/** `timeout` ran but could not fork the command: the complete messages of coreutils and busybox. */
const NO_FORK = /^\S*timeout: (fork system call failed|v?fork): [^\n]*\n$/;
const TIMEOUT_FAILED = new Set([125, 1]);

/** Refines an ending by the output: a command that could not be forked has not started. */
export function refined(ending: Ending, stderr: Buffer): Ending {
  if (ending.kind !== 'exited' || !TIMEOUT_FAILED.has(ending.exitCode)) return ending;
  return NO_FORK.test(stderr.toString('latin1', 0, 200)) ? { ...ending, neverStarted: true } : ending;
}

/** The ending together with the output so far. */
export function outcomeOf(
  ending: Ending,
  { stdout, stderr }: RunningExec,
  { prologue, askedAt, endedAt }: Timing & { readonly prologue: Prologue },
): ExecOutcome {
  const lasted = (endedAt ?? performance.now()) - (prologue.startedAt ?? askedAt);
  return {
    ...ending,
    stdout: decodeOutput(stdout.bytes(), stdout.truncated),
    stderr: decodeOutput(stderr.bytes(), stderr.truncated),
    truncated: stdout.truncated || stderr.truncated,
    // Its end may be known before its first line has been read.
    durationMs: Math.max(0, Math.round(lasted)),
  };
}

/** Seconds between the TERM that `timeout` sends at the deadline and its KILL. */
const KILL_AFTER_S = 2;

/**
 * Prints how many processes of this container the kernel killed for lack of memory (cgroup v2, or v1), or nothing. The
 * engine reports such a kill only for process 1; a command just exits with 137, as after any `kill -9`.
 */
export const OOM_KILLS = `n=
for f in /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control; do
  [ -r "$f" ] && while read -r k v; do [ "$k" = oom_kill ] && n=$v; done <"$f"
done
`;

/**
 * Runs before the command: reports on stderr's first line that the container started it, with the number of memory
 * kills so far. Arguments are positional, so that no part of the request is interpreted by the shell.
 */
const PROLOGUE = `${OOM_KILLS}printf 'bestk:%s\\n' "$n" >&2
cd "$1" || exit 126
unset OLDPWD
shift
`;
const IN_IMAGE_ENVIRONMENT = 'exec "$@"';
/** The first argument is PATH. */
const IN_OWN_ENVIRONMENT = 'PATH=$1; shift; exec env -i HOME="$HOME" PATH="$PATH" "$@"';

/** Longest first line the prologue can print. */
const MARKER = /^bestk:(\d{0,20})\n/;
const MARKER_BYTES = 32;

/** Whole seconds, at least one: busybox's `timeout` does not accept fractions. */
export function wholeDeadline(deadlineS: number): number {
  return Math.max(1, Math.ceil(deadlineS));
}

/**
 * The request as an argv for the engine. `timeout` (its absolute path, or null when the image has none) kills the
 * command and its process group inside; processes that left the group die with the container, which is removed after a
 * time-out.
 */
export function commandLine(
  { argv, deadlineS, environment, env = {} }: ExecRequest,
  cwd: string,
  { timeout, programs }: Pick<Prepared, 'timeout' | 'programs'>,
): string[] {
  const limit = timeout === null ? [] : [timeout, '-k', String(KILL_AFTER_S), String(wholeDeadline(deadlineS))];
  if (environment === 'image') {
    return ['/bin/sh', '-c', PROLOGUE + IN_IMAGE_ENVIRONMENT, 'sh', cwd, ...limit, ...argv];
  }
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return ['/bin/sh', '-c', PROLOGUE + IN_OWN_ENVIRONMENT, 'sh', cwd, programs, ...variables, ...limit, ...argv];
}

/** Removes the prologue's line from the head of stderr and records when it arrived. */
export class Prologue {
  #head: Buffer | null = Buffer.alloc(0);
  /** When the command started, by performance.now(); null if it never did. */
  startedAt: number | null = null;
  /** Memory kills before the command; null when unknown. */
  oomKills: number | null = null;

  /** The part of `chunk` that belongs to the command. */
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

/** The request's command with its CPU limit, which every process that it starts inherits. */
export function withCpuLimit({ argv, cpuS }: Pick<ExecRequest, 'argv' | 'cpuS'>): readonly string[] {
  if (cpuS === undefined) return argv;
  return ['/bin/sh', '-c', 'ulimit -S -t "$0"; exec "$@"', String(Math.max(1, Math.ceil(cpuS))), ...argv];
}

/**
 * Prints the microseconds of CPU time that the container used (cgroup v2, or v1), and those in which some process
 * waited for a CPU: in the container's cgroup if it reports pressure, else on the whole machine. Prints nothing for
 * values that the kernel does not provide.
 */
const CPU_TIMES = `u= w=
if [ -r /sys/fs/cgroup/cpu.stat ]; then while read -r k v; do [ "$k" = usage_usec ] && u=$v; done </sys/fs/cgroup/cpu.stat
elif [ -r /sys/fs/cgroup/cpuacct/cpuacct.usage ]; then read -r v </sys/fs/cgroup/cpuacct/cpuacct.usage && u=$((v/1000)); fi
for f in /proc/pressure/cpu /sys/fs/cgroup/cpu.pressure; do
  [ -r "$f" ] && while read -r k a b c t; do case $f$k in /proc*some|/sys*) w=\${t#total=} ;; esac; done <"$f"
done 2>/dev/null
printf '%s %s' "$u" "$w"`;
const READ_TIMEOUT_MS = 5_000;

/** In seconds, since the container or the machine started. */
export interface CpuTimes {
  readonly used: number;
  readonly waited: number;
}

/** Null if the kernel does not provide them, or no command can be run. */
async function readCpuTimes(container: Container): Promise<CpuTimes | null> {
  const argv = ['/bin/sh', '-c', CPU_TIMES];
  const read = await runPlain(container, { argv, timeoutMs: READ_TIMEOUT_MS }).catch(() => null);
  const [, used, waited] = /^(\d+) (\d+)$/.exec(read?.stdout.toString('latin1') ?? '') ?? [];
  return used === undefined ? null : { used: Number(used) / 1e6, waited: Number(waited) / 1e6 };
}

/**
 * Starts reading CPU times for a command that is about to start; the command need not wait for it.
 * @returns a function to call when the command has ended; throws like `assertServed`
 */
export function cpuWatch(
  container: Container,
  request: Pick<ExecRequest, 'cpuS' | 'deadlineS'>,
): (ending: { readonly kind: string }) => Promise<void> {
  const before = request.cpuS === undefined ? null : readCpuTimes(container);
  return async ({ kind }) => {
    if (kind !== 'timed-out' || before === null) return;
    assertServed({ before: await before, after: await readCpuTimes(container) }, request);
  };
}

/** CPU use, as a share of the deadline, below which a command was idle; `AROUND_S` is added for its start and end. */
const IDLE = 0.05;
const AROUND_S = 1;

/**
 * Detects a command that reached its deadline because other processes used the CPU: it got less than its CPU time,
 * although it wanted to compute. A command that hardly computed was waiting for something else, and would also do so on
 * an idle machine.
 * @throws SandboxStarvedError when the command was kept from the CPU
 */
export function assertServed(
  { before, after }: { readonly before: CpuTimes | null; readonly after: CpuTimes | null },
  { cpuS, deadlineS }: Pick<ExecRequest, 'cpuS' | 'deadlineS'>,
): void {
  if (cpuS === undefined || before === null || after === null) return;
  const used = after.used - before.used;
  const had = Math.max(used, deadlineS - (after.waited - before.waited));
  if (had >= cpuS || used < AROUND_S + IDLE * deadlineS) return;
  const seconds = used.toFixed(1);
  throw new SandboxStarvedError(`a command had ${seconds} s of the CPU in ${String(deadlineS)} s`);
}
