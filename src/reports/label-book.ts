import { statSync } from 'node:fs';
import { z } from 'zod';
import { BadInputError, type InputPlace } from '../core/errors/errors.js';
import { idInFile } from '../core/identifier.js';
import { parseRecord, placeOf, readRecords } from '../io/records/records.js';

/** Whether a candidate is right; null = unknown, for a reason that may be stated. */
export interface Label {
  readonly resolved: boolean | null;
  readonly reason: string | null;
}

/** Of a candidate that no file of labels names, although others of its instance are named. */
export const NO_LABEL: Label = { resolved: null, reason: 'no label is given' };

/** Labels by candidate id; only reports may join them, after the selection is made. */
export type Labels = ReadonlyMap<string, Label>;

/** Labels by instance and candidate id. */
export type LabelsByInstance = ReadonlyMap<string, Labels>;

/** Longer reasons are cut: reports print them. */
const MAX_REASON_CHARS = 1_000;

export const LabelReason = z
  .string()
  .nullish()
  .transform((reason) => reason?.slice(0, MAX_REASON_CHARS) ?? null);

/** A line of labels.jsonl; a null `candidate_id` means the candidate is unknown, a null `resolved` the outcome. */
export const LabelLine = z.object({
  instance_id: z.string(),
  candidate_id: idInFile(z.string().nullable()),
  resolved: z.union([z.boolean(), z.literal(0).transform(() => false), z.literal(1).transform(() => true), z.null()]),
  reason: LabelReason,
  /** Of an import: data that reveals the outcome. */
  sealed: z.array(z.unknown()).nullish().catch(null),
});

/** Receives a sentence for the user about the labels that were read. */
export type OnLabelNote = (note: string) => void;

type PlacedLabel = Label & Pick<InputPlace, 'file' | 'line'>;

/** Joins labels of one or several files. Equal labels of a candidate are one; a known label replaces an unknown one. */
export class LabelBook {
  private readonly labels = new Map<string, Map<string, PlacedLabel>>();
  private readonly both = new Set<string>();
  private first: string | null = null;

  /** @throws BadInputError naming both places if one label is right and the other wrong */
  add({ instance_id, candidate_id, resolved, reason }: KnownLine, place: InputPlace): void {
    const own = this.labels.get(instance_id) ?? new Map<string, PlacedLabel>();
    this.labels.set(instance_id, own);
    const label = { resolved, reason, file: place.file, line: place.line };
    const earlier = own.get(candidate_id);
    if (earlier === undefined || (earlier.resolved === null && resolved !== null)) own.set(candidate_id, label);
    if (earlier === undefined || earlier.resolved === resolved) return;
    if (earlier.resolved !== null && resolved !== null) throw contradiction(candidate_id, place, earlier);
    this.both.add(JSON.stringify([instance_id, candidate_id]));
    this.first ??= `"${candidate_id}" of ${instance_id}`;
  }

  get byInstance(): LabelsByInstance {
    return this.labels;
  }

  /** What the user should know: how many labels are unknown, and where a known label replaced an unknown one. */
  notes(): readonly string[] {
    const all = [...this.labels.values()].flatMap((own) => [...own.values()]);
    const unknown = all.filter(({ resolved }) => resolved === null);
    const counts = new Map<string, number>();
    for (const { reason } of unknown) if (reason !== null) counts.set(reason, (counts.get(reason) ?? 0) + 1);
    const [most] = [...counts].sort(([, a], [, b]) => b - a);
    const why = most === undefined ? 'no reason is stated' : `the most frequent reason (${most[1]}) is: ${most[0]}`;
    return [
      ...(unknown.length === 0 ? [] : [`unknown labels (null): ${unknown.length} of ${all.length}; ${why}`]),
      ...(this.first === null
        ? []
        : [
            `candidates with a known and an unknown label: ${this.both.size}, such as ${this.first}; the known label is used`,
          ]),
    ];
  }
}

interface KnownLine extends Label {
  readonly instance_id: string;
  readonly candidate_id: string;
}

/** The error about two contradictory labels of a candidate; it names both places. */
export function contradiction(candidateId: string, place: InputPlace, earlier: InputPlace): BadInputError {
  const line = earlier.line === undefined ? 'an earlier label' : `line ${earlier.line}`;
  const where = earlier.file === place.file ? line : `${line} of ${earlier.file ?? 'another file'}`;
  return new BadInputError(`of "${candidateId}" contradicts ${where}.`, place, 'Keep one label per candidate.');
}

/**
 * The labels in a file. Only reports read labels, so this is among them: code that verifies or selects cannot import it.
 * Repeated equal labels are allowed, as an import may have one from two files.
 * @param book receives them
 * @throws BadInputError naming file, line and field; also for contradictory labels of a candidate
 */
export async function readAllLabels(file: string, book = new LabelBook()): Promise<LabelsByInstance> {
  // An import writes an empty file if no outcome was found.
  if (statSync(file, { throwIfNoEntry: false })?.size === 0) return book.byInstance;
  for await (const record of readRecords(file)) {
    const { candidate_id, sealed, ...line } = parseRecord(LabelLine, record);
    // An import also writes lines that only hold what is sealed.
    const isLabel = line.resolved !== null || line.reason !== null || (sealed ?? []).length === 0;
    if (candidate_id !== null && isLabel) book.add({ ...line, candidate_id }, placeOf(record, 'resolved'));
  }
  return book.byInstance;
}

/**
 * The labels of one instance.
 * @throws BadInputError if there are none, since rates would be wrong
 */
export function labelsOf(all: LabelsByInstance, instanceId: string, file: string): Labels {
  const labels = all.get(instanceId);
  if (labels === undefined) throw new BadInputError(`has no label for instance "${instanceId}".`, { file });
  return labels;
}
