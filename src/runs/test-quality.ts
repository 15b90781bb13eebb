import { type Entry, isEligible, patchOf } from '../../verifiers/hybrid/entry.js';
import type { Pool } from '../../verifiers/hybrid/pool.js';
import type { TestQuality } from '../core/run/generated-test.js';
import type { Admission } from '../core/run/verifier.js';

/** The quality of every admitted test, in order; empty if the tests ran on no patch. */
export function testQuality(pool: Pool, admissions: readonly Admission[]): TestQuality[] {
  const ran = pool.entries.filter((entry) => isEligible(entry) && (entry.solved ?? null) !== null);
  const patches = [...new Map(ran.map((entry) => [patchOf(entry), entry])).values()];
  if (patches.length === 0) return [];
  const { right, kinds } = pool.testBeliefs();
  return admissions.flatMap(({ test_id, admitted }) => {
    // Observing tests cannot be solved.
    if (!admitted || patches.some(({ observed }) => observed?.[test_id] !== undefined)) return [];
    const solvers = patches.filter(({ solved }) => solved?.includes(test_id));
    const others = patches.filter(({ solved }) => solved?.includes(test_id) !== true);
    const mean = (group: readonly Entry[]): number =>
      group.reduce((sum, { id }) => sum + (right.get(id) ?? 0), 0) / group.length;
    const tells = solvers.length > 0 && others.length > 0;
    return [
      {
        test_id,
        solved_by: solvers.length,
        of: patches.length,
        information: entropy(solvers.length / patches.length),
        agreement: tells ? rounded(mean(solvers) - mean(others)) : null,
        toxicity: rounded(kinds.get(test_id)?.[2] ?? 0),
      },
    ];
  });
}

/** Entropy of a coin, in bits. */
function entropy(p: number): number {
  return p === 0 || p === 1 ? 0 : rounded(-p * Math.log2(p) - (1 - p) * Math.log2(1 - p));
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
