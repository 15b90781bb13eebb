import type Docker from 'dockerode';
import { SandboxLostError } from '../core/unavailable.js';
import {
  Sandbox,
  type ImageDescription,
  type SandboxLimits,
  type SandboxSession,
  type SandboxSpec,
} from '../ports/sandbox.js';
import { containerOptions } from './docker-container.js';
import { connectDocker, engineCall } from './docker-engine.js';
import { layerBytes } from './docker-disk.js';
import { removeContainer, sweepContainers } from './docker-removal.js';
import { prepareCommand, readPrepared, type Prepared } from './docker-repository.js';
import { runPlain } from './docker-run-plain.js';
import { DockerSession, type Room } from './docker-session.js';
import { Slots } from './docker-slots.js';

const PREPARE_TIMEOUT_MS = 300_000;
const IDLE_SESSIONS = 64;
/** The session has its slot already. */
const ALWAYS: Room = { take: () => Promise.resolve(() => undefined) };

/** What a session holds, and what its commands wait for. */
interface Place {
  readonly room: Room;
  readonly release: () => void;
}

export interface DockerSandboxOptions {
  /** As in DOCKER_HOST; the default socket when absent. */
  readonly dockerHost?: string;
  /** Sessions that compute all the time and commands of those that do not, together; further callers wait. */
  readonly concurrency: number;
  /** Sessions open at the same time that take room only for their commands. */
  readonly idleSessions?: number;
  readonly limits: SandboxLimits;
  /** Seconds after which a container ends by itself, whatever became of this process. */
  readonly ttlS: number;
}

/** Sandboxes on a Docker engine: no network, no capabilities, nothing of the host's, every resource bounded. */
export class DockerSandbox extends Sandbox {
  readonly limits: SandboxLimits;
  readonly #docker: Docker;
  readonly #slots: Slots;
  readonly #idle: Slots;
  readonly #ttlS: number;
  readonly #open = new Set<DockerSession>();
  readonly #opening = new Set<Promise<unknown>>();
  /** Images known to hold a single clean commit: image id, workdir and base commit. An id's content never changes. */
  readonly #single = new Set<string>();
  #shutdown = new AbortController();

  constructor({ dockerHost, concurrency, idleSessions = IDLE_SESSIONS, limits, ttlS }: DockerSandboxOptions) {
    super();
    this.limits = limits;
    this.#docker = connectDocker(dockerHost);
    this.#slots = new Slots(concurrency);
    this.#idle = new Slots(idleSessions);
    this.#ttlS = ttlS;
  }

  async describeImage(image: string, signal: AbortSignal): Promise<ImageDescription> {
    signal.throwIfAborted();
    const { Id } = await engineCall({ image }, () => this.#docker.getImage(image).inspect());
    return { id: Id };
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

  async sweep(): Promise<number> {
    return sweepContainers(this.#docker);
  }

  async engineVersion(): Promise<string> {
    const { Version } = await engineCall({ container: 'version' }, () => this.#docker.version());
    return `Docker ${Version}`;
  }

  async closeAll(): Promise<void> {
    this.#shutdown.abort(new SandboxLostError('all sandboxes were closed'));
    this.#shutdown = new AbortController();
    await Promise.all(this.#opening);
    await Promise.all([...this.#open].map((session) => session.close()));
  }

  async #openIn(spec: SandboxSpec, signal: AbortSignal): Promise<DockerSession> {
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
  async #start(spec: SandboxSpec, { room, release }: Place, signal: AbortSignal): Promise<DockerSession> {
    let container: Docker.Container | null = null;
    try {
      const { id } = await this.describeImage(spec.image, signal);
      container = await this.#create(spec, signal);
      const prepared = await this.#prepare(container, spec, id, signal);
      return await this.#session(container, spec, prepared, { room, release });
    } catch (error) {
      if (container !== null) await removeContainer(container).catch(() => undefined);
      release();
      throw error;
    }
  }

  async #session(
    container: Docker.Container,
    spec: SandboxSpec,
    prepared: Prepared,
    { room, release }: Place,
  ): Promise<DockerSession> {
    const diskBaseline = prepared.wasSingle ? 0 : await layerBytes(container);
    const { limits } = this;
    const ground = { docker: this.#docker, container, limits, prepared, workdir: spec.workdir, diskBaseline };
    const session: DockerSession = new DockerSession(ground, room, async () => {
      // An engine that does not answer now leaves the container to its own expiry and to the next sweep.
      await removeContainer(container).catch(() => undefined);
      this.#open.delete(session);
      release();
    });
    this.#open.add(session);
    return session;
  }

  /** The name is ours, so that a container the engine made without our hearing of it can be removed all the same. */
  async #create({ image, purpose }: SandboxSpec, signal: AbortSignal): Promise<Docker.Container> {
    const options = containerOptions({ image, purpose, limits: this.limits, ttlS: this.#ttlS });
    try {
      const made = await engineCall({ image }, (abortSignal) =>
        this.#docker.createContainer({ ...options, abortSignal }),
      );
      signal.throwIfAborted();
      await engineCall({ container: made.id }, (abortSignal) => made.start({ abortSignal }));
      return made;
    } catch (error) {
      await removeContainer(this.#docker.getContainer(options.name ?? '')).catch(() => undefined);
      throw error;
    }
  }

  async #prepare(container: Docker.Container, spec: SandboxSpec, id: string, signal: AbortSignal): Promise<Prepared> {
    const key = JSON.stringify([id, spec.workdir, spec.baseCommit]);
    const argv = prepareCommand(spec, this.#single.has(key));
    const done = await runPlain(container, { argv, timeoutMs: PREPARE_TIMEOUT_MS, signal });
    const prepared = readPrepared(spec, done.exitCode, done.stdout.toString(), done.stderr.toString());
    if (prepared.wasSingle) this.#single.add(key);
    return prepared;
  }
}
