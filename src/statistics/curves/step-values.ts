import type { Entry } from '../../../verifiers/hybrid/entry.js';
import type { Pool } from '../../../verifiers/hybrid/pool.js';

/** Values by candidate, higher better, −∞ = unknown for all: the same in every subset of the pool. */
export interface FixedValues {
  readonly kind: 'fixed';
  readonly values: Float64Array;
  /** All candidates have the same. */
  readonly constant: boolean;
}

/** Values that depend on who else was drawn: how many of the subset carry the candidate's code. */
export interface GroupValues {
  readonly kind: 'group';
  readonly codes: Int32Array;
  readonly groups: number;
  /** −1 for `min`. */
  readonly sign: number;
  /** Null: the count itself; else the weight × √count. */
  readonly weights: Float64Array | null;
}

/** Values that only a pool of the drawn candidates can tell, as a posterior or what stands in for an unknown one. */
export interface PoolValues {
  readonly kind: 'pool';
  /** Higher is better, −∞ = unknown for all. */
  readonly of: (pool: Pool, entry: Entry) => number;
}

export type StepValues = FixedValues | GroupValues | PoolValues;

export function fixedValues(values: Float64Array): FixedValues {
  const first = values[0];
  let constant = true;
  for (let i = 1; i < values.length && constant; i += 1) constant = values[i] === first;
  return { kind: 'fixed', values, constant };
}
