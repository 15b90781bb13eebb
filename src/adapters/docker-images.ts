import type Docker from 'dockerode';
import { UnavailableError } from '../core/errors.js';
import { ImageMissingError } from '../core/unavailable.js';
import type { MachineRoom } from '../ports/machine-room.js';
import { engineCall } from './docker-engine.js';
import { mark, markOf, familiarName, pulledImages, untag, type Pulled } from './docker-image-marks.js';
import { pullImage, type PullOptions } from './docker-pull.js';
import { SharedFlights } from './shared-flights.js';

/** Uses that are nearer than this are told to the engine once; well below what other processes count as in use. */
const MARK_EVERY_MS = 60_000;

export interface ImageOptions extends PullOptions {
  readonly pull: 'never' | 'missing';
  /** Of all images that bestk pulled; undefined = no bound but the disk's floor. */
  readonly cacheBytes: number | undefined;
  readonly room: MachineRoom;
}

/** The images of an engine: those that were there, which are never touched, and those that we pull and remove again. */
export class DockerImages {
  readonly #pulls = new SharedFlights<void>();
  readonly #evictions = new SharedFlights<void>();
  /** Marks of images that work under way needs, and by how much of it. */
  readonly #needed = new Map<string, number>();
  readonly #marked = new Map<string, number>();

  constructor(
    private readonly docker: Docker,
    private readonly options: ImageOptions,
  ) {}

  get mayPull(): boolean {
    return this.options.pull === 'missing';
  }

  /** @throws ImageMissingError, EngineUnavailableError */
  async idOf(image: string): Promise<string> {
    const { Id, RepoTags } = await engineCall({ image }, () => this.docker.getImage(image).inspect());
    const ours = (RepoTags as string[] | undefined)?.some((tag) => tag.includes(markOf(image))) === true;
    if (ours) await this.#use(image);
    return Id;
  }

  /** Pulls an image that is not there, however many ask for it once. @throws ImagePullError and what stands in its way */
  async pull(image: string, signal: AbortSignal): Promise<void> {
    // An id names content, and no registry.
    if (/^(sha256:)?[0-9a-f]{64}$/.test(image)) throw new ImageMissingError(image);
    await this.#pulls.join(familiarName(image), signal, (both) => this.keeping(image, () => this.#pull(image, both)));
  }

  /** Does work during which the image is not removed. */
  async keeping<T>(image: string, work: () => Promise<T>): Promise<T> {
    const name = markOf(image);
    this.#needed.set(name, (this.#needed.get(name) ?? 0) + 1);
    const alive = setInterval(() => void this.#use(image).catch(() => undefined), 2 * MARK_EVERY_MS).unref();
    try {
      return await work();
    } finally {
      clearInterval(alive);
      const left = (this.#needed.get(name) ?? 1) - 1;
      if (left === 0) this.#needed.delete(name);
      else this.#needed.set(name, left);
    }
  }

  /** Removes images of ours, used longest ago first, while there are too many or the disk is low. */
  makeRoom(): Promise<void> {
    return this.#evictions.join('', new AbortController().signal, () => this.#evict());
  }

  async #pull(image: string, signal: AbortSignal): Promise<void> {
    const name = familiarName(image);
    await this.makeRoom();
    const before = await engineCall({ image }, () => this.docker.listImages());
    await pullImage(this.docker, name, this.options, signal);
    const { Id } = await engineCall({ image }, () => this.docker.getImage(name).inspect());
    // The same content under another name is somebody else's.
    if (before.every((each) => each.Id !== Id)) await mark(this.docker, name);
    await this.makeRoom();
  }

  async #use(image: string): Promise<void> {
    const name = markOf(image);
    const last = this.#marked.get(name);
    if (last !== undefined && performance.now() - last < MARK_EVERY_MS) return;
    const [ours] = (await pulledImages(this.docker)).filter((each) => each.name === name);
    if (ours === undefined) return;
    this.#marked.set(name, performance.now());
    await mark(this.docker, image);
  }

  async #evict(): Promise<void> {
    let tooMany = await this.#excess();
    for (const image of tooMany === 0 && !(await this.#isLow()) ? [] : await this.#removable()) {
      if (tooMany <= 0 && !(await this.#isLow())) return;
      if (await this.#remove(image)) tooMany -= image.bytes;
    }
  }

  /** Bytes over the bound; an image counts whole, also what it shares with others. */
  async #excess(): Promise<number> {
    const { cacheBytes } = this.options;
    if (cacheBytes === undefined) return 0;
    const bytes = (await pulledImages(this.docker)).reduce((sum, image) => sum + image.bytes, 0);
    return Math.max(0, bytes - cacheBytes);
  }

  async #isLow(): Promise<boolean> {
    return (await this.options.room.shortage(['engine'])) !== null;
  }

  async #removable(): Promise<readonly Pulled[]> {
    const containers = await engineCall({ container: 'all' }, () => this.docker.listContainers({ all: true }));
    const inUse = new Set(containers.map(({ ImageID }) => ImageID));
    const images = await pulledImages(this.docker);
    return images.filter(({ id, name, usedByOthers }) => !inUse.has(id) && !usedByOthers && !this.#needed.has(name));
  }

  /** @returns false when the engine kept it, for a container that was made meanwhile for instance */
  async #remove({ id, tags, bytes }: Pulled): Promise<boolean> {
    try {
      for (const tag of tags) await untag(this.docker, tag);
      this.options.say(`Removed image ${tags[0] ?? id} (${Math.round(bytes / 1e6)} MB), used longest ago.`);
      return true;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return false;
    }
  }
}
