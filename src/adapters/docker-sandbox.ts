import type Docker from 'dockerode';
import type { ImageDescription, SandboxSpec } from '../ports/sandbox.js';
import { ContainerSandbox, type ContainerSandboxOptions, type Started } from './container-sandbox.js';
import { DockerContainer } from './docker-container.js';
import { containerOptions } from './docker-container-options.js';
import { connectDocker, engineCall } from './docker-engine.js';
import { DockerPatience } from './docker-patience.js';
import { removeContainer, sweepContainers } from './docker-removal.js';

/** How long work waits for an engine that restarts or is full. */
const PATIENCE_MS = 60_000;

export interface DockerSandboxOptions extends ContainerSandboxOptions {
  /** As in DOCKER_HOST; the default socket when absent. */
  readonly dockerHost?: string;
  /** How long an engine that answered before is waited for. */
  readonly patienceMs?: number;
}

/** Sandboxes on a Docker engine: no network, no capabilities, nothing of the host's, every resource bounded. */
export class DockerSandbox extends ContainerSandbox {
  readonly #docker: Docker;
  readonly #ttlS: number;
  readonly #patience: DockerPatience;
  /** What could not be removed when its time had come, because the engine was away. */
  readonly #left = new Set<Docker.Container>();

  constructor({ dockerHost, patienceMs = PATIENCE_MS, ttlS, ...options }: DockerSandboxOptions) {
    super({ ttlS, ...options });
    this.#docker = connectDocker(dockerHost);
    this.#ttlS = ttlS;
    this.#patience = new DockerPatience(patienceMs);
  }

  async describeImage(image: string, signal: AbortSignal): Promise<ImageDescription> {
    const look = (): Promise<{ Id: string }> => engineCall({ image }, () => this.#docker.getImage(image).inspect());
    const { Id } = await this.#patience.wait(look, signal);
    return { id: Id };
  }

  concerns(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  async sweep(): Promise<number> {
    for (const container of this.#left) await this.#remove(container);
    return sweepContainers(this.#docker);
  }

  async engineVersion(): Promise<string> {
    const { Version } = await engineCall({ container: 'version' }, () => this.#docker.version());
    return `Docker ${Version}`;
  }

  protected start(spec: SandboxSpec, signal: AbortSignal): Promise<Started> {
    return this.#patience.wait(() => this.#startOnce(spec, signal), signal);
  }

  /** The name is ours, so that a container the engine made without our hearing of it can be removed all the same. */
  async #startOnce({ image, purpose }: SandboxSpec, signal: AbortSignal): Promise<Started> {
    const { id: imageId } = await this.describeImage(image, signal);
    const options = containerOptions({ image, purpose, limits: this.limits, ttlS: this.#ttlS });
    try {
      const made = await engineCall({ image }, (abortSignal) =>
        this.#docker.createContainer({ ...options, abortSignal }),
      );
      signal.throwIfAborted();
      await engineCall({ container: made.id }, (abortSignal) => made.start({ abortSignal }));
      return { container: new DockerContainer(this.#docker, made, () => this.#remove(made)), imageId };
    } catch (error) {
      await this.#remove(this.#docker.getContainer(options.name ?? '')).catch(() => undefined);
      throw error;
    }
  }

  async #remove(container: Docker.Container): Promise<void> {
    this.#left.add(container);
    await removeContainer(container);
    this.#left.delete(container);
  }
}
