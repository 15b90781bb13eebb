import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { ExecOutcome, ExecRequest } from '../../ports/sandbox.js';
import { type Container, type RunningExec, decodeOutput } from './container.js';
import { runPlain } from './own-commands.js';

/** Exit status of "found, but could not be run", as shells have it. */
const CANNOT_RUN = 126;

/** What `timeout` exits with when it had to stop the command, by TERM or by KILL. */
const BY_TIMEOUT = new Set([124, 137]);

/** By performance.now(). */
interface Timing {
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

/** The request's command with its limit of the CPU, which every process that it starts inherits. */
export function withCpuLimit({ argv, cpuS }: Pick<ExecRequest, 'argv' | 'cpuS'>): readonly string[] {
  if (cpuS === undefined) return argv;
  return ['/bin/sh', '-c', 'ulimit -S -t "$0"; exec "$@"', String(Math.max(1, Math.ceil(cpuS))), ...argv];
}

/**
 * Microseconds of the CPU that the container used (cgroup v2, or v1), and in which something of it waited for one: of the
 * cgroup's own pressure all of it, else any on the machine. Nothing where the kernel does not tell.
 */
const CPU_TIMES = `u= w=
if [ -r /sys/fs/cgroup/cpu.stat ]; then while read -r k v; do [ "$k" = usage_usec ] && u=$v; done </sys/fs/cgroup/cpu.stat
elif [ -r /sys/fs/cgroup/cpuacct/cpuacct.usage ]; then read -r v </sys/fs/cgroup/cpuacct/cpuacct.usage && u=$((v/1000)); fi
for f in /proc/pressure/cpu /sys/fs/cgroup/cpu.pressure; do
  [ -r "$f" ] && while read -r k a b c t; do case $f$k in /proc*some|/sys*) w=\${t#total=} ;; esac; done <"$f"
done 2>/dev/null
printf '%s %s' "$u" "$w"`;
const READ_TIMEOUT_MS = 5_000;

/** In seconds, since the container or the machine began. */
export interface CpuTimes {
  readonly used: number;
  readonly waited: number;
}

/** Null where the kernel does not tell, or nothing can be run. */
async function readCpuTimes(container: Container): Promise<CpuTimes | null> {
  const argv = ['/bin/sh', '-c', CPU_TIMES];
  const read = await runPlain(container, { argv, timeoutMs: READ_TIMEOUT_MS }).catch(() => null);
  const [, used, waited] = /^(\d+) (\d+)$/.exec(read?.stdout.toString('latin1') ?? '') ?? [];
  return used === undefined ? null : { used: Number(used) / 1e6, waited: Number(waited) / 1e6 };
}

/**
 * Begins to look at a command that is about to start, which need not wait for it.
 * @returns what tells of its end and throws as `assertServed`
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

/** Part of the wall's time below which a command did not want to compute, beside what its start and its end take. */
const IDLE = 0.05;
const AROUND_S = 1;

/**
 * A command that was stopped by the wall's clock before it had its time of the CPU has not been slow: others computed in
 * its place. One that hardly computed at all waited for something else, on an idle machine as on a busy one.
 * @throws SandboxLostError when it was kept from the CPU
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
  throw new SandboxLostError(`the machine was busy: a command had ${seconds} s of the CPU in ${String(deadlineS)} s`);
}
