import { choose, LARGEST_TABLE } from './binomial.js';
import { requireCount } from './pass-at-k.js';
import { Z95 } from './wilson.js';

/**
 * Exact two-sided McNemar test: p of a split at least as uneven as `onlyA` against `onlyB` if each discordant issue were
 * a fair coin; 1 when there is none.
 */
export function mcnemar(onlyA: number, onlyB: number): number {
  requireCount('onlyA', onlyA, 0, Number.MAX_SAFE_INTEGER);
  requireCount('onlyB', onlyB, 0, Number.MAX_SAFE_INTEGER);
  const n = onlyA + onlyB;
  let tail = 0;
  for (let i = 0; i <= Math.min(onlyA, onlyB); i += 1) tail += coins(n, i);
  return Math.min(1, 2 * tail);
}

/** P(i heads in n tosses), by logarithms where the binomials do not fit a double. */
function coins(n: number, i: number): number {
  if (n <= LARGEST_TABLE) return choose(n, i) * 2 ** -n;
  return Math.exp(logFactorial(n) - logFactorial(i) - logFactorial(n - i) - n * Math.LN2);
}

/** Stirling's series to 1/n³; exact sums below 20. */
function logFactorial(n: number): number {
  if (n < 20) return Array.from({ length: n }, (_, i) => Math.log(i + 1)).reduce((sum, log) => sum + log, 0);
  return n * Math.log(n) - n + Math.log(2 * Math.PI * n) / 2 + 1 / (12 * n) - 1 / (360 * n ** 3);
}

/** Holm's step-down adjustment: p-values that hold for all comparisons together, in the order given. */
export function holm(pValues: readonly number[]): number[] {
  const order = pValues.map((_, index) => index).sort((a, b) => (pValues[a] ?? 1) - (pValues[b] ?? 1));
  const adjusted = pValues.map(() => 1);
  let reached = 0;
  for (const [rank, index] of order.entries()) {
    reached = Math.max(reached, Math.min(1, (pValues[index] ?? 1) * (pValues.length - rank)));
    adjusted[index] = reached;
  }
  return adjusted;
}

/** 80 % quantile of the normal distribution. */
const Z80 = 0.8416212335729143;

/**
 * The smallest true difference that a two-sided 5 % test of paired means would find in 80 % of samples of this size.
 * @param deviation standard deviation of the per-issue differences
 * @param n issues
 */
export function minimumDetectable(deviation: number, n: number): number {
  return n === 0 ? Infinity : ((Z95 + Z80) * deviation) / Math.sqrt(n);
}
