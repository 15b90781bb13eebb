import { unlimitedListeners } from '../../core/async/time.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import type { ExecOutcome, ExecRequest, Ids, SandboxLimits } from '../../ports/sandbox.js';
import {
  commandLine,
  cpuWatch,
  type Ending,
  endingOf,
  OOM_KILLS,
  outcomeOf,
  Prologue,
  refined,
  wholeDeadline,
  withCpuLimit,
} from './command-outcome.js';
import { type Container, type Fate, KILLED, LOADS_NO_CODE, type RunningExec } from './container.js';
import { type Prepared, runPlain } from './own-commands.js';
import { saysNoRoom } from './host-resources.js';

const MIB = 1024 * 1024;
/** How long after the command's own deadline the host acts; `timeout` in the container needs two seconds for KILL. */
const HOST_GRACE_MS = 5_000;

/** A container ready for commands. */
export interface Ground {
  readonly container: Container;
  readonly limits: SandboxLimits;
  readonly prepared: Prepared;
  readonly workdir: string;
  readonly testsUser: Ids | null;
}

interface Attempt {
  readonly prologue: Prologue;
  readonly deadlineMs: number;
  readonly askedAt: number;
  /** When its end became known, by performance.now(); null before. */
  endedAt: number | null;
  /** No command ran in this container before, so a failure to start cannot be caused by one. */
  readonly first: boolean;
}

export interface Ran {
  readonly outcome: ExecOutcome;
  /** The caller must remove the container, in which processes may still run. */
  readonly isOver: boolean;
}

/**
 * Runs one request. The caller must also remove the container after an error.
 * @throws the signal's reason, SandboxLostError, EngineUnavailableError, EngineDiskFullError
 */
export async function runRequest(
  ground: Ground,
  request: ExecRequest,
  first: boolean,
  signal: AbortSignal,
): Promise<Ran> {
  const { container, prepared, limits } = ground;
  const deadlineMs = wholeDeadline(request.deadlineS) * 1000;
  const asked = performance.now();
  const assertServed = cpuWatch(container, request);
  const attempt: Attempt = { prologue: new Prologue(), deadlineMs, askedAt: asked, endedAt: null, first };
  let heard: () => void = () => undefined;
  const running = await container.start({
    argv: commandLine({ ...request, argv: withCpuLimit(request) }, request.cwd ?? ground.workdir, prepared),
    user: userOf(request, ground),
    env: request.environment === 'image' ? request.env : LOADS_NO_CODE,
    stdin: request.stdin === undefined ? undefined : Buffer.from(request.stdin),
    outputBytes: limits.outputBytes,
    onStdout: (piece) => {
      heard();
      request.onStdout?.(piece);
    },
    tapStderr: attempt.prologue.take,
    onExit: () => {
      attempt.endedAt = performance.now();
    },
    signal,
  });
  const watch = guard(container, {
    deadlineMs: deadlineMs + (prepared.timeout === null ? 0 : HOST_GRACE_MS),
    silenceMs: request.silenceS === undefined ? undefined : request.silenceS * 1000,
    diskBytes: limits.diskMb * MIB,
    hasEnded: () => attempt.endedAt !== null,
    signal,
  });
  heard = watch.heard;
  const ownEnd = ended(ground, running, attempt);
  ownEnd.catch(() => undefined);
  try {
    const end = await Promise.race([ownEnd, watch.tripped]);
    const ending = withWish(typeof end === 'string' ? await tripEnding(end, container, running, signal) : end, request);
    await assertServed(ending);
    const outcome = outcomeOf(ending, running, attempt);
    const goesOn = ending.kind === 'exited' || (ending.kind === 'timed-out' && ending.survived);
    return { outcome, isOver: !goesOn };
  } finally {
    watch.stop();
    running.stop();
  }
}

/** @throws Error if the session does not separate users */
function userOf({ as = 'image' }: ExecRequest, { prepared, testsUser }: Ground): Ids | undefined {
  if (as === 'image') return undefined;
  if (testsUser === null) throw new Error(`there is no ${as} in a session that does not keep users apart`);
  const user = as === 'tests' ? testsUser : { uid: 0, gid: 0 };
  return user.uid === prepared.ids.uid ? undefined : user;
}

