import { z } from 'zod';
import { BadInputError } from '../core/errors.js';
import { parseRecord, readRecords } from '../formats/records.js';
import { UniqueRecords } from '../formats/unique-records.js';
import type { Labels } from './selection-table.js';

const Label = z.object({
  instance_id: z.string(),
  candidate_id: z.string(),
  resolved: z.union([z.boolean(), z.literal(0).transform(() => false), z.literal(1).transform(() => true)]),
});

/**
 * Labels of one instance by candidate id. Lives among the reports, the only readers of labels: nothing that verifies or
 * selects can import it.
 * @throws BadInputError naming file, line and field; also when the instance has none, of which rates would be wrong
 */
export async function readLabels(file: string, instanceId: string): Promise<Labels> {
  const labels = new Map<string, boolean>();
  const unique = new UniqueRecords('candidate_id');
  for await (const record of readRecords(file)) {
    const { instance_id, candidate_id, resolved } = parseRecord(Label, record);
    if (instance_id !== instanceId) continue;
    unique.add(candidate_id, record);
    labels.set(candidate_id, resolved);
  }
  if (labels.size === 0) throw new BadInputError(`holds no label of instance "${instanceId}".`, { file });
  return labels;
}
