import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isRunning } from '../../core/async/concurrency.js';

/** Labels of every container that bestk creates; nothing without `bestk=1` is ever touched. */
export const LABEL = {
  mark: 'bestk',
  purpose: 'bestk.purpose',
  owner: 'bestk.owner',
  expires: 'bestk.expires',
  /** 1 on prepared images, empty on containers. */
  prepared: 'bestk.prepared',
} as const;

/**
 * The process that made a container: `<host>/<pid>/<start>`. A pid alone is reused; with the start time it identifies
 * one process. A pid is only valid in its pid namespace and boot, so both are part of the host's id: two machines that
 * share a name and an engine must not take each other's processes for dead.
 */
export const OWNER = `${hostId()}/${String(process.pid)}/${startOf(process.pid) ?? '-'}`;

/** Whether the owner's pid is valid in this process's pid namespace and boot. */
export function isNeighbour(owner: string): boolean {
  return owner.split('/')[0] === hostId();
}

/** True only when the owner ran here and certainly no longer does; other owners are never judged. */
export function isDeadOwner(owner: string): boolean {
  const [, pid, start] = owner.split('/');
  if (!isNeighbour(owner) || pid === undefined || !/^[1-9]\d*$/.test(pid)) return false;
  return start === '-' ? !isRunning(Number(pid)) : startOf(Number(pid)) !== start;
}

/** Whether the expiry date of a container with these labels has passed. */
export function hasExpired(labels: Readonly<Record<string, string>>): boolean {
  const expires = Number(labels[LABEL.expires]);
  return expires > 0 && expires < Date.now() / 1000;
}

function hostId(): string {
  const boot = read(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)) ?? '-';
  const namespace = /\d+/.exec(read(() => readlinkSync('/proc/self/ns/pid')) ?? '')?.[0] ?? '-';
  return `${hostname().replaceAll('/', '_')}:${boot}:${namespace}`;
}

/** Start time of a living process in clock ticks since boot: field 22 of /proc/<pid>/stat, counted after the name. */
function startOf(pid: number): string | undefined {
  const stat = read(() => readFileSync(`/proc/${String(pid)}/stat`, 'utf8'));
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields === undefined || fields[0] === 'Z' ? undefined : fields[19];
}

function read(get: () => string): string | undefined {
  try {
    return get();
  } catch {
    return undefined;
  }
}
