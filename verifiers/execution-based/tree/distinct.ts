import type { Candidate } from '../../../src/core/run/candidate.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import { readPatch, splitPatch } from '../../../src/core/patch/patch.js';
import { fingerprint } from '../../../src/core/patch/fingerprint.js';

/** Candidates whose normalised source patches are equal: verified once, under the first one's id. */
export interface DistinctPatch {
  readonly representative: string;
  readonly candidateIds: readonly string[];
  /** What is applied for verification: source hunks alone, tests and runner configuration set apart. */
  readonly source: string;
}

/** Patches that apply at base, and what is said of the others. */
export interface Applicable {
  readonly patches: readonly DistinctPatch[];
  readonly rejected: readonly Verdict[];
}

export interface Unverifiable {
  readonly candidateId: string;
  readonly reason: 'no-source-change' | 'refused-patch';
  readonly detail: string;
}

/** Groups the candidates by what would be executed; order of first appearance is kept. */
export function distinctPatches(candidates: readonly Candidate[]): {
  readonly patches: readonly DistinctPatch[];
  readonly unverifiable: readonly Unverifiable[];
} {
  const groups = new Map<string, { source: string; ids: string[] }>();
  const unverifiable: Unverifiable[] = [];
  for (const { candidate_id: candidateId, patch } of candidates) {
    const parsed = readPatch(patch);
    if (parsed.kind === 'refused') {
      unverifiable.push({ candidateId, reason: 'refused-patch', detail: `${parsed.reason}: ${parsed.detail}` });
      continue;
    }
    const source = parsed.kind === 'ok' ? splitPatch(parsed).source : '';
    if (parsed.kind === 'empty' || source === '') {
      const detail =
        parsed.kind === 'empty' ? 'the patch is empty' : 'the patch changes only tests or runner configuration';
      unverifiable.push({ candidateId, reason: 'no-source-change', detail });
      continue;
    }
    const key = fingerprint(parsed);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { source, ids: [candidateId] });
    else group.ids.push(candidateId);
  }
  const patches = [...groups.values()].map(({ source, ids }) => ({
    representative: ids[0] ?? '',
    candidateIds: ids,
    source,
  }));
  return { patches, unverifiable };
}
