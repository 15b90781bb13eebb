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
  let log = -n * Math.LN2;
  let tail = Math.exp(log);
  for (let i = 1; i <= Math.min(onlyA, onlyB); i += 1) {
    log += Math.log(n - i + 1) - Math.log(i);
    tail += Math.exp(log);
  }
  return Math.min(1, 2 * tail);
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
