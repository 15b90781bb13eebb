import { setTimeout as sleep } from 'node:timers/promises';
import type { Ids, SandboxFile } from '../../ports/sandbox.js';

/** What root needs to hand over to the tests' user, and to end its processes; that user itself has no right at all. */
export const OVER_TESTS_USER: readonly string[] = ['CHOWN', 'KILL', 'SETGID', 'SETUID'];

export interface ExecPlan {
  readonly argv: readonly string[];
  /** Absent = the image's own. */
  readonly user?: Ids | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: Uint8Array | undefined;
  readonly outputBytes: number;
  readonly onStdout?: ((chunk: Buffer) => void) | undefined;
  /** Sees stderr before it is kept and returns what is to be kept. */
  readonly tapStderr?: (chunk: Buffer) => Buffer;
  /** Ends the wait for an engine that does not answer; a command that began is ended by removing its container. */
  readonly signal?: AbortSignal | undefined;
}

/** A command under way. `exit` settles when it ends by itself; `stop` only stops listening, it kills nobody. */
export interface RunningExec {
  readonly stdout: CappedBytes;
  readonly stderr: CappedBytes;
  readonly exit: Promise<number>;
  stop(): void;
}

/** What the engine knows of the end of a container, or of something in it, that was the command's own doing. */
export type Fate = 'out-of-memory' | 'out-of-disk';

/** A running container, whatever engine has it. All methods throw SandboxLostError once it is gone. */
export interface Container {
  /** @throws SandboxLostError, EngineUnavailableError, EngineDiskFullError */
  start(plan: ExecPlan): Promise<RunningExec>;
  /** Makes parents, replaces what is in the way. @throws BadInputError when a parent is a file. */
  write(files: readonly SandboxFile[], ids: Ids, signal: AbortSignal): Promise<void>;
  /** First `maxBytes` of the regular file at `path`; null for anything else. */
  read(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null>;
  /** Takes what was written until now for the image's own. */
  setDiskBaseline(): Promise<void>;
  /** True once more than `bytes` were written since the baseline, false when told to stop or when that is not known. */
  fillsDisk(bytes: number, stop: AbortSignal): Promise<boolean>;
  /** Since `sinceMs`, of performance.now(); null when the engine knows of nothing. */
  fate(sinceMs: number): Promise<Fate | null>;
  /** A container that somebody removed kills its commands as memory does. @throws SandboxLostError */
  assertAlive(): Promise<void>;
  /** A disk of the engine's that is full fails commands as a wrong patch does. @throws EngineDiskFullError */
  assertRoom(): Promise<void>;
  /** Removes it and all that runs in it; one that is gone already is fine. */
  remove(): Promise<void>;
}

/** First `cap` bytes of a stream; what follows is counted and dropped, so that memory stays flat. */
export class CappedBytes {
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #seen = 0;

  constructor(readonly cap: number) {}

  push(chunk: Buffer): void {
    this.#seen += chunk.length;
    const room = this.cap - this.#kept;
    if (room <= 0) return;
    // A copy: a slice would keep the whole socket buffer alive.
    const part = Buffer.from(chunk.subarray(0, room));
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  get truncated(): boolean {
    return this.#seen > this.cap;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

/**
 * Bytes as text, decoded once: decoding chunk by chunk breaks every character that spans two. Invalid bytes become
 * U+FFFD; a character cut in half by our own cap is left out, since that damage is ours and not the command's.
 */
export function decodeOutput(bytes: Uint8Array, truncated: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: truncated });
}

/** After the command itself has ended: how long its streams may stay silent, and how long they may go on at all. */
const QUIET_MS = 200;
const DRAIN_MS = 5_000;

/** The streams of a command. */
export interface Listening {
  /** Settles when they end; never rejects. */
  readonly ended: Promise<unknown>;
  readonly isEnded: () => boolean;
  /** By performance.now(). */
  readonly lastByteAt: () => number;
}

/** A grandchild that inherited stdout keeps the stream open for as long as it likes; its words are nobody's output. */
export async function drained(listening: Listening): Promise<void> {
  const from = performance.now();
  while (!listening.isEnded() && performance.now() - from < DRAIN_MS) {
    if (performance.now() - Math.max(listening.lastByteAt(), from) > QUIET_MS) return;
    await Promise.race([listening.ended, sleep(QUIET_MS / 4)]);
  }
}
