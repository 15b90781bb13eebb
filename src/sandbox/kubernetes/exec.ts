import { randomBytes } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import type { V1Status } from '@kubernetes/client-node';
import { BadInputError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import { CappedBytes } from '../../core/hostile-text.js';
import { CANNOT_RUN, drained, type ExecPlan, type Listening, type RunningExec } from '../container/container.js';
import type { Connection } from './client.js';
import { ExitNotice } from './exit-notice.js';
import { CONTAINER } from './pod-spec.js';

/** Channels of the protocols `v4.channel.k8s.io` and `v5.channel.k8s.io`: the first byte of every message. */
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3 } as const;
const PIECE = 512 * 1024;
const NOT_STARTED =
  /resource temporarily unavailable|cannot allocate memory|OOM-killed|fork\/exec|executable file not found|read init-p|no such file|permission denied|exec format/i;

const PING_MS = 15_000;
/** A connection is dead once this many successive pings were sent and nothing at all has arrived. */
const UNANSWERED = 4;

/** The members of the web socket used here. */
interface Socket extends EventEmitter {
  send(data: Uint8Array): void;
  ping(): void;
  terminate(): void;
  onclose: (() => void) | null;
}

export interface ExecTarget {
  readonly pod: string;
  /** Size limit of a single file. */
  readonly maxFileBytes: number;
  /** See `Container.programs`. */
  readonly programs: string;
  /** Time between two pings; 15 s by default. */
  readonly pingMs?: number;
}

/**
 * Starts a command over a pod's exec channel; a connection that opens after `signal` has aborted is closed again.
 * @throws the error that prevented the connection: then nothing ran
 */
export async function startExec(
  to: Connection,
  target: ExecTarget,
  plan: ExecPlan,
  signal: AbortSignal,
): Promise<RunningExec> {
  const { argv, mark } = wrapped(plan, target);
  const streams = new ExecStreams(plan, mark);
  const at = path(to.namespace, target.pod, argv, plan);
  const socket = (await to.sockets.connect(at, null, streams.receive).catch(rethrowEvent)) as Socket;
  const stop = socket.terminate.bind(socket);
  if (signal.aborted) stop();
  signal.throwIfAborted();
  const { pingMs = PING_MS } = target;
  const pings = keepAlive(socket, pingMs);
  socket.onclose = () => {
    clearInterval(pings);
    streams.close();
  };
  if (plan.stdin !== undefined) sendAll(socket, plan.stdin);
  const exit = exitOf(streams);
  const assertConnected = (): Promise<void> => answered(socket, exit, pingMs);
  return { stdout: streams.stdout, stderr: streams.stderr, exit, stop, assertConnected };
}

/**
 * Pings the server, so that no router or load balancer drops the connection of a silent command as idle, and closes a
 * connection that was dropped without notice: the end of its command would never arrive.
 */
function keepAlive(socket: Socket, everyMs: number): NodeJS.Timeout {
  let unanswered = 0;
  const heard = (): void => {
    unanswered = 0;
  };
  socket.on('message', heard);
  socket.on('pong', heard);
  return setInterval(() => {
    unanswered += 1;
    if (unanswered > UNANSWERED) socket.terminate();
    else socket.ping();
  }, everyMs);
}

/** Pings once. @throws SandboxLostError if neither anything arrives within `ms` nor the command has ended */
async function answered(socket: Socket, exit: Promise<number>, ms: number): Promise<void> {
  const signal = AbortSignal.timeout(ms);
  const heard = ['message', 'pong'].map((event) => once(socket, event, { signal }));
  socket.ping();
  await Promise.race([exit, ...heard]).catch(() => {
    throw new SandboxLostError('the connection of its command does not answer');
  });
}

/** The web socket rejects with an event that contains the error. */
function rethrowEvent(event: unknown): never {
  throw (event as { error?: unknown }).error ?? event;
}

