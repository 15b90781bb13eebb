import { grouped } from '../../core/grouped.js';
import type { Curve } from '../../core/run/fitted.js';

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
 * The rising curve nearest to the labels (isotonic regression by pooling adjacent violators), drawn through the blocks'
 * means. Equal scores are one point, so the order of the labels does not matter. Each block's rate is that of its
 * candidates and half a right and half a wrong one, so that no confidence is 0 or 1. Empty input gives 0.5 everywhere.
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
