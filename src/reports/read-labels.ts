import { z } from 'zod';
import { parseRecord, readRecords } from '../formats/records.js';
import type { Labels } from './selection-table.js';

const Label = z.object({
  instance_id: z.string(),
  candidate_id: z.string(),
  resolved: z.union([z.boolean(), z.literal(0).transform(() => false), z.literal(1).transform(() => true)]),
});

/**
 * Labels of one instance by candidate id. Lives among the reports, the only readers of labels: nothing that verifies or
 * selects can import it.
 * @throws BadInputError naming file, line and field
 */
export async function readLabels(file: string, instanceId: string): Promise<Labels> {
  const labels = new Map<string, boolean>();
  for await (const record of readRecords(file)) {
    const { instance_id, candidate_id, resolved } = parseRecord(Label, record);
    if (instance_id === instanceId) labels.set(candidate_id, resolved);
  }
  return labels;
}
