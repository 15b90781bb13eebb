import { SandboxLostError } from '../core/unavailable.js';
import { Sandbox, type SandboxLimits, type SandboxSession, type SandboxSpec } from '../ports/sandbox.js';
import type { Container } from './container.js';
import { ContainerSession, type Room } from './container-session.js';
import { saysNoRoom } from './no-room.js';
import { prepareCommand, readPrepared, type Prepared } from './repository-script.js';
import { runPlain } from './run-plain.js';
import { Slots } from './slots.js';

const PREPARE_TIMEOUT_MS = 300_000;
const IDLE_SESSIONS = 64;
/** The session has its slot already. */
const ALWAYS: Room = { take: () => Promise.resolve(() => undefined) };

/** What a session holds, and what its commands wait for. */
interface Place {
  readonly room: Room;
  readonly release: () => void;
}

export interface ContainerSandboxOptions {
  /** Sessions that compute all the time and commands of those that do not, together; further callers wait. */
  readonly concurrency: number;
  /** Sessions open at the same time that take room only for their commands. */
  readonly idleSessions?: number;
  readonly limits: SandboxLimits;
  /** Seconds after which a container ends by itself, whatever became of this process. */
  readonly ttlS: number;
}

/** A container that runs, and the id of the image it was made from. */
export interface Started {
  readonly container: Container;
  readonly imageId: string;
}

/** Sandboxes on an engine of containers: who waits, who is open, and how the repository is made ready. */
export abstract class ContainerSandbox extends Sandbox {
  readonly limits: SandboxLimits;
  readonly #slots: Slots;
  readonly #idle: Slots;
  readonly #open = new Set<ContainerSession>();
  readonly #opening = new Set<Promise<unknown>>();
  /** Images known to hold a single clean commit: image id, workdir and base commit. An id's content never changes. */
  readonly #single = new Set<string>();
  #shutdown = new AbortController();

  constructor({ concurrency, idleSessions = IDLE_SESSIONS, limits }: ContainerSandboxOptions) {
    super();
    this.limits = limits;
    this.#slots = new Slots(concurrency);
    this.#idle = new Slots(idleSessions);
  }

  /** A running container of its own for `spec`; leaves nothing behind when it throws. */
  protected abstract start(spec: SandboxSpec, signal: AbortSignal): Promise<Started>;

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

  async #openIn(spec: SandboxSpec, signal: AbortSignal): Promise<ContainerSession> {
    if (spec.occupies !== 'command') {
      const release = await this.#slots.take(signal);
      return this.#start(spec, { room: ALWAYS, release }, signal);
    }
    // Always in this order, and no command is waited for while one runs, so that nobody waits in a circle.
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

  /** Opens a session that gives `release` back when it ends, or before it throws. */
  async #start(spec: SandboxSpec, { room, release }: Place, signal: AbortSignal): Promise<ContainerSession> {
    let container: Container | null = null;
    try {
      const started = await this.start(spec, signal);
      container = started.container;
      const prepared = await this.#prepare(started, spec, signal);
      if (!prepared.wasSingle) await container.setDiskBaseline();
      return this.#session(container, spec, prepared, { room, release });
    } catch (error) {
      await container?.remove().catch(() => undefined);
      release();
      throw error;
    }
  }

  #session(container: Container, { workdir }: SandboxSpec, prepared: Prepared, { room, release }: Place) {
    const ground = { container, limits: this.limits, prepared, workdir };
    const session: ContainerSession = new ContainerSession(ground, room, async () => {
      // An engine that does not answer now leaves the container to its own expiry and to the next sweep.
      await container.remove().catch(() => undefined);
      this.#open.delete(session);
      release();
    });
    this.#open.add(session);
    return session;
  }

  async #prepare({ container, imageId }: Started, spec: SandboxSpec, signal: AbortSignal): Promise<Prepared> {
    const key = JSON.stringify([imageId, spec.workdir, spec.baseCommit]);
    const argv = prepareCommand(spec, this.#single.has(key));
    const done = await runPlain(container, { argv, timeoutMs: PREPARE_TIMEOUT_MS, signal });
    if (done.exitCode !== 0 && saysNoRoom(done.stderr)) await container.assertRoom();
    const prepared = readPrepared(spec, done.exitCode, done.stdout.toString(), done.stderr.toString());
    if (prepared.wasSingle) this.#single.add(key);
    return prepared;
  }
}
