import { type Logistic, FEATURE_COUNT } from '../../../verifiers/hybrid/features.js';
import { grouped } from '../../core/grouped.js';
import type { Curve } from '../../core/run/fitted.js';
import { real } from '../intervals/binomial.js';

/** Feature rows with labels and weights. */
export interface TrainingSet {
  /** Row-major, FEATURE_COUNT wide, NaN = unknown. */
  readonly rows: Float64Array;
  /** 1 = right. */
  readonly labels: Float64Array;
  /** All issues have the same total weight, whatever their number of candidates. */
  readonly weights: Float64Array;
}

const RIDGE = 1;
const STEPS = 100;
/** Relative error of the likelihood, a sum of thousands of terms, in floating point. */
const ROUNDING = 1e-12;
const PARAMETERS = FEATURE_COUNT + 1;

/**
 * Ridge logistic regression by Newton's method on standardised features; an unknown feature is replaced by its mean. Steps are
 * halved while they lower the penalised log-likelihood, which is concave: whole ones diverge on some extreme data.
 */
export function fitLogistic(set: TrainingSet): Logistic {
  const { means, scales } = standardisation(set);
  const x = standardised(set.rows, means, scales);
  let beta = new Float64Array(PARAMETERS);
  let at = derivatives(x, set, beta);
  for (let step = 0; step < STEPS; step += 1) {
    const lowest = at.logLikelihood - ROUNDING * Math.abs(at.logLikelihood);
    let move = solveSymmetric(at.hessian, at.gradient);
    const moved = (): Float64Array<ArrayBuffer> => beta.map((value, index) => value + real(move, index));
    at = derivatives(x, set, moved());
    while (at.logLikelihood < lowest) {
      move = move.map((value) => value / 2);
      at = derivatives(x, set, moved());
    }
    beta = moved();
    if (move.every((value) => Math.abs(value) < 1e-9)) break;
  }
  return {
    means: [...means],
    scales: [...scales],
    weights: [...beta.subarray(0, FEATURE_COUNT)],
    intercept: real(beta, FEATURE_COUNT),
  };
}

function standardisation({ rows }: TrainingSet): { means: Float64Array; scales: Float64Array } {
  const means = new Float64Array(FEATURE_COUNT);
  const scales = new Float64Array(FEATURE_COUNT);
  for (let f = 0; f < FEATURE_COUNT; f += 1) {
    const known = rows.filter((value, index) => index % FEATURE_COUNT === f && !Number.isNaN(value));
    const mean = known.length === 0 ? 0 : known.reduce((sum, value) => sum + value, 0) / known.length;
    const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, known.length);
    means[f] = mean;
    scales[f] = variance > 1e-12 ? Math.sqrt(variance) : 1;
  }
  return { means, scales };
}

/** Standardises the rows and appends a column of ones. */
function standardised(rows: Float64Array, means: Float64Array, scales: Float64Array): Float64Array {
  const n = rows.length / FEATURE_COUNT;
  const x = new Float64Array(n * PARAMETERS);
  for (let i = 0; i < n; i += 1) {
    for (let f = 0; f < FEATURE_COUNT; f += 1) {
      const value = real(rows, i * FEATURE_COUNT + f);
      x[i * PARAMETERS + f] = Number.isNaN(value) ? 0 : (value - real(means, f)) / real(scales, f);
    }
    x[i * PARAMETERS + FEATURE_COUNT] = 1;
  }
  return x;
}

/**
 * The weighted log-likelihood minus half the ridge penalty, its gradient and its negated Hessian; the intercept is not penalised.
 */
function derivatives(
  x: Float64Array,
  { labels, weights }: TrainingSet,
  beta: Float64Array,
): { logLikelihood: number; gradient: Float64Array; hessian: Float64Array } {
  const gradient = beta.map((value, index) => (index === FEATURE_COUNT ? 0 : -RIDGE * value));
  let logLikelihood = gradient.reduce((all, pull, index) => all + (pull * real(beta, index)) / 2, 0);
  const hessian = new Float64Array(PARAMETERS * PARAMETERS);
  for (let a = 0; a < PARAMETERS; a += 1) hessian[a * PARAMETERS + a] = a === FEATURE_COUNT ? 1e-9 : RIDGE;
  for (let i = 0; i < labels.length; i += 1) {
    const row = x.subarray(i * PARAMETERS, (i + 1) * PARAMETERS);
    let score = 0;
    for (let a = 0; a < PARAMETERS; a += 1) score += real(row, a) * real(beta, a);
    const p = 1 / (1 + Math.exp(-score));
    logLikelihood +=
      real(weights, i) * (real(labels, i) * score - Math.max(0, score) - Math.log1p(Math.exp(-Math.abs(score))));
    const pull = real(weights, i) * (real(labels, i) - p);
    const curve = real(weights, i) * p * (1 - p);
    for (let a = 0; a < PARAMETERS; a += 1) {
      gradient[a] = real(gradient, a) + pull * real(row, a);
      const scaled = curve * real(row, a);
      for (let b = 0; b <= a; b += 1) {
        hessian[a * PARAMETERS + b] = real(hessian, a * PARAMETERS + b) + scaled * real(row, b);
      }
    }
  }
  return { logLikelihood, gradient, hessian };
}

/**
 * Solves A·x = b for a positive definite A by Cholesky decomposition.
 * @param lower A, row-major; only the lower triangle is read
 */
function solveSymmetric(lower: Float64Array, b: Float64Array): Float64Array {
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

export interface ScoredLabel {
  readonly score: number;
  readonly resolved: boolean;
  readonly weight: number;
}

interface Block {
  from: number;
  right: number;
  weight: number;
}

/**
 * Isotonic regression (pool adjacent violators) of the labels on the score, as a curve through the block means. Equal scores
 * form one point, so the order of the labels does not matter. Each block's rate adds half a right and half a wrong candidate,
 * so that no confidence is 0 or 1. Empty input gives 0.5 everywhere.
 */
export function fitIsotonic(points: readonly ScoredLabel[]): Curve {
  const blocks: Block[] = [];
  const byScore = grouped(points, ({ score }) => score);
  for (const [score, labels] of [...byScore].sort(([a], [b]) => a - b)) {
    const weight = sum(labels.map((label) => label.weight));
    const right = sum(labels.map((label) => (label.resolved ? label.weight : 0)));
    blocks.push({ from: score * weight, right, weight });
    for (;;) {
      const [before, last] = [blocks.at(-2), blocks.at(-1)];
      if (before === undefined || last === undefined || rate(before) < rate(last)) break;
      blocks.splice(-2, 2, {
        from: before.from + last.from,
        right: before.right + last.right,
        weight: before.weight + last.weight,
      });
    }
  }
  return knots(blocks);
}

function rate({ right, weight }: Block): number {
  return right / weight;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function knots(blocks: readonly Block[]): Curve {
  if (blocks.length === 0) return { from: [0], to: [0.5] };
  let highest = 0;
  const to = blocks.map(({ right, weight }) => (highest = Math.max(highest, (right + 0.5) / (weight + 1))));
  return { from: blocks.map(({ from, weight }) => from / weight), to };
}
