import type { Calibration } from '../../../verifiers/hybrid/combiner.js';

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
 * means. Each block's rate is that of its candidates and half a right and half a wrong one, so that no confidence is 0
 * or 1. Empty input gives 0.5 everywhere.
 */
export function fitIsotonic(points: readonly ScoredLabel[]): Calibration {
  const blocks: Block[] = [];
  for (const { score, resolved, weight } of points.toSorted((a, b) => a.score - b.score)) {
    blocks.push({ from: score * weight, right: Number(resolved) * weight, weight });
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

function knots(blocks: readonly Block[]): Calibration {
  const from: number[] = [];
  const to: number[] = [];
  for (const { from: sum, right, weight } of blocks) {
    const [x, y] = [sum / weight, (right + 0.5) / (weight + 1)];
    if (from.length > 0 && x <= (from.at(-1) ?? 0)) continue;
    from.push(x);
    to.push(Math.max(y, to.at(-1) ?? 0));
  }
  return from.length === 0 ? { from: [0], to: [0.5] } : { from, to };
}
