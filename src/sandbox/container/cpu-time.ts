import type { ExecRequest } from '../../ports/sandbox.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { Container } from './container.js';
import { runPlain } from './run-plain.js';

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
