import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { fieldsOf, idOf, MaybeText, originOf, stemOf } from './fields.js';
import type { RunReader, SavedRecord, Sealed } from './saved-run.js';

const Prediction = z.object({
  instance_id: MaybeText,
  model_name_or_path: MaybeText,
  candidate_id: MaybeText,
  model_patch: MaybeText,
});

/** SWE-bench predictions: JSONL, a list, or an object by instance. A null patch is an empty one. */
export const predictions: RunReader = {
  format: 'swe-bench-predictions',
  recognises: (value) => 'model_patch' in value && ('instance_id' in value || 'model_name_or_path' in value),
  read: (record) => {
    const fields = fieldsOf(Prediction, record);
    const instance_id = fieldsOf(z.object({ instance_id: z.string().min(1) }), {
      ...record,
      value: { instance_id: fields.instance_id ?? record.key },
    }).instance_id;
    const model = fields.model_name_or_path;
    const candidate_id = idOf(fields.candidate_id, model, stemOf(record.file));
    const run = {
      instance_id,
      candidate_id,
      problem_statement: null,
      image: null,
      patch: fields.model_patch ?? '',
      trajectory: null,
      origin: originOf('swe-bench-predictions', record, { id: fields.candidate_id, model }),
    };
    return { runs: [run], sealed: [] };
  },
};

const Report = z.object({ resolved: z.boolean() });

/**
 * `report.json` of the SWE-bench harness, as it writes it (by instance) or one instance's alone: a label and nothing else.
 * In the harness's own folders (`…/<model>/<instance>/report.json`) the candidate is the model's; elsewhere it is the
 * candidate of that instance that was read from the same folder.
 */
export const harnessReport: RunReader = {
  format: 'swe-bench-report',
  recognises: (value) => 'tests_status' in value || ('patch_successfully_applied' in value && 'resolved' in value),
  read: (record) => {
    const { resolved } = fieldsOf(Report, record);
    const sealed = [{ kind: 'report', value: record.value } as const];
    return { runs: [], sealed: [{ ...placeOf(record), resolved, sealed }] };
  },
};

function placeOf({ file, key }: SavedRecord): { instance_id: string; candidate_id: string | null } {
  if (basename(file) !== 'report.json') return { instance_id: idOf(key, stemOf(file)), candidate_id: null };
  const folder = dirname(file);
  return { instance_id: idOf(key, basename(folder)), candidate_id: idOf(basename(dirname(folder))) };
}

const Summary = z.object({
  resolved_ids: z.array(z.string()),
  unresolved_ids: z.array(z.string()).default([]),
  empty_patch_ids: z.array(z.string()).default([]),
});

/**
 * The harness's summary of a run (`<model>.<run_id>.json`): labels of the one prediction of each instance. What it could not
 * run (`error_ids` and the like) has no label.
 */
export const harnessSummary: RunReader = {
  format: 'swe-bench-summary',
  recognises: (value) => Array.isArray(value.resolved_ids),
  read: (record) => {
    const { resolved_ids, unresolved_ids, empty_patch_ids } = fieldsOf(Summary, record);
    const labels = (ids: readonly string[], resolved: boolean): Sealed[] =>
      ids.map((instance_id) => ({ instance_id, candidate_id: null, resolved, sealed: [] }));
    return {
      runs: [],
      sealed: [...labels(resolved_ids, true), ...labels([...unresolved_ids, ...empty_patch_ids], false)],
    };
  },
};
