import { once } from 'node:events';
import { type Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { SandboxLostError } from '../core/unavailable.js';
import { engineCall } from './docker-engine.js';
import { CappedBytes, FrameReader } from './docker-output.js';

/** How often a running command is looked at; its stream's end is noticed at once. */
const POLL_MS = 500;
/** After the command itself has ended: how long its stream may stay silent, and how long it may go on at all. */
const QUIET_MS = 200;
const DRAIN_MS = 5_000;
/** How long the engine may take to say the exit code of a command whose streams have ended. */
const CODE_MS = 10_000;

export interface ExecPlan {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly stdin?: Uint8Array | undefined;
  readonly outputBytes: number;
  readonly onStdout?: ((chunk: Buffer) => void) | undefined;
  /** Sees stderr before it is kept and returns what is to be kept. */
  readonly tapStderr?: (chunk: Buffer) => Buffer;
}

/** A command under way. `exit` settles when it ends by itself; `stop` only stops listening, it kills nobody. */
export interface RunningExec {
  readonly stdout: CappedBytes;
  readonly stderr: CappedBytes;
  readonly exit: Promise<number>;
  stop(): void;
}

/**
 * Starts a command in a running container. The engine can neither kill it nor, when the connection breaks, tell a broken
 * stream from a finished one: only the exec's own state counts as an end, and whoever needs it dead removes the container.
 * @throws SandboxLostError, EngineUnavailableError, EngineDiskFullError
 */
export async function startExec(container: Docker.Container, plan: ExecPlan): Promise<RunningExec> {
  const subject = { container: container.id };
  const exec = await engineCall(subject, (abortSignal) =>
    container.exec({
      Cmd: [...plan.argv],
      AttachStdin: plan.stdin !== undefined,
      AttachStdout: true,
      AttachStderr: true,
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

interface Listening {
  readonly stdout: CappedBytes;
  readonly stderr: CappedBytes;
  readonly ended: Promise<unknown>;
  readonly isEnded: () => boolean;
  readonly lastByteAt: () => number;
}

function listen(stream: Duplex, { outputBytes, onStdout, tapStderr }: ExecPlan): Listening {
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

/** A grandchild that inherited stdout keeps the stream open for as long as it likes; its words are nobody's output. */
async function drained(listening: Listening): Promise<void> {
  const from = performance.now();
  while (!listening.isEnded() && performance.now() - from < DRAIN_MS) {
    if (performance.now() - Math.max(listening.lastByteAt(), from) > QUIET_MS) return;
    await Promise.race([listening.ended, sleep(QUIET_MS / 4)]);
  }
}
