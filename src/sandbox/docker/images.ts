import { createHash, randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import { SingleFlight } from '../../core/async/concurrency.js';
import { UnavailableError } from '../../core/errors/errors.js';
import { ImageMissingError } from '../../core/errors/unavailable.js';
import type { HostResources } from '../../ports/sandbox.js';
import type { Ready } from '../container/container-sandbox.js';
import { hasExpired, isDeadOwner, isNeighbour, LABEL, OWNER } from '../container/sandbox-owner.js';
import { engineCall, imageAt } from './engine.js';
import { pullImage, type PullOptions } from './pull.js';

/** Interval between updates of an image's last use; well below the time for which other processes honour it. */
const MARK_EVERY_MS = 60_000;

export interface ImageOptions extends PullOptions {
  readonly pull: 'never' | 'missing';
  /** Limit of all images that bestk pulled; undefined = limited only by the disk's floor. */
  readonly cacheBytes: number | undefined;
  readonly room: HostResources;
}

export interface LocalImage {
  readonly id: string;
  /** User of its commands, in the engine's format; null = root. */
  readonly user: string | null;
}

/** The images of an engine: existing ones, which are never removed, and those that bestk pulls and evicts. */
export class DockerImages {
  readonly prepared: PreparedImages;
  readonly #pulls = new SingleFlight<void>();
  readonly #evictions = new SingleFlight<void>();
  /** Images needed by work under way: number of uses by mark. */
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
  async look(image: string): Promise<LocalImage> {
    const { Id, RepoTags, Config } = await engineCall({ image }, () => imageAt(this.docker, image).inspect());
    const ours = (RepoTags as string[] | undefined)?.some((tag) => tag.includes(markOf(image))) === true;
    if (ours) await this.#use(image);
    const user = (Config as { User?: string } | null)?.User ?? '';
    return { id: Id, user: /^(root|0)?(:|$)/.test(user) ? null : user };
  }

  /** Pulls a missing image, once for all concurrent callers. @throws ImagePullError and errors from making room */
  async pull(image: string, signal: AbortSignal): Promise<void> {
    // An id identifies content but no registry.
    if (/^(sha256:)?[0-9a-f]{64}$/.test(image)) throw new ImageMissingError(image);
    await this.#pulls.join(familiarName(image), signal, (both) => this.keeping(image, () => this.#pull(image, both)));
  }

  /** Protects the image from removal while `work` runs. */
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

  /** Evicts pulled images, least recently used first, while they exceed the limit or the disk is low. */
  makeRoom(): Promise<void> {
    return this.#evictions.join('', new AbortController().signal, () => this.#evict());
  }

  async #pull(image: string, signal: AbortSignal): Promise<void> {
    const name = familiarName(image);
    await this.makeRoom();
    const before = await engineCall({ image }, () => this.docker.listImages());
    await pullImage(this.docker, name, this.options, signal);
    const { Id } = await engineCall({ image }, () => imageAt(this.docker, name).inspect());
    // If the content existed under another name before, it is not bestk's to remove.
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
    // Prepared images would keep the content of their image on disk.
    await this.prepared.removeIdle();
    for (const image of await this.#removable()) {
      if (tooMany <= 0 && !(await this.#isLow())) return;
      if (await this.#remove(image)) tooMany -= image.bytes;
    }
  }

  /** Bytes over the limit; each image counts in full, including layers shared with others. */
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

  /** @returns false if the engine kept it, e.g. for a container made meanwhile, or under a digest of another registry */
  async #remove({ id, tags, bytes }: Pulled): Promise<boolean> {
    try {
      for (const tag of tags) await untag(this.docker, tag);
      const left = await engineCall({ image: id }, () => this.docker.listImages());
      if (left.some(({ Id }) => Id === id)) return false;
      this.options.say(`Removed image ${tags[0] ?? id} (${Math.round(bytes / 1e6)} MB), used longest ago.`);
      return true;
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      return false;
    }
  }
}

/*
 * Images pulled by bestk are marked by tags on the engine itself, `bestk-pulled/<hash of the
 * name>:<seconds>.<process>`: they are independent of any store, visible to all processes on the engine, and record the
 * last use.
 */

const REPOSITORY = 'bestk-pulled/';
const PROCESS = hash(OWNER).slice(0, 8);
/** How long an image used by another process counts as in use. */
const OTHERS_USE_S = 600;

export interface Pulled {
  readonly id: string;
  readonly bytes: number;
  /** Hash of the name under which it was pulled. */
  readonly name: string;
  /** All tags and digests to remove, bestk's tags last. */
  readonly tags: readonly string[];
  readonly usedAt: number;
  readonly usedByOthers: boolean;
}

/** An image's name in the engine's listing format, which omits the tag before a digest. */
export function familiarName(image: string): string {
  const short = image
    .replace(/^docker\.io\//, '')
    .replace(/^library\//, '')
    .replace(/:[^:/@]+@/, '@');
  return short.includes('@') || short.lastIndexOf(':') > short.lastIndexOf('/') ? short : `${short}:latest`;
}

export function markOf(image: string): string {
  return hash(familiarName(image));
}

/** Records that bestk pulled or used an image. */
export async function mark(docker: Docker, image: string): Promise<void> {
  const repo = `${REPOSITORY}${markOf(image)}`;
  const now = `${String(nowS())}.${PROCESS}`;
  await engineCall({ image }, (abortSignal) => imageAt(docker, image).tag({ repo, tag: now, abortSignal }));
  const listed = await engineCall({ image }, () => docker.listImages({ filters: { reference: [repo] } }));
  const tags = listed.flatMap(({ RepoTags }) => RepoTags ?? []);
  for (const tag of tags) if (tag !== `${repo}:${now}` && isStale(tag)) await untag(docker, tag);
}

/** Images that bestk pulled and that have no other names, least recently used first. */
export async function pulledImages(docker: Docker): Promise<readonly Pulled[]> {
  const images = await engineCall({ image: 'images' }, () => docker.listImages());
  const pulled = images.flatMap(({ Id, Size, RepoTags, RepoDigests }) => {
    const names = (RepoTags ?? []).filter((tag) => !tag.startsWith('<none>'));
    const ours = names.filter((tag) => tag.startsWith(REPOSITORY));
    const theirs = names.filter((tag) => !tag.startsWith(REPOSITORY));
    const [name] = ours.map(nameOf);
    if (name === undefined || theirs.some((tag) => hash(tag) !== name)) return [];
    // The engine keeps an image that was pulled by digest as long as it has that name.
    const digests = (RepoDigests ?? []).filter((digest) => hash(digest) === name);
    const tags = [...digests, ...theirs, ...ours];
    const usedAt = Math.max(...ours.map(timeOf));
    return [{ id: Id, bytes: Size, name, tags, usedAt, usedByOthers: !ours.every(isStale) }];
  });
  return pulled.sort((a, b) => a.usedAt - b.usedAt);
}

/** Removes a tag; with the last one the engine removes the image, unless a container uses it. */
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

/** A tag of this process, which tracks its own needs, or one older than others' uses count. */
function isStale(tag: string): boolean {
  return tag.endsWith(`.${PROCESS}`) || timeOf(tag) + OTHERS_USE_S < nowS();
}

function nowS(): number {
  return Math.floor(Date.now() / 1000);
}

/** The repository name of all prepared images. */
const PREPARED = 'bestk-prepared';
/** Label of prepared images, by which they differ from images that a person commits from a sandbox. */
const MARK = `${LABEL.prepared}=1`;
/** Maximum number of images kept; each takes the disk space of the packed repository. */
const MOST = 16;

interface PreparedImage extends Ready {
  /** Not its name, which may be moved to another image. */
  readonly id: string;
}

/**
 * Images committed from containers whose repository was just prepared, before anything else ran in them. Packing a
 * repository's history into one commit takes seconds and gives the same result for every container of an image, so
 * later containers start from the prepared one. They are removed with the process; those of a killed process by the
 * next sweep.
 */
export class PreparedImages {
  /** By content key, least recently used first. */
  readonly #images = new Map<string, PreparedImage>();
  /** Content keys whose image turned out to hold something else, e.g. because the repository is on a volume. */
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

  /** Commits the container's present state. If the engine cannot, later containers are only slower to open. */
  async keep(content: string, container: Docker.Container, commit: string): Promise<void> {
    if ([this.#images, this.#making, this.#wrong].some((known) => known.has(content))) return;
    this.#making.add(content);
    const tag = randomUUID();
    try {
      const { Id: id } = (await engineCall({ container: container.id }, (abortSignal) =>
        // Pausing is not needed, since nothing is running in it.
        container.commit({ repo: PREPARED, tag, pause: false, changes: `LABEL ${MARK}`, abortSignal }),
      )) as { readonly Id: string };
      this.#images.set(content, {
        ...{ id, commit, known: null },
        confirm: (known) => {
          const image = this.#images.get(content);
          if (image?.id === id) this.#images.set(content, { ...image, known });
        },
        // It is neither used nor kept again.
        reject: () => this.#wrong.add(content),
      });
      await this.#shrink(MOST);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
    } finally {
      this.#making.delete(content);
    }
  }

  /** The image is gone; the next container prepares its repository again and may be kept. */
  forget(content: string): void {
    this.#images.delete(content);
  }

  /** Removes prepared images without a container; their base images stay. */
  async removeIdle(): Promise<void> {
    await this.#shrink(0);
  }

  async #shrink(most: number): Promise<void> {
    for (const [content, { id }] of [...this.#images]) {
      if (this.#images.size <= most) return;
      if (await removeImage(this.docker, id)) this.#images.delete(content);
    }
  }
}

/**
 * Removes prepared images left by killed processes. Whether a process elsewhere, or before a reboot, still runs is
 * unknown; its images go once the container that they were made from has expired. If it does run, it makes new ones.
 * @throws EngineUnavailableError
 */
export async function sweepPreparedImages(docker: Docker): Promise<void> {
  const images = await engineCall({ image: PREPARED }, () => docker.listImages({ filters: { label: [MARK] } }));
  for (const { Id, Labels } of images) {
    const labels = (Labels as Record<string, string> | null) ?? {};
    const owner = labels[LABEL.owner] ?? '';
    if (isNeighbour(owner) ? isDeadOwner(owner) : hasExpired(labels)) await removeImage(docker, Id);
  }
}

/** @returns false if the engine kept it, e.g. for a container that uses it */
async function removeImage(docker: Docker, id: string): Promise<boolean> {
  try {
    // `noprune` keeps its parents, which are the user's images and may be untagged.
    await engineCall({ image: id }, (abortSignal) => imageAt(docker, id).remove({ noprune: true, abortSignal }));
    return true;
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    return error instanceof ImageMissingError;
  }
}
