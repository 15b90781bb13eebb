import { real } from './cells.js';

/**
 * Solves A·x = b for a positive definite A by Cholesky's decomposition.
 * @param lower row-major; only the lower triangle is read
 */
export function solveSymmetric(lower: Float64Array, b: Float64Array): Float64Array {
  const n = b.length;
  const l = new Float64Array(n * n);
  for (let i = 0; i < n; i += 1) {
    for (let j = 0; j <= i; j += 1) {
      let sum = real(lower, i * n + j);
      for (let k = 0; k < j; k += 1) sum -= real(l, i * n + k) * real(l, j * n + k);
      l[i * n + j] = i === j ? Math.sqrt(Math.max(sum, 1e-12)) : sum / real(l, j * n + j);
    }
  }
  const x = b.slice();
  for (let i = 0; i < n; i += 1) {
    for (let k = 0; k < i; k += 1) x[i] = real(x, i) - real(l, i * n + k) * real(x, k);
    x[i] = real(x, i) / real(l, i * n + i);
  }
  for (let i = n - 1; i >= 0; i -= 1) {
    for (let k = i + 1; k < n; k += 1) x[i] = real(x, i) - real(l, k * n + i) * real(x, k);
    x[i] = real(x, i) / real(l, i * n + i);
  }
  return x;
}
