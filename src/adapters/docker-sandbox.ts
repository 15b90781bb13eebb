import type Docker from 'dockerode';
import type { ImageDescription, SandboxSpec } from '../ports/sandbox.js';
import { ImageMissingError } from '../core/unavailable.js';
import { BOUNDLESS } from '../ports/machine-room.js';
import { ContainerSandbox, type ContainerSandboxOptions, type Started } from './container-sandbox.js';
import { DockerContainer } from './docker-container.js';
import { containerOptions } from './docker-container-options.js';
import { connectDocker, engineCall } from './docker-engine.js';
import { DockerImages, type ImageOptions } from './docker-images.js';
import { removeContainer, sweepContainers } from './docker-removal.js';

export interface DockerSandboxOptions extends ContainerSandboxOptions {
  /** As in DOCKER_HOST; the default socket when absent. */
  readonly dockerHost?: string;
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

/** Sandboxes on a Docker engine: no network, no capabilities, nothing of the host's, every resource bounded. */
export class DockerSandbox extends ContainerSandbox {
  readonly #docker: Docker;
  readonly #ttlS: number;
  readonly #images: DockerImages;

  constructor({ dockerHost, ttlS, images, ...options }: DockerSandboxOptions) {
    super({ ttlS, ...options });
    this.#docker = connectDocker(dockerHost);
    this.#ttlS = ttlS;
    this.#images = images ?? new DockerImages(this.#docker, NO_PULLS);
  }

  async describeImage(image: string, signal: AbortSignal): Promise<ImageDescription> {
    signal.throwIfAborted();
    try {
      return { id: await this.#images.idOf(image) };
    } catch (error) {
      if (!(error instanceof ImageMissingError) || !this.#images.mayPull) throw error;
    }
    await this.waitForRoom(signal);
    await this.#images.pull(image, signal);
    return { id: await this.#images.idOf(image) };
  }

  override keeping<T>(image: string, work: () => Promise<T>): Promise<T> {
    return this.#images.keeping(image, work);
  }

  concerns(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  async sweep(): Promise<number> {
    return sweepContainers(this.#docker);
  }

  async engineVersion(): Promise<string> {
    const { Version } = await engineCall({ container: 'version' }, () => this.#docker.version());
    return `Docker ${Version}`;
  }

  /** The name is ours, so that a container the engine made without our hearing of it can be removed all the same. */
  protected start(spec: SandboxSpec, signal: AbortSignal): Promise<Started> {
    return this.#images.keeping(spec.image, () => this.#start(spec, signal));
  }

  async #start({ image, purpose }: SandboxSpec, signal: AbortSignal): Promise<Started> {
    const { id: imageId } = await this.describeImage(image, signal);
    const options = containerOptions({ image, purpose, limits: this.limits, ttlS: this.#ttlS });
    try {
      const made = await engineCall({ image }, (abortSignal) =>
        this.#docker.createContainer({ ...options, abortSignal }),
      );
      signal.throwIfAborted();
      await engineCall({ container: made.id }, (abortSignal) => made.start({ abortSignal }));
      return { container: new DockerContainer(this.#docker, made), imageId };
    } catch (error) {
      await removeContainer(this.#docker.getContainer(options.name ?? '')).catch(() => undefined);
      throw error;
    }
  }
}
