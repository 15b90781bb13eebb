import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import { SingleFlight } from '../../core/async/single-flight.js';
import { UnavailableError } from '../../core/errors/errors.js';
import { ImageMissingError } from '../../core/errors/unavailable.js';
import type { HostResources } from '../../ports/host-resources.js';
import { OWNER } from '../container/sandbox-owner.js';
import { engineCall, imageAt } from './engine.js';
import { PreparedImages } from './prepared-images.js';
import { pullImage, type PullOptions } from './pull.js';

/** Uses that are nearer than this are told to the engine once; well below what other processes count as in use. */
const MARK_EVERY_MS = 60_000;

export interface ImageOptions extends PullOptions {
  readonly pull: 'never' | 'missing';
  /** Of all images that bestk pulled; undefined = no bound but the disk's floor. */
  readonly cacheBytes: number | undefined;
  readonly room: HostResources;
}

export interface LocalImage {
  readonly id: string;
  /** Who its commands run as, as the engine is told it; null = root. */
  readonly user: string | null;
}

/** The images of an engine: those that were there, which are never touched, and those that we pull and remove again. */
export class DockerImages {
  readonly prepared: PreparedImages;
  readonly #pulls = new SingleFlight<void>();
  readonly #evictions = new SingleFlight<void>();
  /** Marks of images that work under way needs, and by how much of it. */
  readonly #needed = new Map<string, number>();
  readonly #marked = new Map<string, number>();

  constructor(
    private readonly docker: Docker,
    private readonly options: ImageOptions,
  ) {
    this.prepared = new PreparedImages(docker);
  }

  get mayPull(): boolean {
    return this.options.pull === 'missing';
  }

  /** @throws ImageMissingError, EngineUnavailableError */
  async idOf(image: string): Promise<string> {
    return (await this.look(image)).id;
  }

  /** @throws ImageMissingError, EngineUnavailableError */
  async look(image: string): Promise<LocalImage> {
    const { Id, RepoTags, Config } = await engineCall({ image }, () => imageAt(this.docker, image).inspect());
    const ours = (RepoTags as string[] | undefined)?.some((tag) => tag.includes(markOf(image))) === true;
    if (ours) await this.#use(image);
    const user = (Config as { User?: string } | null)?.User ?? '';
    return { id: Id, user: /^(root|0)?(:|$)/.test(user) ? null : user };
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
    const { Id } = await engineCall({ image }, () => imageAt(this.docker, name).inspect());
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
    if (tooMany === 0 && !(await this.#isLow())) return;
    // What was made of an image would keep its content.
    await this.prepared.removeIdle();
    for (const image of await this.#removable()) {
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

/*
 * What bestk pulled is known by tags of ours on the engine itself, `bestk-pulled/<hash of the name>:<seconds>.<process>`:
 * they outlive every store, are seen by all processes on the engine, and tell when an image was last used.
 */

const REPOSITORY = 'bestk-pulled/';
const PROCESS = hash(OWNER).slice(0, 8);
/** How long what another process used is taken for in use. */
const OTHERS_USE_S = 600;

export interface Pulled {
  readonly id: string;
  readonly bytes: number;
  /** Hash of the name it was pulled by. */
  readonly name: string;
  /** Every tag that goes with it, those of ours last. */
  readonly tags: readonly string[];
  readonly usedAt: number;
  readonly usedByOthers: boolean;
}

/** An image's name as the engine lists it. */
export function familiarName(image: string): string {
  const short = image.replace(/^docker\.io\//, '').replace(/^library\//, '');
  return short.includes('@') || short.lastIndexOf(':') > short.lastIndexOf('/') ? short : `${short}:latest`;
}

export function markOf(image: string): string {
  return hash(familiarName(image));
}

/** Notes that we pulled or used an image. */
export async function mark(docker: Docker, image: string): Promise<void> {
  const repo = `${REPOSITORY}${markOf(image)}`;
  const now = `${String(nowS())}.${PROCESS}`;
  await engineCall({ image }, (abortSignal) => imageAt(docker, image).tag({ repo, tag: now, abortSignal }));
  const listed = await engineCall({ image }, () => docker.listImages({ filters: { reference: [repo] } }));
  const tags = listed.flatMap(({ RepoTags }) => RepoTags ?? []);
  for (const tag of tags) if (tag !== `${repo}:${now}` && isStale(tag)) await untag(docker, tag);
}

/** Images that we pulled and nobody else has named, the one used longest ago first. */
export async function pulledImages(docker: Docker): Promise<readonly Pulled[]> {
  const images = await engineCall({ image: 'images' }, () => docker.listImages());
  const pulled = images.flatMap(({ Id, Size, RepoTags }) => {
    const tags = (RepoTags ?? []).filter((tag) => !tag.startsWith('<none>'));
    const ours = tags.filter((tag) => tag.startsWith(REPOSITORY));
    const theirs = tags.filter((tag) => !tag.startsWith(REPOSITORY));
    const [name] = ours.map(nameOf);
    if (name === undefined || theirs.some((tag) => hash(tag) !== name)) return [];
    const usedAt = Math.max(...ours.map(timeOf));
    return [{ id: Id, bytes: Size, name, tags: [...theirs, ...ours], usedAt, usedByOthers: !ours.every(isStale) }];
  });
  return pulled.sort((a, b) => a.usedAt - b.usedAt);
}

/** Takes tags away; with the last one the engine removes the image, unless a container has it. */
export async function untag(docker: Docker, tag: string): Promise<void> {
  await engineCall({ image: tag }, () => imageAt(docker, tag).remove());
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 40);
}

function nameOf(tag: string): string {
  return tag.slice(REPOSITORY.length, tag.lastIndexOf(':'));
}

function timeOf(tag: string): number {
  return Number.parseInt(tag.slice(tag.lastIndexOf(':') + 1), 10);
}

/** Ours of this process, which knows what it needs, or older than others' use counts. */
function isStale(tag: string): boolean {
  return tag.endsWith(`.${PROCESS}`) || timeOf(tag) + OTHERS_USE_S < nowS();
}

function nowS(): number {
  return Math.floor(Date.now() / 1000);
}
