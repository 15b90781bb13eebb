import type { Candidate } from '../core/candidate.js';
import { leaksOf } from '../core/leak-check.js';
import type { Rollout } from '../core/rollout.js';

/** What a reader should know of how a candidate came about, by candidate id: `leak:…`, `patch-lost`, `left-out:…`. */
export function originFlags(
  candidates: readonly Candidate[],
  rollouts: readonly Rollout[],
): ReadonlyMap<string, readonly string[]> {
  const rolloutOf = new Map(rollouts.map((rollout) => [rollout.candidate_id, rollout]));
  return new Map(
    candidates.map(({ candidate_id, trajectory }) => {
      const leaks = leaksOf(trajectory?.steps ?? []).map(({ leak, step }) => `leak:${leak}:step-${step}`);
      return [candidate_id, [...leaks, ...flagsOf(rolloutOf.get(candidate_id))]];
    }),
  );
}

function flagsOf(rollout: Rollout | undefined): string[] {
  if (rollout === undefined) return [];
  const { patch_problem: problem, left_out: leftOut } = rollout;
  return [
    ...(problem === null ? [] : ['patch-lost']),
    ...(leftOut.length === 0 ? [] : [`left-out:${leftOut.length}-files`]),
  ];
}
