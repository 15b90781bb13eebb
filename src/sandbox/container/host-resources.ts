import { readFile, statfs } from 'node:fs/promises';
import { pause } from '../../core/async/time.js';
import {
  type Level,
  type MachineLowError,
  type Resource,
  StoreUnavailableError,
} from '../../core/errors/unavailable.js';
import { HostResources } from '../../ports/sandbox.js';

const MIB = 1024 * 1024;
const KIB = 1024;
/** Default floors; at most a tenth of the total, so that small machines work. */
const DISK_MB = 1024;
const MEMORY_MB = 256;
const SHARE = 10;
const FRESH_MS = 200;

export interface Floors {
  /** MiB; 0 = not checked, undefined = the default. */
  readonly diskMb?: number | undefined;
  readonly memoryMb?: number | undefined;
}

export interface Places {
  readonly store: string | null;
  readonly uploads: string | null;
  /** Data directory of a local engine; null when the engine is remote or does not answer. */
  readonly engine: () => Promise<string | null>;
  /** Whether containers use this machine's memory. */
  readonly memory: boolean;
}

/** File systems and memory of the machine that this process runs on. */
export class LocalHostResources extends HostResources {
  private last: { readonly at: number; readonly levels: Promise<readonly Level[]> } | null = null;

  constructor(
    private readonly floors: Floors,
    private readonly places: Places,
  ) {
    super();
  }

  /** Cached for a short time: every sandbox, job and scrape calls it. */
  override levels(): Promise<readonly Level[]> {
    const now = performance.now();
    if (this.last === null || now - this.last.at > FRESH_MS) this.last = { at: now, levels: this.look() };
    return this.last.levels;
  }

  private async look(): Promise<readonly Level[]> {
    const { store, uploads, engine, memory } = this.places;
    const looked = await Promise.all([
      this.disk('engine', await engine()),
      memory ? this.memory() : null,
      this.disk('store', store),
      this.disk('uploads', uploads),
    ]);
    return looked.filter((level) => level !== null);
  }

  private async disk(resource: Resource, place: string | null): Promise<Level | null> {
    const { diskMb } = this.floors;
    if (place === null || diskMb === 0) return null;
    try {
      const { bavail, blocks, bsize } = await statfs(place);
      const floorBytes = diskMb === undefined ? defaultFloor(DISK_MB, blocks * bsize) : diskMb * MIB;
      return { resource, place, freeBytes: bavail * bsize, floorBytes };
    } catch {
      // An engine in a virtual machine keeps its data where this process has no access.
      return null;
    }
  }

  /** The kernel's estimate of memory available without swapping; other systems have none. */
  private async memory(): Promise<Level | null> {
    const { memoryMb } = this.floors;
    if (memoryMb === 0) return null;
    const text = await readFile('/proc/meminfo', 'utf8').catch(() => '');
    const [freeBytes, total] = [bytesOf(text, 'MemAvailable'), bytesOf(text, 'MemTotal')];
    if (freeBytes === null || total === null) return null;
    const floorBytes = memoryMb === undefined ? defaultFloor(MEMORY_MB, total) : memoryMb * MIB;
    return { resource: 'memory', place: 'this machine', freeBytes, floorBytes };
  }
}

function defaultFloor(mb: number, totalBytes: number): number {
  return Math.min(mb * MIB, totalBytes / SHARE);
}

function bytesOf(meminfo: string, name: string): number | null {
  const kib = new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(meminfo)?.[1];
  return kib === undefined ? null : Number(kib) * KIB;
}

/** How long a sandbox waits while no other is open: nothing of bestk's will end and free resources. */
const PATIENCE_MS = 300_000;
/** As long as the store itself waits for space, without which no result can be stored or reported. */
const STORE_PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 1_000;

interface GateOptions {
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

/** Holds back new sandboxes until the machine has room for them. */
export class ResourceGate {
  #isLow = false;

  constructor(private readonly options: GateOptions) {}

  /**
   * Waits for room while other sandboxes are open, but no longer than their lifetime.
   * @throws MachineLowError when none is open and no room came, StoreUnavailableError when the store has none, the
   * signal's reason
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
    if (low === null && this.#isLow) warn('Resources are available again: new sandboxes start.');
    this.#isLow = low !== null;
    return low;
  }
}

/**
 * Output of a command that found no space on a disk: its own quota's, or the engine's, which is not a verdict. Git and
 * shells do not always print the system's message. A false match only costs a check of the engine.
 */
const NO_ROOM = /No space left on device|Errno 28|ENOSPC|Out of disk ?space|unable to write|write error|I\/O error/i;

export function saysNoRoom(...output: readonly Buffer[]): boolean {
  return output.some((said) => NO_ROOM.test(said.toString('latin1')));
}
