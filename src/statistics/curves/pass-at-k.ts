import { BadInputError } from '../../core/errors/errors.js';

/**
 * Unbiased Pass@k of one issue: the chance that k of its n candidates, drawn without replacement, hold a right one,
 * 1 − C(n−c, k)/C(n, k) (Chen et al. 2021). Computed as a sum of logarithms: no overflow and no cancellation.
 * @param n candidates, 1 or more
 * @param c right ones among them, 0..n
 * @param k 1..n
 * @throws BadInputError for counts that are not whole or out of range
 */
export function passAtK(n: number, c: number, k: number): number {
  requireCount('n', n, 1, Number.MAX_SAFE_INTEGER);
  requireCount('c', c, 0, n);
  requireCount('k', k, 1, n);
  if (c > n - k) return 1;
  if (c === 0) return 0;
  const [drawn, others] = c < k ? [c, k] : [k, c];
  let logMiss = 0;
  for (let j = 0; j < drawn; j += 1) logMiss += Math.log1p(-others / (n - j));
  return -Math.expm1(logMiss);
}

/** Refuses what is not a whole number in a range. @throws BadInputError */
export function requireCount(name: string, value: number, from: number, to: number): void {
  if (!Number.isSafeInteger(value) || value < from || value > to) {
    throw new BadInputError(`${name} = ${value} is not a whole number from ${from} to ${to}.`, { field: name });
  }
}
