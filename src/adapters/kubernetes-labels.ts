import { createHash } from 'node:crypto';
import type { ObjectMeta, Pod } from './kubernetes-objects.js';
import type { WorkerPod } from './kubernetes-options.js';
import { isDeadOwner, isNeighbour, LABEL, OWNER } from './sandbox-owner.js';

const WORKER = 'bestk.worker';

/** Selects every pod of ours, whoever made it. */
export const OURS = `${LABEL.mark}=1`;

/** A label's value holds few characters, so it is a hash; the owner itself stands in the annotation of the same name. */
function hashed(owner: string): string {
  return createHash('sha256').update(owner).digest('hex').slice(0, 32);
}

/** Selects the pods of one process; of this one by default. */
export function podsOf(owner: string = OWNER): string {
  return `${OURS},${LABEL.owner}=${hashed(owner)}`;
}

/** Labels and annotations of a pod that may be there for `lifeS` seconds. */
export function podLabels(purpose: string, lifeS: number, worker: WorkerPod | undefined): ObjectMeta {
  const expires = String(Math.ceil(Date.now() / 1000) + lifeS);
  return {
    labels: {
      [LABEL.mark]: '1',
      [LABEL.owner]: hashed(OWNER),
      [LABEL.expires]: expires,
      ...(worker && { [WORKER]: worker.uid }),
    },
    annotations: { [LABEL.purpose]: purpose, [LABEL.owner]: OWNER },
  };
}

/**
 * Whether nobody wants this pod any more: it expired, its process is dead, or it was made in the same worker pod by a
 * container before this one. A process beside us in this container, such as a command that somebody started there, lives.
 */
export function isStale({ metadata }: Pod, worker: WorkerPod | undefined): boolean {
  const { labels = {}, annotations = {} } = metadata ?? {};
  const expires = Number(labels[LABEL.expires]);
  if (expires > 0 && expires < Date.now() / 1000) return true;
  const owner = annotations[LABEL.owner] ?? '';
  return (worker !== undefined && labels[WORKER] === worker.uid && !isNeighbour(owner)) || isDeadOwner(owner);
}
