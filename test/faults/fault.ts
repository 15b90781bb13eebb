import type { Random } from '../../src/core/random.js';
import type { Stage } from './stage.js';
import type { Surroundings } from './surroundings.js';

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
