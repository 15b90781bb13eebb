import { readFile, statfs } from 'node:fs/promises';
import type { Level, Resource } from '../../core/errors/unavailable.js';
import { HostResources } from '../../ports/host-resources.js';

const MIB = 1024 * 1024;
const KIB = 1024;
/** Floors where nobody says others; never more than a tenth of what there is, so that small machines work. */
const DISK_MB = 1024;
const MEMORY_MB = 256;
const SHARE = 10;
const FRESH_MS = 200;

export interface Floors {
  /** MiB; 0 = not looked at, undefined = the default. */
  readonly diskMb?: number | undefined;
  readonly memoryMb?: number | undefined;
}

export interface Places {
  readonly store: string | null;
  readonly uploads: string | null;
  /** Where a local engine keeps images and containers; null when it is elsewhere or does not answer. */
  readonly engine: () => Promise<string | null>;
  /** Whether containers take the memory of this machine. */
  readonly memory: boolean;
}

/** The file systems and the memory of the machine that this process runs on. */
export class LocalHostResources extends HostResources {
  private last: { readonly at: number; readonly levels: Promise<readonly Level[]> } | null = null;

  constructor(
    private readonly floors: Floors,
    private readonly places: Places,
  ) {
    super();
  }

  /** Looked at again only after a while: every sandbox, job and scrape asks. */
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
      // An engine in a virtual machine keeps its data where this process cannot look.
      return null;
    }
  }

  /** What the kernel says can be had without swapping; other systems have no such figure. */
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
