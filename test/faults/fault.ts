import type { Random } from '../../src/core/random.js';
import type { Stage } from './stage.js';
import type { Surroundings } from './surroundings.js';

/** Waits as long as trouble lasts; in the short form for `briefMs`, and no longer than the run. */
export type Lasts = (ms: number, briefMs: number) => Promise<void>;

/** One kind of trouble. */
export interface Fault {
  readonly name: string;
  readonly surroundings: Surroundings;
  /** How many of the asked points are struck: the share of those that take long is smaller. */
  readonly share: number;
  /** Nobody notices it for seconds, and until then each candidate may begin one more call, whose answer cannot be stored. */
  readonly unnoticed?: true;
  /** Strikes, and mends what an operator or a service manager would mend. */
  strike(stage: Stage, random: Random, lasts: Lasts): Promise<void>;
}

/** A number between two. */
export function between(low: number, high: number, random: Random): number {
  return low + random() * (high - low);
}
