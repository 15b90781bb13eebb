import { UnavailableError } from './errors.js';

/** What a machine can be short of; `store` is the file system of an embedded store, `uploads` that of uploads. */
export const RESOURCES = ['engine', 'memory', 'store', 'uploads'] as const;
export type Resource = (typeof RESOURCES)[number];

export interface Level {
  readonly resource: Resource;
  /** Where it was looked at. */
  readonly place: string;
  readonly freeBytes: number;
  readonly floorBytes: number;
}

/** Below its floor. */
export function isLow({ freeBytes, floorBytes }: Level): boolean {
  return freeBytes < floorBytes;
}

const MIB = 1024 * 1024;
const WHAT: Readonly<Record<Resource, string>> = {
  engine: 'disk for containers and images',
  memory: 'memory',
  store: 'disk for the store',
  uploads: 'disk for uploads',
};

/** The machine is below a floor that keeps it usable. Work waits for that to pass; who cannot wait is told this. */
export class MachineLowError extends UnavailableError {
  readonly code: 'disk-low' | 'memory-low';
  /** Whoever throws it has waited. */
  readonly retryable = false;
  readonly resource: Resource;

  constructor({ resource, place, freeBytes, floorBytes }: Level) {
    const setting = resource === 'memory' ? 'BESTK_MIN_FREE_MEMORY_MB' : 'BESTK_MIN_FREE_DISK_MB';
    super(
      `The machine is low on ${WHAT[resource]}: ${mib(freeBytes)} MiB free at ${place}, no work is taken below ${mib(floorBytes)} (${setting}).`,
      resource === 'memory'
        ? 'Free memory or run less beside bestk; or lower BESTK_SANDBOX_CONCURRENCY or BESTK_MIN_FREE_MEMORY_MB.'
        : 'Free disk space (for images: `docker system df`, `docker image prune`), or lower BESTK_MIN_FREE_DISK_MB.',
    );
    this.resource = resource;
    this.code = resource === 'memory' ? 'memory-low' : 'disk-low';
  }
}

function mib(bytes: number): string {
  return String(Math.floor(bytes / MIB));
}
