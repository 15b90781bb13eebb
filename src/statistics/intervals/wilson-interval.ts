/** A two-sided 95 % interval. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** Two-sided 95 % quantile of the normal distribution. */
export const Z95 = 1.959963984540054;

/** Wilson's score interval for a rate of `successes` in `n` (Wilson 1927); 0..1 when n is 0. Of whole numbers; this file imports nothing, so that a browser has it too. */
export function wilsonInterval(successes: number, n: number): Interval {
  if (n === 0) return { low: 0, high: 1 };
  const rate = successes / n;
  const z2 = Z95 * Z95;
  const centre = (rate + z2 / (2 * n)) / (1 + z2 / n);
  const half = (Z95 * Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n * n))) / (1 + z2 / n);
  return { low: successes === 0 ? 0 : centre - half, high: successes === n ? 1 : centre + half };
}
