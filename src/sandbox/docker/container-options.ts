import { randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import type { SandboxLimits, SandboxSpec } from '../../ports/sandbox.js';
import { OVER_TESTS_USER } from '../container/container.js';
import { SECCOMP_PROFILE } from '../container/seccomp.js';
import { LABEL, OWNER } from '../container/sandbox-owner.js';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

/**
 * Process 1. It must outlive `kill -9 -1`, or a patch could turn its own failure into a lost sandbox: the kernel shields
 * process 1 from its own container, but not the child an init such as tini waits for. So the shell itself waits, reaping
 * orphans meanwhile; when somebody kills its sleep it becomes the sleep, without needing a free process slot.
 */
const KEEP_ALIVE = 'sleep "$1" && exit 0; exec sleep "$1"';

/** Directories that are memory file systems in the container, so that the engine's archive calls do not see them. */
export const MEMORY_MOUNTS = ['/tmp', '/dev/shm'] as const;

export interface ContainerPlan {
  readonly spec: SandboxSpec;
  /** The image's own; null = root. */
  readonly user: string | null;
  readonly limits: SandboxLimits;
  readonly ttlS: number;
}

/** Options of a container that holds nothing of the host's, reaches nobody, and ends by itself after `ttlS` seconds. */
export function containerOptions({ spec, user, limits, ttlS }: ContainerPlan): Docker.ContainerCreateOptions {
  const { image, purpose } = spec;
  const expires = Math.ceil(Date.now() / 1000) + ttlS;
  return {
    name: `bestk-${randomUUID()}`,
    Image: image,
    // Root has rights in a container of its own alone; the image's user is named with each command.
    ...(user !== null && spec.separatesUsers === true && { User: '0:0' }),
    Entrypoint: ['/bin/sh', '-c', KEEP_ALIVE, 'bestk', String(ttlS)],
    Cmd: [],
    Hostname: 'sandbox',
    WorkingDir: '/',
    Labels: { [LABEL.mark]: '1', [LABEL.purpose]: purpose, [LABEL.owner]: OWNER, [LABEL.expires]: String(expires) },
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      ...isolation(spec),
      ...quotas(limits),
      AutoRemove: true,
      LogConfig: { Type: 'none', Config: {} },
    },
  };
}

/** The engine's own choice, which a list replaces, and the host's files that the engine binds into every container. */
const READ_ONLY = [
  ...['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'],
  ...['/etc/hosts', '/etc/hostname', '/etc/resolv.conf'],
];

function isolation({ separatesUsers }: SandboxSpec): Docker.HostConfig {
  return {
    NetworkMode: 'none',
    CapDrop: ['ALL'],
    ...(separatesUsers === true && { CapAdd: [...OVER_TESTS_USER] }),
    SecurityOpt: ['no-new-privileges', `seccomp=${JSON.stringify(SECCOMP_PROFILE)}`],
    ReadonlyPaths: READ_ONLY,
    Privileged: false,
    IpcMode: 'private',
    Binds: [],
    RestartPolicy: { Name: 'no' },
  };
}

/**
 * Swap is as large as memory, i.e. none. Memory file systems are charged to the container's memory and are not freed by
 * killing anybody, so that together they stay below half of it: filling them is "no space left", not out of memory.
 */
function quotas(limits: SandboxLimits): Docker.HostConfig {
  const memory = limits.memoryMb * MIB;
  const tmp = Math.floor(Math.min(limits.diskMb * MIB, memory / 4));
  const fileSize = limits.diskMb * MIB;
  return {
    Memory: memory,
    MemorySwap: memory,
    NanoCpus: Math.round(limits.cpus * 1e9),
    PidsLimit: limits.pids,
    Ulimits: [
      { Name: 'core', Soft: 0, Hard: 0 },
      { Name: 'fsize', Soft: fileSize, Hard: fileSize },
    ],
    Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${String(tmp)}` },
    ShmSize: Math.floor(Math.min(memory / 8, GIB)),
  };
}
