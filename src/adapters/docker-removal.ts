import type Docker from 'dockerode';
import { engineCall } from './docker-engine.js';
import { isAlreadyGone } from './docker-failure.js';
import { isDeadOwner, LABEL } from './sandbox-owner.js';

/** Removes a container and all that runs in it; one that is gone already is fine. @throws EngineUnavailableError */
export async function removeContainer(container: Docker.Container): Promise<void> {
  await engineCall({ container: container.id }, (abortSignal) =>
    container.remove({ force: true, v: true, abortSignal }).catch((error: unknown) => {
      if (!isAlreadyGone(error)) throw error;
    }),
  );
}

/** Removes containers of ours that expired or whose process is dead, and returns how many. @throws EngineUnavailableError */
export async function sweepContainers(docker: Docker): Promise<number> {
  const ours = await engineCall({ container: LABEL.mark }, (abortSignal) =>
    docker.listContainers({ all: true, filters: { label: [`${LABEL.mark}=1`] }, abortSignal }),
  );
  const stale = ours.filter(isStale);
  for (const { Id } of stale) await removeContainer(docker.getContainer(Id));
  return stale.length;
}

/**
 * Nobody's any more. One that runs ends by itself when its time is over; by the date on it a living one would be taken
 * for old whenever somebody's clock jumps.
 */
function isStale({ Labels, State }: Pick<Docker.ContainerInfo, 'Labels' | 'State'>): boolean {
  if (isDeadOwner(Labels[LABEL.owner] ?? '')) return true;
  const expires = Number(Labels[LABEL.expires]);
  return State !== 'running' && expires > 0 && expires < Date.now() / 1000;
}
