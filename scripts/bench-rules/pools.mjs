import { join } from 'node:path';
import { grouped } from '../../dist/src/core/grouped.js';
import { describeCandidates } from '../../dist/src/runs/entries.js';
import { readJsonl } from '../jsonl.mjs';

/** Entries with the facts of their patches, by instance. */
export function factsOf(file) {
  const byIssue = grouped(readJsonl(file), ({ instance_id }) => instance_id);
  return new Map(
    [...byIssue].map(([id, own]) => [
      id,
      describeCandidates(
        own.map((each) => ({ trajectory: null, ...each })),
        [],
        '',
      ),
    ]),
  );
}

export function repoOf(instanceId) {
  return instanceId.replace(/-[^-]+$/, '').replace('__', '/');
}

/** Issues of a labelled pool: facts of the patches, and the suite of tests that passed before the fix as regression. */
export function labelledPool(folder, name) {
  const labels = new Map(
    readJsonl(join(folder, `${name}.labels.jsonl`)).map((row) => [`${row.instance_id} ${row.candidate_id}`, row]),
  );
  return [...factsOf(join(folder, `${name}.candidates.jsonl`))].map(([instanceId, described]) => ({
    instanceId,
    repo: repoOf(instanceId),
    unknownLabels: [],
    candidates: described.map(({ entry }) => {
      const { p2p, resolved } = labels.get(`${instanceId} ${entry.id}`);
      const [regression, regression_out_of] = (p2p?.[1] ?? 0) > 0 ? p2p : [null, null];
      return { entry: { ...entry, regression, regression_out_of }, resolved, cost: null, axes: {} };
    }),
  }));
}

/** A table in Markdown. */
export function tableOf(header, rows) {
  const row = (cells) => `| ${cells.join(' | ')} |`;
  return [row(header), row(header.map(() => '---')), ...rows.map(row)].join('\n');
}