function path(namespace: string, pod: string, argv: readonly string[], { stdin }: ExecPlan): string {
  const query = new URLSearchParams({ container: CONTAINER, stdout: 'true', stderr: 'true', tty: 'false' });
  query.set('stdin', String(stdin !== undefined));
  for (const word of argv) query.append('command', word);
  return `/api/v1/namespaces/${namespace}/pods/${pod}/exec?${query.toString()}`;
}

/** Does not end the stream: under v4 that would close the connection and lose the exit code. */
function sendAll(socket: Socket, stdin: Uint8Array): void {
  for (let at = 0; at < stdin.length; at += PIECE) {
    socket.send(Buffer.concat([Buffer.from([CHANNEL.stdin]), stdin.subarray(at, at + PIECE)]));
  }
}

/** One of the two output streams: the command's output, and the notice of its end. */
class Output {
  readonly #notice: ExitNotice;

  constructor(
    mark: string,
    private readonly keep: (bytes: Buffer) => void,
  ) {
    this.#notice = new ExitNotice(mark);
  }

  get code(): number | null {
    return this.#notice.code;
  }

  take(bytes: Buffer): void {
    this.#keepAny(this.#notice.take(bytes));
  }

  /** Ends the stream. */
  end(): void {
    this.#keepAny(this.#notice.rest());
  }

  #keepAny(bytes: Buffer): void {
    if (bytes.length > 0) this.keep(bytes);
  }
}

/** Demultiplexes the connection's messages. */
class ExecStreams implements Listening {
  readonly stdout: CappedBytes;
  readonly stderr: CappedBytes;
  readonly ended: Promise<void>;
  readonly onExit: ExecPlan['onExit'];
  /** The cluster's status of the end; null until it arrives, and forever if the connection breaks. */
  status: V1Status | null = null;
  /** Settles when the command or the connection has ended. */
  readonly commandEnded: Promise<void>;
  readonly #outputs: Readonly<Record<number, Output>>;
  #isEnded = false;
  #lastByteAt = performance.now();
  #end: () => void = () => undefined;
  #commandEnd: () => void = () => undefined;

