import { randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import type { SandboxLimits, SandboxSpec } from '../../ports/sandbox.js';
import { OVER_TESTS_USER, shmBytes, tmpBytes } from '../container/container.js';
import { LABEL, OWNER } from '../container/sandbox-owner.js';
import { SECCOMP_PROFILE } from '../container/seccomp-profile.js';

const MIB = 1024 * 1024;

/**
 * Process 1. It must survive `kill -9 -1`, or a patch could turn its own failure into a lost sandbox: the kernel
 * protects process 1 from its own container, but not the child that an init such as tini waits for. So the shell itself
 * waits, reaping orphans meanwhile; if its sleep is killed it execs a sleep, which needs no free process slot.
 */
const KEEP_ALIVE = 'sleep "$1" && exit 0; exec sleep "$1"';

interface ContainerPlan {
  readonly spec: SandboxSpec;
  /** The image's own user; null = root. */
  readonly user: string | null;
  readonly limits: SandboxLimits;
  readonly ttlS: number;
}

/** Options of a container that has nothing of the host's, no network, and ends by itself after `ttlS` seconds. */
export function containerOptions({ spec, user, limits, ttlS }: ContainerPlan): Docker.ContainerCreateOptions {
  const { image, purpose } = spec;
  const expires = Math.ceil(Date.now() / 1000) + ttlS;
  return {
    name: `bestk-${randomUUID()}`,
    Image: image,
    // Root has capabilities only in a container that runs as root; the image's user is then set for each command.
    ...(user !== null && spec.separatesUsers === true && { User: '0:0' }),
    Entrypoint: ['/bin/sh', '-c', KEEP_ALIVE, 'bestk', String(ttlS)],
    Cmd: [],
    Hostname: 'sandbox',
    WorkingDir: '/',
    Labels: {
      ...{ [LABEL.mark]: '1', [LABEL.purpose]: purpose, [LABEL.owner]: OWNER, [LABEL.expires]: String(expires) },
      // Not the image's, or a person's commit of the container would count as a prepared image.
      [LABEL.prepared]: '',
    },
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      ...isolation(spec),
      ...quotas(limits),
      AutoRemove: true,
      LogConfig: { Type: 'none', Config: {} },
    },
  };
}

/** The engine's default list, which this replaces, plus the host's files that it binds into every container. */
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

/** No swap: its limit equals that of memory. */
function quotas(limits: SandboxLimits): Docker.HostConfig {
  const memory = limits.memoryMb * MIB;
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
    Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,mode=1777,size=${String(tmpBytes(limits))}` },
    ShmSize: shmBytes(limits),
  };
}
