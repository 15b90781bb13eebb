import { setTimeout as sleep } from 'node:timers/promises';
import type { CappedBytes } from '../../core/hostile-text.js';
import type { Ids, SandboxFile, SandboxLimits } from '../../ports/sandbox.js';

/** Exit status of a process killed by signal 9, e.g. by the end of its container. */
export const KILLED = 137;
/** Exit status of shells for "found, but could not be run". */
export const CANNOT_RUN = 126;
/** An ext4 file system has one inode per 16 KiB (mke2fs.conf, `inode_ratio`), so an entry uses up that much space. */
export const BYTES_PER_ENTRY = 16_384;

const MIB = 1_048_576;
const GIB = 1024 * MIB;

/*
 * Memory file systems are charged to the container's memory and not freed by killing processes, so together they stay
 * below half of it: filling them means "no space left", not out of memory.
 */

/** Size of `/tmp`. */
export function tmpBytes({ diskMb, memoryMb }: SandboxLimits): number {
  return Math.floor(Math.min(diskMb, memoryMb / 4) * MIB);
}

/** Size of `/dev/shm`. */
export function shmBytes({ memoryMb }: SandboxLimits): number {
  return Math.floor(Math.min((memoryMb * MIB) / 8, GIB));
}

/** Capabilities that root needs to switch to the tests' user and to end its processes; that user has none. */
export const OVER_TESTS_USER: readonly string[] = ['CHOWN', 'KILL', 'SETGID', 'SETUID'];

export interface ExecPlan {
  readonly argv: readonly string[];
  /** Absent = the image's own user. */
  readonly user?: Ids | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: Uint8Array | undefined;
  readonly outputBytes: number;
  readonly onStdout?: ((chunk: Buffer) => void) | undefined;
  /** Receives stderr before it is stored and returns the part to store. */
  readonly tapStderr?: (chunk: Buffer) => Buffer;
  /** Called when the end of the command is known, before the rest of its output has been waited for. */
  readonly onExit?: (() => void) | undefined;
  /** Aborts waiting for an engine that does not answer; a command that has begun ends only with its container. */
  readonly signal?: AbortSignal | undefined;
}

/** A running command. `exit` settles when it ends by itself; `stop` only stops listening, without killing it. */
export interface RunningExec {
  readonly stdout: CappedBytes;
  readonly stderr: CappedBytes;
  readonly exit: Promise<number>;
  stop(): void;
  /** Absent where a connection cannot be lost silently. @throws SandboxLostError if the command's connection is dead */
  assertConnected?(): Promise<void>;
}

/** Ends of a container, or of a process in it, that the command itself caused, as far as the engine reports them. */
export type Fate = 'out-of-memory' | 'out-of-disk';

/** Folders of system programs; last, those in which an image may link programs of its repository. */
export const SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin';

/** Variables through which a program or shell loads code when it starts, emptied. */
export const LOADS_NO_CODE: Readonly<Record<string, string>> = {
  LD_PRELOAD: '',
  LD_LIBRARY_PATH: '',
  LD_AUDIT: '',
  BASH_ENV: '',
  TAR_OPTIONS: '',
};

/** A running container on any engine. All methods throw SandboxLostError once it is gone. */
export interface Container {
  /** PATH of bestk's own commands: SYSTEM_PATH until the image's other folders were examined. */
  programs: string;
  /** @throws SandboxLostError, EngineUnavailableError, EngineDiskFullError */
  start(plan: ExecPlan): Promise<RunningExec>;
  /** Creates parents and replaces existing entries. @throws BadInputError when a parent is a file. */
  write(files: readonly SandboxFile[], ids: Ids, signal: AbortSignal): Promise<void>;
  /** First `maxBytes` of the regular file at `path`; null for anything else. */
  read(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null>;
  /** Counts the data written so far as part of the image. */
  setDiskBaseline(): Promise<void>;
  /** True once more than `bytes` have been written since the baseline; false when stopped or if that is unknown. */
  fillsDisk(bytes: number, stop: AbortSignal): Promise<boolean>;
  /** The fate since `sinceMs`, by performance.now(); null when the engine reports none. */
  fate(sinceMs: number): Promise<Fate | null>;
  /** A removed container kills its commands just as a lack of memory does. @throws SandboxLostError */
  assertAlive(): Promise<void>;
  /** A full disk of the engine makes commands fail just as a wrong patch does. @throws EngineDiskFullError */
  assertRoom(): Promise<void>;
  /** Removes it with all its processes; harmless if it is gone already. */
  remove(): Promise<void>;
}

/**
 * Decodes bytes at once: decoding chunk by chunk would break every character that spans two. Invalid bytes become
 * U+FFFD; a character cut in half by the cap is omitted, since the command did not cause that damage.
 */
export function decodeOutput(bytes: Uint8Array, truncated: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: truncated });
}

/** After the command has ended: how long its streams may stay silent, and how long they may continue in all. */
export const QUIET_MS = 200;
const DRAIN_MS = 5_000;

/** The streams of a command. */
export interface Listening {
  /** Settles when they end; never rejects. */
  readonly ended: Promise<unknown>;
  readonly isEnded: () => boolean;
  /** By performance.now(). */
  readonly lastByteAt: () => number;
  readonly onExit: ExecPlan['onExit'];
}

/**
 * To be called when the end of the command is known. Waits briefly for the streams' end: a grandchild may hold stdout
 * open, and its output does not count.
 */
export async function drained(listening: Listening): Promise<void> {
  listening.onExit?.();
  const from = performance.now();
  while (!listening.isEnded() && performance.now() - from < DRAIN_MS) {
    if (performance.now() - Math.max(listening.lastByteAt(), from) > QUIET_MS) return;
    await Promise.race([listening.ended, sleep(QUIET_MS / 4)]);
  }
}
