import { join } from 'node:path';
import { requestedRule } from '../../../verifiers/hybrid/rule.js';
import { decide } from '../../../verifiers/hybrid/select.js';
import { statSync } from 'node:fs';
import { BadInputError } from '../../core/errors/errors.js';
import { readRecords } from '../../io/records/records.js';
import { importRuns } from '../../io/saved-runs/import-runs.js';
import type { Sealed } from '../../io/saved-runs/saved-run.js';
import { ImportLabels } from '../labels.js';
import { LabelLine, type LabelsByInstance, readAllLabels } from '../labels.js';
import { poolOf, type ReportedRun } from './reported-run.js';

export type RunLabels = LabelsByInstance;

/**
 * Labels of the runs' candidates, from files of any format that tells an outcome: labels.jsonl, SWE-bench reports, rewards.
 * @throws BadInputError for a path that is not there or holds something else, or when none is of these runs
 */
export async function runLabels(paths: readonly string[], runs: readonly ReportedRun[]): Promise<RunLabels> {
  if (paths.length === 0) return new Map();
  const candidates = new ImportLabels();
  const known = new Set<string>();
  for (const run of runs) {
    const at = { instance_id: run.request.issue.instance_id, origin: { file: join(run.folder, 'run.json') } };
    for (const { id } of run.entries) {
      candidates.candidate({ ...at, candidate_id: id });
      known.add(keyOf(at.instance_id, id));
    }
    const { candidate_id } = decide(poolOf(run), requestedRule(run.request));
    if (candidate_id !== null) candidates.returns(at.instance_id, candidate_id);
  }
  const labels = await labelsAmong(known, paths, candidates);
  if (labels.size > 0) return labels;
  throw noLabels(paths, runs);
}

async function labelsAmong(
  known: ReadonlySet<string>,
  paths: readonly string[],
  candidates: ImportLabels,
): Promise<RunLabels> {
  const labels = new Map<string, Map<string, boolean>>();
  for (const { instance_id, candidate_id, resolved } of await sealedRows(paths, candidates)) {
    if (resolved === null || candidate_id === null || !known.has(keyOf(instance_id, candidate_id))) continue;
    labels.set(instance_id, (labels.get(instance_id) ?? new Map<string, boolean>()).set(candidate_id, resolved));
  }
  return labels;
}

function noLabels(paths: readonly string[], [run]: readonly ReportedRun[]): BadInputError {
  const id = run?.entries[0]?.id;
  const such = run === undefined || id === undefined ? '' : `, such as "${id}" of ${run.request.issue.instance_id}`;
  const verb = paths.length === 1 ? 'holds' : 'hold';
  return new BadInputError(`${verb} no label of any candidate of these runs${such}.`, {
    file: paths.join(', '),
    field: '--labels',
  });
}

async function sealedRows(paths: readonly string[], candidates: ImportLabels): Promise<readonly Sealed[]> {
  const rows: Sealed[] = [];
  const others: string[] = [];
  for (const path of paths) {
    const plain = await plainLabels(path);
    if (plain === null) others.push(path);
    else rows.push(...plain);
  }
  if (others.length === 0) return rows;
  for await (const each of importRuns(others)) {
    if (each.kind === 'rejected') {
      const { file, line, reason } = each.damage;
      throw new BadInputError(`${reason}.`, { file, ...(line === null ? {} : { line }) });
    }
    if (each.kind !== 'sealed') continue;
    const kept = candidates.keep({ ...each.row, sealed: [] }, each.file);
    if (kept !== null) rows.push(kept);
  }
  return [...rows, ...candidates.settle().rows];
}

/** What a labels.jsonl says, without what an import looks for; null for anything else. @throws BadInputError */
async function plainLabels(path: string): Promise<readonly Sealed[] | null> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true || !path.endsWith('.jsonl')) return null;
  for await (const first of readRecords(path)) {
    if (!LabelLine.safeParse(first.value).success) return null;
    break;
  }
  return [...(await readAllLabels(path))].flatMap(([instance_id, labels]) =>
    [...labels].map(([candidate_id, resolved]) => ({ instance_id, candidate_id, resolved, sealed: [] })),
  );
}

function keyOf(instanceId: string, candidateId: string): string {
  return JSON.stringify([instanceId, candidateId]);
}
