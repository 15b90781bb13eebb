import { pause } from './retry.js';

const LOOK_EVERY_MS = 100;

/**
 * Whether what this process works on is certainly still its own. Processes that share work renew their claims to it; what was
 * not renewed in time may by now be another's, who would pay for the same calls.
 */
export class Claims {
  /** By the clock of timers. */
  private until = Number.POSITIVE_INFINITY;

  /** Nobody else takes what this process holds before then, and what it has lost it has stopped. @param until by `performance.now()` */
  renewed(until: number): void {
    this.until = until;
  }

  /** Resolves while they are certain, and else when they have been renewed. @throws the signal's reason, for what was lost too */
  async certain(signal: AbortSignal): Promise<void> {
    while (performance.now() > this.until) await pause(LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}
