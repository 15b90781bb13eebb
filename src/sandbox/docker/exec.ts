import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import { type ExecPlan, type RunningExec, CappedBytes, drained, type Listening } from '../container/container.js';
import { engineCall } from './engine.js';

/** How often a running command is looked at; its stream's end is noticed at once. */
const POLL_MS = 500;
/** How long the engine may take to say the exit code of a command whose streams have ended. */
const CODE_MS = 10_000;

type Kept = Pick<RunningExec, 'stdout' | 'stderr'>;

/**
 * Starts a command in a running container. The engine can neither kill it nor, when the connection breaks, tell a broken
 * stream from a finished one: only the exec's own state counts as an end, and whoever needs it dead removes the container.
 * @param usual who commands run as that name nobody; null = the container's own user
 * @throws SandboxLostError, EngineUnavailableError, EngineDiskFullError
 */
export async function startExec(
  container: Docker.Container,
  usual: string | null,
  plan: ExecPlan,
): Promise<RunningExec> {
  const user = plan.user === undefined ? usual : `${plan.user.uid}:${plan.user.gid}`;
  const subject = { container: container.id };
  const exec = await engineCall(subject, (abortSignal) =>
    container.exec({
      Cmd: [...plan.argv],
      AttachStdin: plan.stdin !== undefined,
      AttachStdout: true,
      AttachStderr: true,
      ...(user !== null && { User: user }),
      ...(plan.env && { Env: Object.entries(plan.env).map(([name, value]) => `${name}=${value}`) }),
      abortSignal,
    }),
  );
  const stream = await engineCall(subject, () => exec.start({ hijack: true, stdin: plan.stdin !== undefined }));
  const listening = listen(stream, plan);
  if (plan.stdin !== undefined) stream.end(plan.stdin);
  return {
    stdout: listening.stdout,
    stderr: listening.stderr,
    exit: waitForExit(exec, listening, subject),
    stop: () => stream.destroy(),
  };
}

function listen(stream: Duplex, { outputBytes, onStdout, tapStderr }: ExecPlan): Listening & Kept {
  const stdout = new CappedBytes(outputBytes);
  const stderr = new CappedBytes(outputBytes);
  const frames = new FrameReader(
    (chunk) => {
      stdout.push(chunk);
      onStdout?.(chunk);
    },
    (chunk) => {
      stderr.push(tapStderr === undefined ? chunk : tapStderr(chunk));
    },
  );
  let lastByteAt = performance.now();
  stream.on('data', (chunk: Buffer) => {
    lastByteAt = performance.now();
    frames.push(chunk);
  });
  // An error here (a command that closes stdin early, a broken connection) is no end: the exec's state decides.
  stream.on('error', () => undefined);
  const ended = Promise.race([once(stream, 'end'), once(stream, 'close')]).catch(() => undefined);
  const isEnded = (): boolean => stream.readableEnded || stream.destroyed;
  return { stdout, stderr, ended, isEnded, lastByteAt: () => lastByteAt };
}

async function waitForExit(exec: Docker.Exec, listening: Listening, subject: { container: string }): Promise<number> {
  let pause = 0;
  for (let endedMs = 0; endedMs < CODE_MS;) {
    const isEnded = listening.isEnded();
    await (isEnded ? sleep(pause) : Promise.race([listening.ended, sleep(POLL_MS)]));
    const { Running, ExitCode } = await engineCall(subject, (abortSignal) => exec.inspect({ abortSignal }));
    if (!Running && ExitCode !== null) {
      await drained(listening);
      return ExitCode;
    }
    // A command may close its streams and go on; a finished one without a code is waited for only so long.
    if (!Running) endedMs += pause;
    if (isEnded) pause = Math.min(pause * 2 + 1, POLL_MS);
  }
  throw new SandboxLostError('the engine does not know how the command ended');
}

const HEADER_BYTES = 8;
const STDERR = 2;

/**
 * The engine's multiplexed stream taken apart: frames of one byte stream (1 stdout, 2 stderr), three zero bytes, four
 * bytes big-endian length, payload (Docker Engine API, "Stream format"). Frames and chunks do not align.
 */
export class FrameReader {
  readonly #header = Buffer.alloc(HEADER_BYTES);
  #headerFilled = 0;
  #left = 0;

  constructor(
    private readonly onStdout: (chunk: Buffer) => void,
    private readonly onStderr: (chunk: Buffer) => void,
  ) {}

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) at += this.#left === 0 ? this.#takeHeader(chunk, at) : this.#takePayload(chunk, at);
  }

  #takeHeader(chunk: Buffer, at: number): number {
    const taken = chunk.copy(this.#header, this.#headerFilled, at, at + HEADER_BYTES - this.#headerFilled);
    this.#headerFilled += taken;
    if (this.#headerFilled === HEADER_BYTES) {
      this.#left = this.#header.readUInt32BE(4);
      this.#headerFilled = 0;
    }
    return taken;
  }

  #takePayload(chunk: Buffer, at: number): number {
    const payload = chunk.subarray(at, at + this.#left);
    this.#left -= payload.length;
    if (this.#header[0] === STDERR) this.onStderr(payload);
    else this.onStdout(payload);
    return payload.length;
  }
}
