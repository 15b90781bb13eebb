import type { Candidate } from '../../../src/core/run/candidate.js';
import type { Verdict } from '../../../src/core/run/verdict.js';
import { summaryOf } from '../../../src/core/patch/summary.js';

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
  /** By candidate, see Applicability; only where it is known. */
  readonly syntax: ReadonlyMap<string, string>;
}

export interface Unverifiable {
  readonly candidateId: string;
  readonly reason: 'no-source-change' | 'refused-patch';
  readonly detail: string;
}

/**
 * Groups the candidates by what would be executed; order of first appearance is kept.
 * @param statement of the issue
 */
export function distinctPatches(
  candidates: readonly Candidate[],
  statement: string,
): {
  readonly patches: readonly DistinctPatch[];
  readonly unverifiable: readonly Unverifiable[];
} {
  const groups = new Map<string, { source: string; ids: string[] }>();
  const unverifiable: Unverifiable[] = [];
  for (const candidate of candidates) {
    const { candidate_id: candidateId } = candidate;
    const parsed = summaryOf(candidate, statement);
    if (parsed.kind === 'refused') {
      unverifiable.push({ candidateId, reason: 'refused-patch', detail: `${parsed.reason}: ${parsed.detail}` });
      continue;
    }
    if (parsed.kind === 'empty') {
      unverifiable.push({ candidateId, reason: 'no-source-change', detail: 'the patch is empty' });
      continue;
    }
    const { source, setApart, fingerprint: key } = parsed;
    if (source === '') {
      const names = setApart.slice(0, 5).map(({ path }) => path);
      const detail = `the patch changes only tests or runner configuration: ${names.join(', ')}`;
      unverifiable.push({ candidateId, reason: 'no-source-change', detail });
      continue;
    }
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
