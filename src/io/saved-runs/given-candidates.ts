import type { Candidate } from '../../core/run/candidate.js';
import { type OtherRows, readAllCandidates } from '../inputs/candidates.js';
import type { Located } from '../records/records.js';
import { bestkCandidates, predictions } from './own-lines.js';
import type { SavedRecord } from './saved-run.js';
import { trajectoryRows } from './trajectory-rows.js';
import { UnreadColumns, unreadNoteText } from './unread-columns.js';

/**
 * The candidates of some instances: in bestk's own format, SWE-bench predictions, or rows of a published set of
 * trajectories, whose labels are not read.
 * @param onUnread receives a note on the columns that were not read of these candidates
 * @throws BadInputError as readAllCandidates
 */
export async function readGivenCandidates(
  path: string,
  instances: readonly string[],
  onUnread: (note: string) => void,
): Promise<ReadonlyMap<string, Candidate[]>> {
  const unread = new UnreadColumns();
  const found = await readAllCandidates(path, instances, { read: (record, id) => readOther(record, id, unread) });
  unread.notes().map(unreadNoteText).forEach(onUnread);
  return found;
}

function readOther(record: Located, instance_id: string, unread: UnreadColumns): ReturnType<OtherRows['read']> {
  const value = { ...(record.value as SavedRecord['value']), instance_id };
  const saved = { ...record, value };
  const isPublished = trajectoryRows.recognises(value, saved);
  unread.add(saved, isPublished ? trajectoryRows : 'model_patch' in value ? predictions : bestkCandidates);
  const [run] = isPublished ? trajectoryRows.read(saved).runs : [];
  if (run === undefined) return null;
  const { candidate_id, patch, trajectory } = run;
  return { candidate_id, patch, trajectory };
}