  constructor({ outputBytes, onStdout, tapStderr, onExit }: ExecPlan, mark: string) {
    this.onExit = onExit;
    this.stdout = new CappedBytes(outputBytes);
    this.stderr = new CappedBytes(outputBytes);
    this.#outputs = {
      [CHANNEL.stdout]: new Output(mark, (bytes) => {
        this.stdout.push(bytes);
        onStdout?.(bytes);
      }),
      [CHANNEL.stderr]: new Output(mark, (bytes) => {
        this.stderr.push(tapStderr === undefined ? bytes : tapStderr(bytes));
      }),
    };
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.commandEnded = new Promise((resolve) => (this.#commandEnd = resolve));
  }

  isEnded = (): boolean => this.#isEnded;
  lastByteAt = (): number => this.#lastByteAt;

  /** Exit code of the command, available once all of its output has arrived; null before. */
  get code(): number | null {
    const codes = Object.values(this.#outputs).map((output) => output.code);
    return codes.includes(null) ? null : (codes[0] ?? null);
  }

  /** Handles one message; returning false closes the connection. */
  receive = (channel: number, bytes: Buffer): boolean => {
    this.#lastByteAt = performance.now();
    this.#outputs[channel]?.take(bytes);
    if (this.code !== null) this.#commandEnd();
    if (channel === CHANNEL.status && bytes.length > 0) {
      this.status = JSON.parse(bytes.toString()) as V1Status;
      this.close();
    }
    return this.status === null;
  };

  close = (): void => {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const output of Object.values(this.#outputs)) output.end();
    this.#end();
    this.#commandEnd();
  };
}

async function exitOf(streams: ExecStreams): Promise<number> {
  await streams.commandEnded;
  await drained(streams);
  const { status, code } = streams;
  if (status === null) {
    if (code !== null) return code;
    throw new SandboxLostError('the connection broke before its command ended');
  }
  if (status.status === 'Success') return 0;
  const exitCode = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (exitCode !== undefined) return Number(exitCode);
  const said = status.message ?? 'no reason given';
  // There was no process, memory or shell to start it; the caller sees that it never began.
  if (NOT_STARTED.test(said)) return CANNOT_RUN;
  throw new SandboxLostError(said);
}

/*
 * Provides what a cluster's exec channel lacks, by a shell around the command:
 *
 *   environment   the call has none; variables that the cluster itself adds are removed
 *   user          the call supports only the container's own user; a number here is both user and group
 *   programs      the shell's own (`head`, `setpriv`, `python3`) are not sought on PATH, which may lead into the repository
 *   limits        no core files, no single file above the disk limit (like the ulimits of a Docker container)
 *   end of stdin  under protocol v4 a client cannot end stdin without losing the exit code, so `head` counts the bytes
 *   exit notice   the real exit code arrives only once every process that inherited the streams has closed them, which a
 *                 daemon never does; so the shell reports the command's end and exit code itself, on both streams: each
 *                 has its own pace, and what precedes the notice is the command's complete output on that stream
 *
 * The notice carries a nonce, because the command writes to the same streams. A command that reads the nonce from its
 * parent's arguments gains nothing: it may exit with any code anyway.
 */
const SCRIPT = String.raw`
mark=$1 bytes=$2 blocks=$3 user=$4 programs=$5
shift 5
unset KUBERNETES_PORT KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_ADDR KUBERNETES_PORT_443_TCP_PORT \
  KUBERNETES_PORT_443_TCP_PROTO KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_SERVICE_PORT_HTTPS
ulimit -c 0 2>/dev/null
ulimit -f "$blocks" 2>/dev/null
while [ "$1" != -- ]; do export "$1"; shift; done
shift
program() (PATH=$programs; command -v "$1")
become() {
  if [ "$user" = - ]; then "$@"
  elif setpriv=$(program setpriv) && "$setpriv" --reuid "$user" --regid "$user" --clear-groups /bin/sh -c : 2>/dev/null; then
    "$setpriv" --reuid "$user" --regid "$user" --clear-groups "$@"
  elif python=$(program python3); then
    "$python" -I -S -c 'import os, sys
n = int(sys.argv[1])
os.setgroups([])
os.setresgid(n, n, n)
os.setresuid(n, n, n)
os.execvp(sys.argv[2], sys.argv[2:])' "$user" "$@"
  else echo "the image has neither setpriv nor python3 to run a command as another user" >&2; return 126
  fi
}
if [ "$bytes" = - ]; then become "$@"
else { "$(program head)" -c "$bytes" <&3 3<&- & } 3<&0 | become "$@"
fi
code=$?
printf '\036bestk-exit %s %s\036' "$mark" "$code"
printf '\036bestk-exit %s %s\036' "$mark" "$code" >&2
exit "$code"
`;

/** Bytes per block of ulimit -f, by POSIX. */
const BLOCK = 512;
const NAME = /^[A-Za-z_]\w*$/;

/** A command wrapped for the exec channel. */
export interface Wrapped {
  readonly argv: readonly string[];
  /** Identifies the notice of its end. */
  readonly mark: string;
}

/** @throws BadInputError for a variable name that no shell can set */
export function wrapped(
  { argv, user, env = {}, stdin }: ExecPlan,
  { maxFileBytes, programs }: Pick<ExecTarget, 'maxFileBytes' | 'programs'>,
): Wrapped {
  const wrong = Object.keys(env).find((name) => !NAME.test(name));
  if (wrong !== undefined) throw new BadInputError(`"${wrong}" is not the name of a variable`);
  const mark = randomBytes(12).toString('hex');
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const bytes = stdin === undefined ? '-' : String(stdin.length);
  const blocks = String(Math.floor(maxFileBytes / BLOCK));
  const settings = [mark, bytes, blocks, String(user?.uid ?? '-'), programs];
  return { argv: ['/bin/sh', '-c', SCRIPT, 'sh', ...settings, ...variables, '--', ...argv], mark };
}
