import { calibrated, logisticScore, type Combiner } from '../../verifiers/hybrid/combiner.js';
import { featuresOf } from '../../verifiers/hybrid/features.js';
import type { PoolScorer } from './step-values.js';

/** A combiner that sees, of each subset, the subset alone: its class sizes, its best counts, its sizes. */
export function subsetScorer(combiner: Combiner): PoolScorer {
  return (entries, by) => {
    const calibration = by === 'learned' ? combiner.any : combiner.returned;
    return (drawn, k, scores) => {
      const subset = drawn.subarray(0, k);
      const rows = featuresOf(Array.from(subset, (index) => entries[index]).filter((entry) => entry !== undefined));
      for (const [row, candidate] of subset.entries()) {
        scores[candidate] = calibrated(calibration, logisticScore(combiner, rows, row));
      }
    };
  };
}
