import { statSync } from 'node:fs';
import { z } from 'zod';
import { BadInputError } from '../core/errors.js';
import { parseRecord, placeOf, readRecords, type Located } from '../formats/records.js';
import type { Labels } from './selection-table.js';

/** Labels by instance and candidate id. */
export type LabelsByInstance = ReadonlyMap<string, Labels>;

/** A line of labels.jsonl; null says that nothing is known: of whom, or what. */
export const LabelLine = z.object({
  instance_id: z.string(),
  candidate_id: z.string().nullable(),
  resolved: z.union([z.boolean(), z.literal(0).transform(() => false), z.literal(1).transform(() => true), z.null()]),
});

/**
 * The labels of a file. Lives among the reports, the only readers of labels: nothing that verifies or selects can import
 * it. The same label twice is harmless, as an import may have it from two files.
 * @throws BadInputError naming file, line and field; also for two labels of a candidate that contradict each other
 */
export async function readAllLabels(file: string): Promise<LabelsByInstance> {
  const labels = new Map<string, Map<string, boolean>>();
  // What an import writes when nothing told an outcome.
  if (statSync(file, { throwIfNoEntry: false })?.size === 0) return labels;
  for await (const record of readRecords(file)) {
    const { instance_id, candidate_id, resolved } = parseRecord(LabelLine, record);
    if (candidate_id === null || resolved === null) continue;
    const known = labels.get(instance_id) ?? new Map<string, boolean>();
    if ((known.get(candidate_id) ?? resolved) !== resolved) throw contradiction(candidate_id, record);
    labels.set(instance_id, known.set(candidate_id, resolved));
  }
  return labels;
}

/** Those of one instance. @throws BadInputError also when there are none, of which rates would be wrong */
export async function readLabels(file: string, instanceId: string): Promise<Labels> {
  const labels = (await readAllLabels(file)).get(instanceId);
  if (labels === undefined) throw new BadInputError(`holds no label of instance "${instanceId}".`, { file });
  return labels;
}

function contradiction(candidateId: string, record: Located): BadInputError {
  return new BadInputError(
    `of "${candidateId}" contradicts an earlier line.`,
    placeOf(record, 'resolved'),
    'Keep one label of every candidate.',
  );
}
