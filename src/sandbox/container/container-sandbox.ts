import { FairSemaphore } from '../../core/async/concurrency.js';
import { BadInputError } from '../../core/errors/errors.js';
import { SandboxLostError } from '../../core/errors/unavailable.js';
import {
  type ExecOutcome,
  type ExecRequest,
  type Ids,
  Sandbox,
  type SandboxFile,
  type SandboxLimits,
  type SandboxSession,
  type SandboxSpec,
} from '../../ports/sandbox.js';
import type { Container } from './container.js';
import { type Ground, runRequest } from './execute-command.js';
import { prepareCommand, type Prepared, readPrepared, runPlain, TESTS_USER } from './own-commands.js';
import { ResourceGate, saysNoRoom } from './host-resources.js';

const PREPARE_TIMEOUT_MS = 300_000;
const IDLE_SESSIONS = 64;
const ROOT: Ids = { uid: 0, gid: 0 };
/** For a session that holds its slot from start to end. */
const ALWAYS: Room = { take: () => Promise.resolve(() => undefined) };

/** The room that a session's commands wait for, and the release of its own slot. */
interface Place {
  readonly room: Room;
  readonly release: () => void;
}

export interface ContainerSandboxOptions {
  /** Limit of computing sessions, plus running commands of the other sessions; further callers wait. */
  readonly concurrency: number;
  /** Limit of open sessions that take room only for their commands. */
  readonly idleSessions?: number;
  readonly limits: SandboxLimits;
  /** Seconds after which a container ends by itself, even if this process is gone. */
  readonly ttlS: number;
  /** Delays new sandboxes while the machine is low on resources; absent = no delay. */
  readonly gate?: ResourceGate;
}

/** A running container, and the id of its image. */
export interface Started {
  readonly container: Container;
  readonly imageId: string;
  /** Set if `preparation` started with the container: a command that waits for it and ends as it did. */
  readonly prepared?: readonly string[];
  /** Set if the image already contains a prepared repository. */
  readonly ready?: Ready | undefined;
  /** Saves the container's present state, with its prepared repository, for later containers. */
  readonly keep?: (commit: string) => Promise<void>;
}

/** A prepared repository in an image. */
export interface Ready {
  readonly commit: string;
  /** What an earlier container of the same image reported; null = not checked yet. */
  readonly known: Prepared | null;
  /** Records what a check found. */
  readonly confirm: (found: Prepared) => void;
  /** Rejects the image, which holds something else. */
  readonly reject: () => void;
}

/** What a container does besides its longest command, in seconds: it is prepared, patched and cleared. */
const BESIDES_S = 1_800;

/** Sandboxes on a container engine: queueing, open sessions, and preparation of the repository. */
export abstract class ContainerSandbox extends Sandbox {
  readonly limits: SandboxLimits;
  readonly #slots: FairSemaphore;
  readonly #idle: FairSemaphore;
  readonly #gate: ResourceGate | undefined;
  readonly #ttlS: number;
  readonly #open = new Set<ContainerSession>();
  readonly #opening = new Set<Promise<unknown>>();
  /** Content whose repository is known to be a single clean commit; it never changes for an image id. */
  readonly #single = new Set<string>();
  #shutdown = new AbortController();

  constructor({ concurrency, idleSessions = IDLE_SESSIONS, limits, gate, ttlS }: ContainerSandboxOptions) {
    super();
    this.limits = limits;
    this.#slots = new FairSemaphore(concurrency);
    this.#idle = new FairSemaphore(idleSessions);
    this.#gate = gate;
    this.#ttlS = ttlS;
  }

  /** Whether commands can run as root in an image with another user. */
  protected readonly becomesRoot: boolean = false;

  /** Starts a new container for `spec`; leaves nothing behind when it throws. */
  protected abstract start(spec: SandboxSpec, signal: AbortSignal): Promise<Started>;

  /** Seconds after which a container for `spec` ends by itself. */
  protected lifetimeS({ longestS }: Pick<SandboxSpec, 'longestS'>): number {
    return longestS === undefined ? this.#ttlS : Math.max(this.#ttlS, Math.ceil(longestS) + BESIDES_S);
  }

