import { EngineDiskFullError, EngineUnavailableError } from '../core/unavailable.js';
import { pause } from './retry.js';

const PAUSE_MS = 1_000;

/**
 * Waits for an engine that was there before and restarts, or has no room for the moment; one that never answered is told at once, for then Docker was
 * not started, or DOCKER_HOST is wrong.
 */
export class DockerPatience {
  private wasThere = false;

  /** @param patienceMs how long an engine that went away is waited for */
  constructor(private readonly patienceMs: number) {}

  /** @param look may be done again @throws what `look` throws, and the signal's reason */
  async wait<T>(look: () => Promise<T>, signal: AbortSignal): Promise<T> {
    for (const start = performance.now(); ;) {
      signal.throwIfAborted();
      try {
        const seen = await look();
        this.wasThere = true;
        return seen;
      } catch (error) {
        const hope = this.wasThere && performance.now() - start < this.patienceMs;
        const passes = error instanceof EngineUnavailableError || error instanceof EngineDiskFullError;
        if (!passes || !hope) throw error;
      }
      await pause(PAUSE_MS, signal);
    }
  }
}
