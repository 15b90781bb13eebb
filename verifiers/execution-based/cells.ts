import type { Cell } from '../../src/core/cell.js';
import type { Bench } from './bench.js';
import type { DistinctPatch } from './distinct.js';

type Measured = Omit<Cell, 'instance_id' | 'candidate_id' | 'same_as'>;

/** One result as cells: of base, or of every candidate whose patch this is. */
export function cellsOf(bench: Bench, patch: DistinctPatch | null, measured: Measured): readonly Cell[] {
  const { instance_id } = bench.issue;
  if (patch === null) return [{ instance_id, candidate_id: null, same_as: null, ...measured }];
  return patch.candidateIds.map((candidate_id) => ({
    instance_id,
    candidate_id,
    same_as: candidate_id === patch.representative ? null : patch.representative,
    ...measured,
  }));
}
