import type { Random } from '../../src/core/random.js';
import type { Stage } from './stage.js';

/** What of the surroundings a fault needs to be its own. */
export interface Surroundings {
  readonly store: 'postgres' | 'sqlite';
  /** Whether a `bestk worker` runs beside the service. */
  readonly worker: boolean;
  /** Megabytes of a file system of its own for the store, or for the engine; absent = the machine's. */
  readonly storeDisk?: number;
  readonly engineDisk?: number;
  /** Whose wall clock can be set. */
  readonly clock?: 'service' | 'worker' | 'database';
}

/** One kind of trouble. */
export interface Fault {
  readonly name: string;
  readonly surroundings: Surroundings;
  /** How many of the asked points are struck: the share of those that take long is smaller. */
  readonly share: number;
  /** Strikes, and mends what an operator or a service manager would mend. @param brief a short form was asked for */
  strike(stage: Stage, random: Random, brief: boolean): Promise<void>;
}

/** A number between two. */
export function between(low: number, high: number, random: Random): number {
  return low + random() * (high - low);
}
