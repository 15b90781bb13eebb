import { pause } from '../../core/async/retry.js';
import { type MachineLowError, StoreUnavailableError } from '../../core/errors/unavailable.js';
import type { HostResources } from '../../ports/host-resources.js';

/** How long who waits alone waits: nothing of ours will end and make room. */
const PATIENCE_MS = 300_000;
/** As long as the store itself waits for room: what is found cannot be kept, and nobody is told. */
const STORE_PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

export interface GateOptions {
  readonly room: HostResources;
  readonly warn: (text: string) => void;
  /** Frees what can be freed. */
  readonly makeRoom?: () => Promise<void>;
  readonly patienceMs?: number;
  readonly storePatienceMs?: number;
  readonly lookEveryMs?: number;
}

interface Waited {
  readonly aloneMs: number;
  readonly waitedMs: number;
  readonly longestMs: number;
}

/** Where a sandbox waits, before it starts, until the machine has room for it. */
export class ResourceGate {
  #isLow = false;

  constructor(private readonly options: GateOptions) {}

  /**
   * Waits for room, as long as others of ours are open, but no longer than they live.
   * @throws MachineLowError when none is and no room came, StoreUnavailableError when the store has none, the signal's reason
   */
  async pass(isBusy: () => boolean, longestMs: number, signal: AbortSignal): Promise<void> {
    const { lookEveryMs = LOOK_EVERY_MS } = this.options;
    const start = performance.now();
    let alone = start;
    for (;;) {
      const low = await this.#look();
      if (low === null) return;
      const now = performance.now();
      if (isBusy()) alone = now;
      this.#giveUp(low, { aloneMs: now - alone, waitedMs: now - start, longestMs });
      await pause(lookEveryMs, signal);
    }
  }

  #giveUp(low: MachineLowError, { aloneMs, waitedMs, longestMs }: Waited): void {
    const { patienceMs = PATIENCE_MS, storePatienceMs = STORE_PATIENCE_MS } = this.options;
    if (low.resource === 'store' && waitedMs >= storePatienceMs) {
      throw new StoreUnavailableError(low.message, { cause: low });
    }
    if (aloneMs >= patienceMs || waitedMs >= longestMs) throw low;
  }

  async #look(): Promise<MachineLowError | null> {
    const { room, warn, makeRoom } = this.options;
    if ((await room.shortage()) !== null) await makeRoom?.();
    const low = await room.shortage();
    if (low !== null && !this.#isLow) warn(`New sandboxes wait. ${low.message} ${low.next}`);
    if (low === null && this.#isLow) warn('There is room again: new sandboxes start.');
    this.#isLow = low !== null;
    return low;
  }
}

/**
 * What a command may say that found no room on a disk: its own doing, or the engine's, which is nobody's verdict. Git and
 * shells do not always give the system's word for it. One word too many costs a look at the engine.
 */
const NO_ROOM = /No space left on device|Errno 28|ENOSPC|Out of disk ?space|unable to write|write error|I\/O error/i;

export function saysNoRoom(...output: readonly Buffer[]): boolean {
  return output.some((said) => NO_ROOM.test(said.toString('latin1')));
}