  /** The command that prepares the repository in a container of the image with this id. */
  protected preparation(spec: SandboxSpec, imageId: string): string[] {
    return prepareCommand(spec, this.#single.has(preparedKey(spec, imageId)));
  }

  async open(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxSession> {
    const either = AbortSignal.any([signal, this.#shutdown.signal]);
    const opening = this.#openIn(spec, either);
    const settled = opening.catch(() => undefined);
    this.#opening.add(settled);
    try {
      return await opening;
    } finally {
      this.#opening.delete(settled);
    }
  }

  async closeAll(): Promise<void> {
    this.#shutdown.abort(new SandboxLostError('all sandboxes were closed'));
    this.#shutdown = new AbortController();
    await Promise.all(this.#opening);
    await Promise.all([...this.#open].map((session) => session.close()));
  }

  /** @throws MachineLowError, and the signal's reason */
  protected async waitForRoom(signal: AbortSignal): Promise<void> {
    await this.#gate?.pass(() => this.#open.size > 0, this.#ttlS * 1000, signal);
  }

  async #openIn(spec: SandboxSpec, signal: AbortSignal): Promise<ContainerSession> {
    if (spec.occupies !== 'command') {
      const release = await this.#slots.take(signal);
      return this.#start(spec, { room: ALWAYS, release }, signal);
    }
    // Always acquired in this order, and a command never waits for another one, so there is no deadlock.
    const release = await this.#idle.take(signal);
    const started = await this.#slots.take(signal).catch((error: unknown) => {
      release();
      throw error;
    });
    try {
      return await this.#start(spec, { room: this.#slots, release }, signal);
    } finally {
      started();
    }
  }

  /** Opens a session that calls `release` when it ends, or before this throws. */
  async #start(spec: SandboxSpec, { room, release }: Place, signal: AbortSignal): Promise<ContainerSession> {
    let container: Container | null = null;
    try {
      await this.waitForRoom(signal);
      const started = await this.start(spec, signal);
      container = started.container;
      const prepared = await this.#ready(started, spec, signal);
      container.programs = prepared.programs;
      const testsUser = spec.separatesUsers === true ? await this.#testsUser(container, prepared.ids, signal) : null;
      return this.#session({ container, prepared, testsUser }, spec, { room, release });
    } catch (error) {
      await container?.remove().catch(() => undefined);
      release();
      throw error;
    }
  }

  #session(made: Pick<Ground, 'container' | 'prepared' | 'testsUser'>, spec: SandboxSpec, { room, release }: Place) {
    const { container } = made;
    const ground = { ...made, limits: this.limits, workdir: spec.workdir };
    const session: ContainerSession = new ContainerSession(ground, room, async () => {
      // If the engine does not answer now, the container expires by itself or is removed by the next sweep.
      await container.remove().catch(() => undefined);
      this.#open.delete(session);
      release();
    });
    this.#open.add(session);
    return session;
  }

  /** Null if tests must run as the image's own user, like their driver. */
  async #testsUser(container: Container, own: Ids, signal: AbortSignal): Promise<Ids | null> {
    if (own.uid === 0) return TESTS_USER;
    return this.becomesRoot && (await hasRights(container, signal)) ? own : null;
  }

  /** Prepares the repository unless the image is known to contain it prepared, and keeps it if later containers gain by it. */
  async #ready(started: Started, spec: SandboxSpec, signal: AbortSignal): Promise<Prepared> {
    const { container, ready, keep } = started;
    // The tests' user has a directory in a memory file system, which no image contains.
    const isWhole = spec.separatesUsers !== true;
    if (isWhole && ready !== undefined && ready.known !== null) return ready.known;
    const prepared = await this.#prepare(started, spec, signal);
    if (isWhole || !prepared.wasSingle) await keep?.(prepared.commit);
    if (!prepared.wasSingle) await container.setDiskBaseline();
    return prepared;
  }

