import { createHash } from 'node:crypto';
import type Docker from 'dockerode';
import { engineCall } from './docker-engine.js';
import { OWNER } from './sandbox-owner.js';

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
  return short.includes('@') || /:[^/]*$/.test(short) ? short : `${short}:latest`;
}

export function markOf(image: string): string {
  return hash(familiarName(image));
}

/** Notes that we pulled or used an image. */
export async function mark(docker: Docker, image: string): Promise<void> {
  const repo = `${REPOSITORY}${markOf(image)}`;
  const now = `${String(nowS())}.${PROCESS}`;
  await engineCall({ image }, (abortSignal) => docker.getImage(image).tag({ repo, tag: now, abortSignal }));
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
  await engineCall({ image: tag }, () => docker.getImage(tag).remove());
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
