import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { outcomeStatedBy } from './outcomes.js';
import { fieldsOf, idOf, MaybeText, stemOf } from './saved-records.js';
import type { RunReader, SavedRecord, Sealed } from './saved-run.js';

const Report = z.object({
  resolved: z.unknown(),
  /** Since version 5 of the harness: it could not evaluate the patch, and `resolved` is false. */
  infra_failure: z.boolean().nullish(),
  infra_failure_reason: MaybeText.catch(null),
  /** SWE-smith's reports, which are in a folder of the run, not of the model. */
  model_name_or_path: MaybeText,
});

/**
 * `report.json` of the SWE-bench harness, as written (keyed by instance) or of a single instance: only a label. In the
 * harness's own folders (`…/<model>/<instance>/report.json`) it probably belongs to the model's candidate; elsewhere to
 * that instance's candidate from the same folder. The harness writes the patch next to it.
 */
export const harnessReport: RunReader = {
  format: 'swe-bench-report',
  recognises: (value) => 'tests_status' in value || ('patch_successfully_applied' in value && 'resolved' in value),
  read: (record) => {
    const {
      resolved,
      infra_failure,
      infra_failure_reason: cause,
      model_name_or_path: model,
    } = fieldsOf(Report, record);
    const sealed = [{ kind: 'report', value: record.value } as const];
    const named = model === null ? {} : { model_folder: idOf(model) };
    const outcome = infra_failure === true ? infrastructureFailure(cause) : outcomeStatedBy([['resolved', resolved]]);
    const label = { ...(outcome ?? { resolved: null }), patch: record.beside?.get('patch.diff') };
    return { runs: [], sealed: [{ ...placeOf(record), ...named, ...label, sealed }] };
  },
};

function infrastructureFailure(cause: string | null | undefined): Pick<Sealed, 'resolved' | 'reason'> {
  return {
    resolved: null,
    reason: `the harness's infrastructure failed (infra_failure)${cause ? `: ${cause.slice(0, 200)}` : ''}`,
  };
}

function placeOf({ file, key }: SavedRecord): Pick<Sealed, 'instance_id' | 'candidate_id' | 'model_folder'> {
  const folder = basename(dirname(file));
  if (basename(file) !== 'report.json') return { instance_id: idOf(key, stemOf(file)), candidate_id: null };
  const place = { instance_id: idOf(key, folder), candidate_id: null };
  return place.instance_id === folder ? { ...place, model_folder: idOf(basename(dirname(dirname(file)))) } : place;
}

const Ids = z
  .array(z.string())
  .nullish()
  .transform((ids) => ids ?? []);
/** Lists that say how an instance ended; null: it was not evaluated. */
const OUTCOMES = {
  resolved_ids: true,
  unresolved_ids: false,
  empty_patch_ids: false,
  error_ids: null,
  incomplete_ids: null,
  failed_ids: null,
  pending_ids: null,
} as const;
type OutcomeList = keyof typeof OUTCOMES;
const OUTCOME_LISTS = Object.keys(OUTCOMES) as OutcomeList[];
const Summary = z.object({
  ...(Object.fromEntries(OUTCOME_LISTS.map((list) => [list, Ids])) as Record<OutcomeList, typeof Ids>),
  /** Since version 5: also in `unresolved_ids` or `error_ids`, though the patch is not to blame. */
  infra_failure_ids: Ids,
  submitted_ids: Ids,
  completed_ids: Ids,
  failure_reasons: z.record(z.string(), z.unknown()).nullish().catch(null),
});
type Summary = z.infer<typeof Summary>;

/**
 * The harness's summary of a run (`<model>.<run_id>.json`), also those of sb-cli and Multi-SWE-bench: a label for each
 * instance that it lists. An instance that could not be evaluated, or is in lists that contradict each other, is unknown.
 * Those in `ambiguous_failure_ids`, whose cause the harness cannot tell, stay in `unresolved_ids` and count as such.
 */
export const harnessSummary: RunReader = {
  format: 'swe-bench-summary',
  recognises: (value) => Array.isArray(value.resolved_ids) || Array.isArray(value.unresolved_ids),
  read: (record) => {
    const summary = fieldsOf(Summary, record);
    const lists = new Map<string, OutcomeList[]>();
    for (const id of [...summary.submitted_ids, ...summary.completed_ids, ...summary.infra_failure_ids])
      lists.set(id, []);
    for (const list of OUTCOME_LISTS) {
      for (const id of new Set(summary[list])) lists.set(id, [...(lists.get(id) ?? []), list]);
    }
    const failed = new Set(summary.infra_failure_ids);
    const sealed = [...lists].map(([id, named]) => ({
      ...{ instance_id: instanceOf(id), candidate_id: null, summary: stemOf(record.file), sealed: [] },
      ...outcomeIn(named, failed.has(id) ? infrastructureFailure(causeOf(id, summary)) : null),
    }));
    return { runs: [], sealed };
  },
};

function outcomeIn(
  lists: readonly OutcomeList[],
  failure: Pick<Sealed, 'resolved' | 'reason'> | null,
): Pick<Sealed, 'resolved' | 'reason' | 'warning'> {
  const named = failure === null ? lists : [...lists, 'infra_failure_ids'];
  const outcomes = new Set(lists.map((list) => OUTCOMES[list]));
  // A failure of the infrastructure explains all outcomes but a success.
  if (failure === null ? outcomes.size > 1 : outcomes.has(true)) {
    const reason = `the run's summary has it in ${named.join(' and in ')}`;
    return { resolved: null, reason, warning: reason };
  }
  if (failure !== null) return failure;
  const [resolved = null] = outcomes;
  if (resolved !== null) return { resolved };
  const where = lists.length === 0 ? 'no list of outcomes' : lists.join(' and in ');
  return { resolved, reason: `it was not evaluated: the run's summary has it in ${where}` };
}

function causeOf(id: string, { failure_reasons: causes }: Summary): string | null {
  const cause = Object.hasOwn(causes ?? {}, id) ? causes?.[id] : null;
  return typeof cause === 'string' ? cause : null;
}

/** Multi-SWE-bench names `org__repo-1` `org/repo:pr-1` here. */
function instanceOf(id: string): string {
  return id.replace(/^([^/:]+)\/([^/:]+):pr-(\d+)$/, '$1__$2-$3');
}