/** A dead engine or connection looks like a command that does not end, so a time-out requires that both answer. */
async function tripEnding(
  trip: Trip,
  container: Container,
  running: RunningExec,
  signal: AbortSignal,
): Promise<Ending> {
  if (trip === 'aborted') throw signal.reason;
  if (trip === 'deadline') await Promise.all([container.assertAlive(), running.assertConnected?.()]);
  return trip === 'disk' ? { kind: 'out-of-disk' } : { kind: 'timed-out', survived: false };
}

/** The session survives a time-out only if the request asks for it. */
function withWish(ending: Ending, { survivesTimeout }: ExecRequest): Ending {
  return ending.kind === 'timed-out' ? { ...ending, survived: ending.survived && survivesTimeout === true } : ending;
}

async function ended(ground: Ground, running: RunningExec, attempt: Attempt): Promise<Ending> {
  const { container } = ground;
  const { prologue, askedAt } = attempt;
  const exitCode = await running.exit.catch(async (error: unknown) => {
    // The command may have caused the end of the whole container: the kernel may kill process 1 for lack of memory.
    const fate = error instanceof SandboxLostError ? await container.fate(askedAt) : null;
    if (fate !== null) return fate;
    throw error;
  });
  if (typeof exitCode === 'string') return { kind: exitCode };
  if (prologue.startedAt === null && attempt.first) {
    throw new SandboxLostError(`its first command did not start: ${running.stdout.bytes().toString().slice(0, 400)}`);
  }
  const ending = refined(endingOf(exitCode, prologue, attempt), running.stderr.bytes());
  if (exitCode !== 0 && saysNoRoom(running.stderr.bytes(), running.stdout.bytes())) await container.assertRoom();
  // A command that survived the kill of a child and chose its own exit code is trusted.
  if (ending.kind !== 'exited' || exitCode !== KILLED) return ending;
  const fate = await fateOf(container, prologue.oomKills, askedAt);
  if (fate !== null) return { kind: fate };
  await container.assertAlive();
  return ending;
}

/** Reasons to end a command from outside. */
export type Trip = 'deadline' | 'disk' | 'aborted';

export interface Bounds {
  readonly deadlineMs: number;
  /** Longest time between two calls of `heard`; absent = no limit. */
  readonly silenceMs?: number | undefined;
  /** Bytes that commands may write to disk. */
  readonly diskBytes: number;
  /** Whether the command has ended: no deadline counts for the rest of its output. */
  readonly hasEnded: () => boolean;
  readonly signal: AbortSignal;
}

/** Watches a running command from outside its container, where code inside cannot interfere. */
export function guard(
  container: Container,
  bounds: Bounds,
): { tripped: Promise<Trip>; heard: () => void; stop: () => void } {
  const { signal } = bounds;
  const over = new AbortController();
  let trip: (reason: Trip) => void = () => undefined;
  const tripped = new Promise<Trip>((resolve) => (trip = resolve));
  const onAbort = (): void => {
    trip('aborted');
  };
  unlimitedListeners(signal).addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const onLate = (): void => {
    if (!bounds.hasEnded()) trip('deadline');
  };
  const timer = setTimeout(onLate, bounds.deadlineMs);
  const { silenceMs } = bounds;
  const silence = silenceMs === undefined ? undefined : setTimeout(onLate, silenceMs);
  void container.fillsDisk(bounds.diskBytes, over.signal).then((full) => {
    if (full) trip('disk');
  });
  const stop = (): void => {
    clearTimeout(timer);
    clearTimeout(silence);
    signal.removeEventListener('abort', onAbort);
    over.abort();
  };
  return { tripped, heard: () => silence?.refresh(), stop };
}

const READ_TIMEOUT_MS = 5_000;

/**
 * Whether the kill of a command was due to its own use of memory or disk. The kill counter of the container's cgroup
 * (above `before`) is exact but needs a free process slot and a living container; otherwise the engine is asked what it
 * has seen since `sinceMs` (by performance.now()).
 */
export async function fateOf(container: Container, before: number | null, sinceMs: number): Promise<Fate | null> {
  const now = await readOomKills(container).catch(() => null);
  if (now !== null && before !== null) return now > before ? 'out-of-memory' : null;
  return container.fate(sinceMs);
}

async function readOomKills(container: Container): Promise<number | null> {
  const argv = ['/bin/sh', '-c', `${OOM_KILLS}printf '%s\\n' "$n"`];
  const { exitCode, stdout } = await runPlain(container, { argv, timeoutMs: READ_TIMEOUT_MS });
  const text = stdout.toString('latin1').trim();
  return exitCode === 0 && /^\d+$/.test(text) ? Number(text) : null;
}
