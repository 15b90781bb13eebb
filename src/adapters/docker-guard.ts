import { patient } from './patient-signal.js';
import { setTimeout as sleep } from 'node:timers/promises';
import type Docker from 'dockerode';
import { isLayerOver } from './docker-disk.js';

/** Between two looks at the writable layer; what is written in between is the overshoot. */
const DISK_POLL_MS = 500;

/** Why a command is ended from outside. */
export type Trip = 'deadline' | 'disk' | 'aborted';

export interface Bounds {
  readonly deadlineMs: number;
  /** Bytes the writable layer may hold. */
  readonly diskBytes: number;
  readonly signal: AbortSignal;
}

/**
 * Watches a running command from the host, where it cannot be tricked. The engine has no quota on the writable layer for
 * most file systems, so its size is looked at; RLIMIT_FSIZE bounds a single file meanwhile.
 */
export function guard(container: Docker.Container, bounds: Bounds): { tripped: Promise<Trip>; stop(): void } {
  const { signal } = bounds;
  const over = new AbortController();
  let trip: (reason: Trip) => void = () => undefined;
  const tripped = new Promise<Trip>((resolve) => (trip = resolve));
  const onAbort = (): void => {
    trip('aborted');
  };
  patient(signal).addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  const timer = setTimeout(trip, bounds.deadlineMs, 'deadline');
  void watchDisk(container, bounds.diskBytes, over.signal).then((full) => {
    if (full) trip('disk');
  });
  const stop = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    over.abort();
  };
  return { tripped, stop };
}

/** True once the layer is over its bound, false when told to stop or when the engine does not answer. */
async function watchDisk(container: Docker.Container, bound: number, over: AbortSignal): Promise<boolean> {
  try {
    for (;;) {
      await sleep(DISK_POLL_MS, undefined, { signal: over });
      if (await isLayerOver(container, bound)) return !over.aborted;
    }
  } catch {
    // Whoever waits for the command meets the same trouble and reports it.
    return false;
  }
}
