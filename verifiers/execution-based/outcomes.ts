import { UnavailableError } from '../../src/core/errors/errors.js';
import type { Cell } from '../../src/core/run/generated-test.js';
import type { MeasureName, AbstainReason, Verdict } from '../../src/core/run/verdict.js';
import { type Tracer, UNTRACED } from '../../src/ports/telemetry.js';
import type { ExecutionContext } from './execution-context.js';
import type { DistinctPatch } from './tree/applicability.js';

/** The same abstention for every candidate of these patches. */
export function abstained(
  patches: readonly Pick<DistinctPatch, 'candidateIds'>[],
  measure: MeasureName,
  reason: AbstainReason,
  detail: string,
): Verdict[] {
  return patches.flatMap(({ candidateIds }) =>
    candidateIds.map(
      (candidate_id) => ({ kind: 'abstained', candidate_id, measure, reason, detail, evidence: {} }) as const,
    ),
  );
}

/**
 * Verifies all patches at once. A sandbox that kept being lost under one of them makes that one abstain; a dead engine,
 * a missing image or a full disk concerns all and ends the run.
 */
export async function forEach(
  patches: readonly DistinctPatch[],
  measure: MeasureName,
  verify: (patch: DistinctPatch) => Promise<readonly Verdict[]>,
  tracer: Tracer = UNTRACED,
): Promise<readonly Verdict[]> {
  const verdicts = await Promise.all(
    patches.map(async (patch) => {
      try {
        const facts = { candidate: patch.representative };
        return await tracer.within({ kind: 'verdict', name: measure, facts }, () => verify(patch));
      } catch (error) {
        // By its code: it may have happened in another process.
        if (!(error instanceof UnavailableError) || error.code !== 'sandbox-lost') throw error;
        return abstained([patch], measure, 'infrastructure', error.message);
      }
    }),
  );
  return verdicts.flat();
}

type Measured = Omit<Cell, 'instance_id' | 'candidate_id' | 'same_as'>;

/** One result as cells: of base, or of every candidate whose patch this is. */
export function cellsOf(context: ExecutionContext, patch: DistinctPatch | null, measured: Measured): readonly Cell[] {
  const { instance_id } = context.issue;
  if (patch === null) return [{ instance_id, candidate_id: null, same_as: null, ...measured }];
  return patch.candidateIds.map((candidate_id) => ({
    instance_id,
    candidate_id,
    same_as: candidate_id === patch.representative ? null : patch.representative,
    ...measured,
  }));
}
