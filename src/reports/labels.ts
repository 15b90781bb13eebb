import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { BadInputError } from '../core/errors/errors.js';
import { type Located, parseRecord, placeOf, readRecords } from '../io/records/records.js';
import type { SavedRun, Sealed } from '../io/saved-runs/saved-run.js';
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

/** Those of one instance. @throws BadInputError when there are none, of which rates would be wrong */
export function labelsOf(all: LabelsByInstance, instanceId: string, file: string): Labels {
  const labels = all.get(instanceId);
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

/** A label whose candidate was not read. */
export interface Homeless {
  readonly row: Sealed;
  readonly file: string;
  readonly reason: string;
}

type Placed = Pick<SavedRun, 'instance_id' | 'candidate_id'> & { readonly origin: Pick<SavedRun['origin'], 'file'> };

/** Joins labels that came in files of their own with the candidates of the import. */
export class ImportLabels {
  private readonly files = new Map<string, Map<string, string>>();
  /** Of runs of ours, the one that was returned: of it is a label that names none. */
  private readonly returned = new Map<string, string>();
  private readonly apart: { readonly row: Sealed; readonly file: string }[] = [];

  /** @param candidate and the file, or folder, that it was read from */
  candidate({ instance_id, candidate_id, origin }: Placed): void {
    const known = this.files.get(instance_id) ?? new Map<string, string>();
    this.files.set(instance_id, known.set(candidate_id, origin.file));
  }

  /** @param candidateId what the run returned */
  returns(instanceId: string, candidateId: string): void {
    this.returned.set(instanceId, candidateId);
  }

  /** Keeps a row for the end, unless its candidate is known already. */
  keep(row: Sealed, file: string): Sealed | null {
    if (row.candidate_id !== null && this.files.get(row.instance_id)?.has(row.candidate_id) === true) return row;
    this.apart.push({ row, file });
    return null;
  }

  /** The rows that waited, with the candidate they are of; and those of nobody. */
  settle(): { readonly rows: readonly Sealed[]; readonly homeless: readonly Homeless[] } {
    const rows: Sealed[] = [];
    const homeless: Homeless[] = [];
    for (const { row, file } of this.apart) {
      const found = this.candidateOf(row, file);
      if (typeof found === 'object') homeless.push({ row, file, reason: found.reason });
      else rows.push({ ...row, candidate_id: found });
    }
    return { rows, homeless };
  }

  private candidateOf({ instance_id, candidate_id }: Sealed, file: string): string | { reason: string } {
    const known = this.files.get(instance_id);
    if (known === undefined) return { reason: `a label of "${instance_id}", of which no candidate was read` };
    if (candidate_id !== null) {
      return known.has(candidate_id)
        ? candidate_id
        : { reason: `a label of candidate "${candidate_id}", which was not read` };
    }
    if (known.size === 1) return [...known.keys()][0] ?? '';
    const returned = this.returned.get(instance_id);
    if (returned !== undefined) return returned;
    const near = [...known].filter(([, other]) => isBeside(other, file)).map(([id]) => id);
    return near.length === 1
      ? (near[0] ?? '')
      : { reason: `a label of "${instance_id}" that ${near.length} candidates may have` };
  }
}

/** In the same folder, or the label in one below it. */
function isBeside(candidate: string, label: string): boolean {
  return `${dirname(label)}/`.startsWith(`${dirname(candidate)}/`);
}
