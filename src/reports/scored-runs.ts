import { patchSize, readPatch, splitPatch } from '../core/patch/patch.js';
import { fingerprint } from '../core/patch/summary.js';
import { repositoryOf } from '../core/run/issue.js';
import { importRuns } from '../io/saved-runs/import-runs.js';
import type { SavedRun, Sealed } from '../io/saved-runs/saved-run.js';
import { labelled, type ScoredIssue } from '../statistics/curves/scored-issue.js';
import { ImportLabels } from './labels.js';

type Candidate = Parameters<typeof labelled>[0][number];

/**
 * Saved runs as issues with labelled candidates and no scores, for Pass@K. A candidate without a label of its own has that
 * of another one of its instance with the same source change, `others` included; those are no candidates themselves.
 * @throws BadInputError for a path that is not there
 */
export async function scoredRuns(paths: readonly string[], others: readonly string[]): Promise<readonly ScoredIssue[]> {
  const labels = new Map<string, boolean>();
  const byPatch = new Map<string, boolean>();
  const own = await read(paths, labels, byPatch);
  if (others.length > 0) await read(others, labels, byPatch);
  return [...own].map(([instanceId, runs]) => ({
    instanceId,
    repo: repositoryOf(instanceId) ?? instanceId,
    ...labelled(runs.map((run) => scored(run, labels.get(keyOf(run)) ?? byPatch.get(patchKey(run)) ?? null))),
  }));
}

/** What a candidate is known by, without its trajectory. */
type Known = Pick<SavedRun, 'instance_id' | 'candidate_id' | 'patch' | 'origin'> & { readonly steps: number | null };

async function read(
  paths: readonly string[],
  labels: Map<string, boolean>,
  byPatch: Map<string, boolean>,
): Promise<ReadonlyMap<string, readonly Known[]>> {
  const found = new Map<string, Known[]>();
  const join = new ImportLabels();
  const rows: Sealed[] = [];
  for await (const each of importRuns(paths)) {
    if (each.kind === 'run' || each.kind === 'renamed') {
      join.candidate(each.run);
      found.set(each.run.instance_id, [...(found.get(each.run.instance_id) ?? []), knownOf(each.run)]);
    } else if (each.kind === 'sealed') {
      rows.push(...[join.keep({ ...each.row, sealed: [] }, each.file)].filter((row) => row !== null));
    }
  }
  for (const row of [...rows, ...join.settle().rows]) {
    if (row.resolved !== null) labels.set(keyOf(row), row.resolved);
  }
  for (const run of [...found.values()].flat()) {
    const resolved = labels.get(keyOf(run));
    if (resolved !== undefined) byPatch.set(patchKey(run), resolved);
  }
  return found;
}

function knownOf({ instance_id, candidate_id, patch, origin, trajectory }: SavedRun): Known {
  return { instance_id, candidate_id, patch, origin, steps: trajectory?.steps.length ?? null };
}

function keyOf({ instance_id, candidate_id }: { instance_id: string; candidate_id: string | null }): string {
  return JSON.stringify([instance_id, candidate_id]);
}

function patchKey({ instance_id, patch }: Known): string {
  const parsed = readPatch(patch);
  return JSON.stringify([instance_id, parsed.kind === 'ok' ? fingerprint(parsed) : patch.trim()]);
}

function scored({ candidate_id: id, patch, origin, steps }: Known, resolved: boolean | null): Candidate {
  const parsed = readPatch(patch);
  const isSource = parsed.kind === 'ok' && splitPatch(parsed).source !== '';
  // Trials keep no patch; what was returned is the state of their container.
  const isTrial = origin.format === 'atif' && patch === '';
  return {
    entry: {
      id,
      execution_free: null,
      regression: null,
      reproduction: null,
      patch_size: isSource ? patchSize(parsed) : null,
      fingerprint: isSource ? fingerprint(parsed) : null,
      has_source_change: isSource || isTrial,
      applies: null,
      finished: null,
      steps,
    },
    resolved,
    cost: origin.cost_usd,
    axes: {},
  };
}
