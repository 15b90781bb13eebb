import { BadInputError } from '../../core/errors/errors.js';

/** Largest n for which all binomials C(n, ·) fit in a double. */
export const LARGEST_TABLE = 1000;

/** Pascal's triangle in one array: C(a, b) is at a·width + b and is 0 if b > a. */
export interface Binomials {
  readonly width: number;
  readonly cells: Float64Array;
}

let shared = grow(64);

/**
 * C(a, b) for all a and b from 0 to at least n. The table is shared and grows; do not write to it.
 * @param n at most LARGEST_TABLE
 */
export function binomials(n: number): Binomials {
  if (n > LARGEST_TABLE) throw new RangeError(`C(${n}, ·) does not fit a double.`);
  if (shared.width <= n) shared = grow(Math.min(LARGEST_TABLE, 2 * n) + 1);
  return shared;
}

function grow(width: number): Binomials {
  const cells = new Float64Array(width * width);
  for (let a = 0; a < width; a += 1) {
    cells[a * width] = 1;
    for (let b = 1; b <= a; b += 1) {
      const above = (a - 1) * width + b;
      cells[a * width + b] = real(cells, above - 1) + real(cells, above);
    }
  }
  return { width, cells };
}

/** C(n, k) as a double; `Infinity` if it does not fit. Exact below 2^53. */
export function choose(n: number, k: number): number {
  if (k < 0 || k > n) return 0;
  let product = 1;
  for (let i = 1; i <= Math.min(k, n - k); i += 1) product = (product * (n - i + 1)) / i;
  return product < Number.MAX_SAFE_INTEGER ? Math.round(product) : product;
}

/** A two-sided 95 % interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Two-sided 95 % quantile of the normal distribution. */
export const Z95 = 1.959963984540054;

/** Wilson's score interval for a rate of `successes` in `n` (Wilson 1927); 0..1 if n is 0. `successes` may be fractional. */
export function wilsonInterval(successes: number, n: number): Interval {
  if (n === 0) return { low: 0, high: 1 };
  const rate = successes / n;
  const z2 = Z95 * Z95;
  const centre = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const half = (Z95 * Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n * n))) / (1 + z2 / n);
  return { low: successes === 0 ? 0 : centre - half, high: successes === n ? 1 : centre + half };
}

/** @throws BadInputError for counts that are not whole or out of range */
export function wilson(successes: number, n: number): Interval {
  requireCount('n', n, 0, Number.MAX_SAFE_INTEGER);
  requireCount('successes', successes, 0, n);
  return wilsonInterval(successes, n);
}

/** The number at an index known to be in range; spares hot loops the check for `undefined`. */
export function real(values: Float64Array, index: number): number {
  return values[index] as number;
}

/** The whole number at an index known to be in range. */
export function whole(values: Int32Array, index: number): number {
  return values[index] as number;
}

/**
 * Requires a whole number in a range.
 * @throws BadInputError
 */
export function requireCount(name: string, value: number, from: number, to: number): void {
  if (!Number.isSafeInteger(value) || value < from || value > to) {
    throw new BadInputError(`${name} = ${value} is not a whole number from ${from} to ${to}.`, { field: name });
  }
}
