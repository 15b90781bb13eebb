import { createHash, randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import { SingleFlight } from '../../core/async/concurrency.js';
import { UnavailableError } from '../../core/errors/errors.js';
import { ImageMissingError } from '../../core/errors/unavailable.js';
import type { HostResources } from '../../ports/sandbox.js';
import { OWNER, isDeadOwner, LABEL } from '../container/sandbox-owner.js';
import { engineCall, imageAt } from './engine.js';
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

/** The repository of every image of ours that holds one made ready. */
const PREPARED = 'bestk-prepared';
/** Marks them; what a person commits of a container of ours lacks it. */
const MARK = 'bestk.prepared';
/** Images kept at the same time; each takes as much disk as the repository's present state, packed. */
const MOST = 16;

export interface PreparedImage {
  readonly name: string;
  /** The one commit of its repository. */
  readonly commit: string;
}

/**
 * Images made of containers whose repository was just made ready, before anything else ran in them. Packing a repository with
 * a history into one commit takes seconds, and is the same for every container of an image: later ones begin where the first
 * one stood. They are gone with the process; those of a killed one are removed by the next sweep.
 */
export class PreparedImages {
  /** By what is prepared, used longest ago first. */
  readonly #images = new Map<string, PreparedImage>();
  /** What was found to hold something else, as where the repository lies on a volume. */
  readonly #wrong = new Set<string>();
  readonly #making = new Set<string>();

  constructor(private readonly docker: Docker) {}

  find(content: string): PreparedImage | undefined {
    const found = this.#images.get(content);
    if (found === undefined || this.#wrong.has(content)) return undefined;
    this.#images.delete(content);
    this.#images.set(content, found);
    return found;
  }

  /** Keeps what the container holds now. An engine that cannot do so costs later containers the time, and nothing else. */
  async keep(content: string, container: Docker.Container, commit: string): Promise<void> {
    if ([this.#images, this.#making, this.#wrong].some((known) => known.has(content))) return;
    this.#making.add(content);
    const tag = randomUUID();
    try {
      await engineCall({ container: container.id }, (abortSignal) =>
        // Nothing runs in it that would have to stand still.
        container.commit({ repo: PREPARED, tag, pause: false, changes: `LABEL ${MARK}=1`, abortSignal }),
      );
      this.#images.set(content, { name: `${PREPARED}:${tag}`, commit });
      await this.#shrink(MOST);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
    } finally {
      this.#making.delete(content);
    }
  }

  /** It is gone; the next container makes its repository ready again, and it may be kept. */
  forget(content: string): void {
    this.#images.delete(content);
  }

  /** It does not hold what was made ready: it is neither taken nor kept again. */
  reject(content: string): void {
    this.#wrong.add(content);
  }

  /** Removes those that no container has; the images that they were made of stay. */
  async removeIdle(): Promise<void> {
    await this.#shrink(0);
  }

  async #shrink(most: number): Promise<void> {
    for (const [content, { name }] of [...this.#images]) {
      if (this.#images.size <= most) return;
      if (await removeImage(this.docker, name)) this.#images.delete(content);
    }
  }
}

/** Removes what killed processes left. @throws EngineUnavailableError */
export async function sweepPreparedImages(docker: Docker): Promise<void> {
  const images = await engineCall({ image: PREPARED }, () => docker.listImages({ filters: { label: [`${MARK}=1`] } }));
  for (const { Id, Labels } of images) {
    const owner = (Labels as Record<string, string> | null)?.[LABEL.owner] ?? '';
    if (owner !== OWNER && isDeadOwner(owner)) await removeImage(docker, Id);
  }
}

/** @returns false when the engine kept it, for a container that has it for instance */
async function removeImage(docker: Docker, name: string): Promise<boolean> {
  try {
    // Its parents are images of the user's, who may have no name for them.
    await engineCall({ image: name }, (abortSignal) => imageAt(docker, name).remove({ noprune: true, abortSignal }));
    return true;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return error instanceof ImageMissingError;
  }
}
