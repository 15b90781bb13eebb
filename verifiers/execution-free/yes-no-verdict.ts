import type { AbstainReason, Verdict } from '../../src/core/verdict.js';

/** One sampled answer about one candidate. */
export type Sample =
  | { readonly kind: 'read'; readonly yes: number; readonly mass: number }
  | { readonly kind: 'unreadable' | 'unavailable'; readonly detail: string };

/** What every answer about a candidate depended on. */
export interface Provenance {
  readonly promptHash: string;
  readonly model: string;
  readonly condensed: boolean;
}

export function abstain(
  candidate_id: string,
  reason: AbstainReason,
  detail: string,
  evidence: Verdict['evidence'] = {},
): Verdict {
  return { kind: 'abstained', candidate_id, measure: 'execution_free', reason, detail, evidence };
}

/**
 * Mean P(YES) of the samples with enough mass. Samples that could not be read are left out; when none is left the
 * verdict abstains for the reason of the most telling one: low mass, then unreadable, then no answer at all.
 */
export function toVerdict(
  candidateId: string,
  samples: readonly Sample[],
  minMass: number,
  { promptHash, model, condensed }: Provenance,
): Verdict {
  const read = samples.filter((sample) => sample.kind === 'read');
  const firm = read.filter(({ mass }) => mass >= minMass);
  const counted = firm.length > 0 ? firm : read;
  const evidence = {
    method: 'yes-no-logprobs',
    mass: counted.length === 0 ? null : mean(counted.map(({ mass }) => mass)),
    samples: firm.length,
    prompt_hash: promptHash,
    model,
    condensed,
  };
  if (firm.length > 0) {
    const score = Math.min(1, mean(firm.map(({ yes }) => yes)));
    return { kind: 'scored', candidate_id: candidateId, measure: 'execution_free', score, out_of: 1, evidence };
  }
  if (read.length > 0) {
    const detail = `YES and NO together have less than ${minMass} of the probability`;
    return abstain(candidateId, 'low-mass', detail, evidence);
  }
  const failed = samples.flatMap((sample) => (sample.kind === 'read' ? [] : [sample]));
  const telling = failed.find(({ kind }) => kind === 'unreadable') ?? failed[0];
  const reason = telling?.kind === 'unavailable' ? 'model-unavailable' : 'unreadable-answer';
  return abstain(candidateId, reason, telling?.detail ?? 'no sample was asked for', evidence);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
