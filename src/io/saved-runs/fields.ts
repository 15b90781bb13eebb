import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { parseRecord } from '../records/records.js';
import type { Origin, SavedRecord } from './saved-run.js';

/** Text, whatever it comes as: parts of a message are joined, null is empty, other values are shown as JSON. */
export const Text = z
  .unknown()
  .optional()
  .transform((value): string => textOf(value));
export const MaybeText = z
  .string()
  .nullish()
  .transform((value) => value ?? null);
export const MaybeNumber = z
  .number()
  .nullish()
  .catch(null)
  .transform((value) => value ?? null);

const Part = z.object({ text: z.string() });

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return '';
  if (!Array.isArray(value)) return JSON.stringify(value);
  const parts = value.map((part) => Part.safeParse(part).data?.text ?? (typeof part === 'string' ? part : ''));
  return parts.filter((part) => part !== '').join('\n');
}

/** The record's fields as a schema says. @throws BadInputError naming file, line and field */
export function fieldsOf<T>(schema: z.ZodType<T>, record: SavedRecord): T {
  return parseRecord(schema, record);
}

export function originOf(format: string, record: SavedRecord, known: Partial<Origin>): Origin {
  return {
    format,
    file: record.file,
    line: record.line ?? null,
    id: null,
    model: null,
    cost_usd: null,
    input_tokens: null,
    output_tokens: null,
    model_calls: null,
    exit_reason: null,
    ...known,
  };
}

/** Name of a file without what tells its kind: `a.traj.json.gz` is `a`. */
export function stemOf(file: string): string {
  const name = basename(file);
  const kind = /\.(?:gz|zst|jsonl?|ndjson|traj|report)$/i.exec(name);
  return kind === null ? name : stemOf(name.slice(0, kind.index));
}

/** Name of the folder that holds a file; of the one above when that is named like the file. */
export function runFolderOf(file: string): string {
  const folder = dirname(file);
  return basename(basename(folder) === stemOf(file) ? dirname(folder) : folder);
}

/** An id without line ends and slashes at its ends, not longer than a candidate's may be. */
export function idOf(...parts: readonly (string | null | undefined)[]): string {
  const known = parts.filter((part): part is string => part !== null && part !== undefined && part.trim() !== '');
  return (known[0] ?? 'candidate').trim().replace(/\s+/g, ' ').slice(0, 200);
}