  async #prepare(started: Started, spec: SandboxSpec, signal: AbortSignal): Promise<Prepared> {
    const { container, imageId, prepared: begun, ready } = started;
    const argv = ready === undefined ? (begun ?? this.preparation(spec, imageId)) : prepareCommand(asReady(spec), true);
    const done = await runPlain(container, { argv, environment: 'image', timeoutMs: PREPARE_TIMEOUT_MS, signal });
    if (done.exitCode !== 0 && saysNoRoom(done.stderr)) await container.assertRoom();
    if (ready !== undefined && !done.stdout.toString().startsWith(`single ${ready.commit} `)) {
      ready.reject();
      throw new SandboxLostError(`the repository that was made ready for ${spec.image} is another one`);
    }
    const prepared = readPrepared(spec, done.exitCode, done.stdout.toString(), done.stderr.toString());
    if (prepared.wasSingle) this.#single.add(preparedKey(spec, imageId));
    ready?.confirm(prepared);
    return prepared;
  }
}

/** CHOWN, KILL, SETGID and SETUID, as bits of the kernel's capability set. */
const RIGHTS = 0xe1n;

/** Whether root can become the tests' user: engines grant root nothing in a container of another user. */
async function hasRights(container: Container, signal: AbortSignal): Promise<boolean> {
  const argv = ['grep', 'CapEff', '/proc/self/status'];
  const { stdout } = await runPlain(container, { argv, user: ROOT, signal });
  const [, digits = '0'] = /CapEff:\s*([0-9a-f]+)/.exec(stdout.toString()) ?? [];
  return (BigInt(`0x${digits}`) & RIGHTS) === RIGHTS;
}

/** For an image in which the base is already checked out, set up, and cleared of hidden paths. */
function asReady({ image, workdir, purpose, separatesUsers = false }: SandboxSpec): SandboxSpec {
  return { image, workdir, baseCommit: null, purpose, separatesUsers };
}

/** Identifies a repository's content. */
export function preparedKey({ workdir, baseCommit, setupPatch, hiddenPaths }: SandboxSpec, imageId: string): string {
  return JSON.stringify([imageId, workdir, baseCommit, setupPatch, hiddenPaths]);
}

/** Queue in which a command waits for its turn. */
export interface Room {
  take(signal: AbortSignal): Promise<() => void>;
}

/** One container with a prepared repository. */
export class ContainerSession implements SandboxSession {
  #closing: Promise<void> | null = null;
  #execs = 0;

  /**
   * @param room what every command waits for
   * @param dispose removes the container and releases its slot; never throws
   */
  constructor(
    private readonly ground: Ground,
    private readonly room: Room,
    private readonly dispose: () => Promise<void>,
  ) {}

  get baseCommit(): string {
    return this.ground.prepared.commit;
  }

  get testsUser(): Ids | null {
    return this.ground.testsUser;
  }

  async exec(request: ExecRequest, signal: AbortSignal): Promise<ExecOutcome> {
    this.#assertOpen(signal);
    const first = this.#execs++ === 0;
    const release = await this.room.take(signal);
    try {
      const { outcome, isOver } = await this.#orClose(runRequest(this.ground, request, first, signal));
      if (isOver) await this.close();
      return outcome;
    } finally {
      release();
    }
  }

  async writeFiles(files: readonly SandboxFile[], signal: AbortSignal): Promise<void> {
    this.#assertOpen(signal);
    if (files.length === 0) return;
    const { container, prepared, testsUser } = this.ground;
    await this.#orClose(container.write(files, testsUser === null ? prepared.ids : ROOT, signal));
  }

  async readFile(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array | null> {
    this.#assertOpen(signal);
    return this.#orClose(this.ground.container.read(path, maxBytes, signal));
  }

  close(): Promise<void> {
    this.#closing ??= this.dispose();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #assertOpen(signal: AbortSignal): void {
    signal.throwIfAborted();
    if (this.#closing !== null) throw new SandboxLostError('the session is closed');
  }

  /** Closes the session after an error, which leaves the container in an unknown state; only a wrong path does not. */
  async #orClose<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof BadInputError)) await this.close();
      throw error;
    }
  }
}
