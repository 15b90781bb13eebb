import { createHash } from 'node:crypto';
import type { ObjectMeta, Pod } from './kubernetes-objects.js';
import type { WorkerPod } from './kubernetes-options.js';
import { isDeadOwner, isNeighbour, LABEL, OWNER } from './sandbox-owner.js';

const WORKER = 'bestk.worker';

/** Selects every pod of ours, whoever made it. */
export const OURS = `${LABEL.mark}=1`;

/** How long a pod whose time is over still says why to the process that waits for it. */
const SAID_MS = 60_000;

/** A label's value holds few characters, so it is a hash; the owner itself stands in the annotation of the same name. */
function hashed(owner: string): string {
  return createHash('sha256').update(owner).digest('hex').slice(0, 32);
}

/** Selects the pods of one process; of this one by default. */
export function podsOf(owner: string = OWNER): string {
  return `${OURS},${LABEL.owner}=${hashed(owner)}`;
}

/** Labels and annotations of a pod. */
export function podLabels(purpose: string, worker: WorkerPod | undefined): ObjectMeta {
  return {
    labels: {
      [LABEL.mark]: '1',
      [LABEL.owner]: hashed(OWNER),
      ...(worker && { [WORKER]: worker.uid }),
    },
    annotations: { [LABEL.purpose]: purpose, [LABEL.owner]: OWNER },
  };
}

/**
 * Whether nobody wants this pod any more: it expired by the cluster's clock, its process is dead, or it was made in the
 * same worker pod by a container before this one. A process beside us in this container, such as a command that somebody
 * started there, lives.
 */
export function isStale(pod: Pod, worker: WorkerPod | undefined, clusterMs: number): boolean {
  if (isExpired(pod, clusterMs)) return true;
  const { labels = {}, annotations = {} } = pod.metadata ?? {};
  const owner = annotations[LABEL.owner] ?? '';
  return (worker !== undefined && labels[WORKER] === worker.uid && !isNeighbour(owner)) || isDeadOwner(owner);
}

/** By the cluster's clock alone: this machine's may jump, and a living pod would be taken for old. */
function isExpired({ metadata, spec, status }: Pod, clusterMs: number): boolean {
  const since = status?.startTime ?? metadata?.creationTimestamp;
  const lifeS = spec?.activeDeadlineSeconds;
  if (since === undefined || lifeS === undefined) return false;
  return clusterMs > since.getTime() + lifeS * 1000 + SAID_MS;
}
