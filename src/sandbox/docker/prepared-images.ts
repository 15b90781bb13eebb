import { randomUUID } from 'node:crypto';
import type Docker from 'dockerode';
import { UnavailableError } from '../../core/errors/errors.js';
import { ImageMissingError } from '../../core/errors/unavailable.js';
import { isDeadOwner, LABEL, OWNER } from '../container/sandbox-owner.js';
import { engineCall, imageAt } from './engine.js';

/** The repository of every image of ours that holds one made ready. */
const REPOSITORY = 'bestk-prepared';
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
        container.commit({ repo: REPOSITORY, tag, pause: false, changes: `LABEL ${MARK}=1`, abortSignal }),
      );
      this.#images.set(content, { name: `${REPOSITORY}:${tag}`, commit });
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
  const images = await engineCall({ image: REPOSITORY }, () =>
    docker.listImages({ filters: { label: [`${MARK}=1`] } }),
  );
  for (const { Id, RepoTags, Labels } of images) {
    const owner = (Labels as Record<string, string> | null)?.[LABEL.owner] ?? '';
    if (owner !== OWNER && isDeadOwner(owner)) await removeImage(docker, RepoTags?.[0] ?? Id);
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
