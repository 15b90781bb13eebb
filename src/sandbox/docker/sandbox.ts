import { RetryUntilAvailable, connectDocker, engineCall, isAlreadyGone } from './engine.js';
import type Docker from 'dockerode';
import { ImageMissingError } from '../../core/errors/unavailable.js';
import { BOUNDLESS, type ImageDescription, type SandboxSpec } from '../../ports/sandbox.js';
import {
  ContainerSandbox,
  type ContainerSandboxOptions,
  preparedKey,
  type Started,
} from '../container/container-sandbox.js';
import { hasExpired, isDeadOwner, LABEL } from '../container/sandbox-owner.js';
import { DockerContainer } from './container.js';
import { DockerImages, type ImageOptions, type LocalImage, sweepPreparedImages } from './images.js';
import { containerOptions } from './limits.js';

/** How long to wait for an engine that restarts or is full. */
const PATIENCE_MS = 60_000;
/** Delay before removing a container is retried. */
const LATER_MS = 3_000;

export interface DockerSandboxOptions extends ContainerSandboxOptions {
  /** See DOCKER_HOST; the default socket when absent. */
  readonly dockerHost?: string;
  /** How long to wait for an engine that answered before. */
  readonly patienceMs?: number;
  /** Absent = images are never pulled. */
  readonly images?: DockerImages;
}

const NO_PULLS: ImageOptions = {
  pull: 'never',
  cacheBytes: undefined,
  room: BOUNDLESS,
  configFolder: '',
  say: () => undefined,
};

/** Sandboxes on a Docker engine: no network, no access to the host, minimal capabilities, every resource limited. */
export class DockerSandbox extends ContainerSandbox {
  protected override readonly becomesRoot = true;
  readonly #docker: Docker;
  readonly #images: DockerImages;
  readonly #patience: RetryUntilAvailable;
  /** Containers that could not be removed because the engine was unavailable. */
  readonly #left = new Set<Docker.Container>();
  /** Timer of the next attempt to remove them. */
  #later: NodeJS.Timeout | null = null;

  constructor({ dockerHost, patienceMs = PATIENCE_MS, images, ...options }: DockerSandboxOptions) {
    super(options);
    this.#docker = connectDocker(dockerHost);
    this.#patience = new RetryUntilAvailable(patienceMs);
    this.#images = images ?? new DockerImages(this.#docker, NO_PULLS);
  }

  async describeImage(image: string, signal: AbortSignal): Promise<ImageDescription> {
    const { id } = await this.#patience.wait(() => this.#look(image, signal), signal);
    return { id };
  }

  override keeping<T>(image: string, work: () => Promise<T>): Promise<T> {
    return this.#images.keeping(image, work);
  }

  concerns(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  async sweep(): Promise<number> {
    const removed = await sweepContainers(this.#docker);
    this.#patience.wasThere = true;
    await sweepPreparedImages(this.#docker);
    return removed;
  }

  override async closeAll(): Promise<void> {
    await super.closeAll();
    await this.#images.prepared.removeIdle();
  }

  async engineVersion(): Promise<string> {
    const { Version } = await engineCall({ container: 'version' }, () => this.#docker.version());
    return `Docker ${Version}`;
  }

  protected start(spec: SandboxSpec, signal: AbortSignal): Promise<Started> {
    const once = (): Promise<Started> => this.#images.keeping(spec.image, () => this.#startOnce(spec, signal));
    return this.#patience.wait(once, signal);
  }

  /** The name is chosen here, so that a container can be removed even if the engine's answer was lost. */
  async #startOnce(spec: SandboxSpec, signal: AbortSignal): Promise<Started> {
    const { id, user } = await this.#look(spec.image, signal);
    const { prepared } = this.#images;
    const content = `${preparedKey(spec, id)} ${String(spec.separatesUsers === true)}`;
    const ready = prepared.find(content);
    const image = ready?.id ?? spec.image;
    const options = containerOptions({
      spec: { ...spec, image },
      user,
      limits: this.limits,
      ttlS: this.lifetimeS(spec),
    });
    try {
      const made = await engineCall({ image: spec.image, creates: true }, (abortSignal) =>
        this.#docker.createContainer({ ...options, abortSignal }),
      );
      signal.throwIfAborted();
      await engineCall({ container: made.id }, (abortSignal) => made.start({ abortSignal }));
      const container = new DockerContainer(this.#docker, made, user, () => this.#remove(made));
      if (ready === undefined)
        return { container, imageId: id, keep: (commit) => prepared.keep(content, made, commit) };
      return { container, imageId: ready.id, ready };
    } catch (error) {
      await this.#remove(this.#docker.getContainer(options.name ?? '')).catch(() => undefined);
      if (ready === undefined || !(error instanceof ImageMissingError)) throw error;
      prepared.forget(content);
      return this.#startOnce(spec, signal);
    }
  }

  /** Pulls the image if configured. */
  async #look(image: string, signal: AbortSignal): Promise<LocalImage> {
    signal.throwIfAborted();
    try {
      return await this.#images.look(image);
    } catch (error) {
      if (!(error instanceof ImageMissingError) || !this.#images.mayPull) throw error;
    }
    await this.waitForRoom(signal);
    await this.#images.pull(image, signal);
    return this.#images.look(image);
  }

  async #remove(container: Docker.Container): Promise<void> {
    this.#left.add(container);
    try {
      await removeContainer(container);
      this.#left.delete(container);
    } catch (error) {
      this.#later ??= setTimeout(() => {
        this.#later = null;
        for (const left of this.#left) this.#remove(left).catch(() => undefined);
      }, LATER_MS).unref();
      throw error;
    }
  }
}

/** Removes a container with all its processes; harmless if it is gone already. @throws EngineUnavailableError */
export async function removeContainer(container: Docker.Container): Promise<void> {
  await engineCall({ container: container.id }, (abortSignal) =>
    container.remove({ force: true, v: true, abortSignal }).catch((error: unknown) => {
      if (!isAlreadyGone(error)) throw error;
    }),
  );
}

/**
 * Removes bestk's containers that expired or whose process is dead. A failed removal does not stop the others.
 * @returns how many were removed @throws EngineUnavailableError, the first failure
 */
export async function sweepContainers(docker: Docker): Promise<number> {
  const ours = await engineCall({ container: LABEL.mark }, (abortSignal) =>
    docker.listContainers({ all: true, filters: { label: [`${LABEL.mark}=1`] }, abortSignal }),
  );
  let removed = 0;
  const failures: unknown[] = [];
  for (const { Id } of ours.filter(isStale)) {
    try {
      await removeContainer(docker.getContainer(Id));
      removed += 1;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return removed;
}

/**
 * Whether the container can be removed. A running one ends by itself when it expires, so its expiry date is ignored:
 * after a clock jump, a container in use could look expired.
 */
function isStale({ Labels, State }: Pick<Docker.ContainerInfo, 'Labels' | 'State'>): boolean {
  // The engine is removing it already. If it is stuck there, it answers no call about this container.
  if (State === 'removing') return false;
  if (isDeadOwner(Labels[LABEL.owner] ?? '')) return true;
  return State !== 'running' && hasExpired(Labels);
}
