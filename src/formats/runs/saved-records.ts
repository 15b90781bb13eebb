import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { rawLines } from '../raw-lines.js';
import { DocumentSoFar } from './document-so-far.js';
import { LOCAL_BOUNDS } from './read-bounds.js';
import { SavedLine } from './saved-line.js';
import type { SavedRecord } from './saved-run.js';
import { unpacked } from './unpacked.js';

/** A place in a file that could not be read, and why; the rest of the file goes on. */
export interface Damage {
  readonly file: string;
  readonly line: number | null;
  readonly byte: number | null;
  readonly reason: string;
}

export type Found = { readonly record: SavedRecord } | { readonly damage: Damage };

/**
 * The records of one file: lines of JSONL, or the members of one document. Damaged lines are told and passed over.
 * Whichever it is, the first line tells: when it is no JSON by itself, the file is tried as one document.
 */
export async function* savedRecords(file: string, bounds = LOCAL_BOUNDS): AsyncGenerator<Found> {
  const beside = await filesBeside(file);
  const document = new DocumentSoFar(bounds);
  try {
    for await (const raw of rawLines(unpacked(file, bounds.total), bounds.line)) {
      const line = new SavedLine(raw, bounds);
      if (line.isBlank) continue;
      for (const each of document.take(line)) yield* recordsOf({ file, beside }, each);
      if (document.isLost) break;
    }
  } catch (error) {
    yield { damage: { file, line: null, byte: null, reason: `cannot be read further: ${(error as Error).message}` } };
  }
  yield* documentOf({ file, beside }, document);
}

interface Place {
  readonly file: string;
  readonly beside: SavedRecord['beside'];
  readonly line?: number;
  readonly byte?: number;
}

function* recordsOf(place: Place, saved: SavedLine): Generator<Found> {
  const { line, byte } = saved;
  const read = saved.read();
  if ('problem' in read) yield { damage: { file: place.file, line, byte, reason: read.problem } };
  else yield* spread(read.value, { ...place, line, byte });
}

function* documentOf(place: Place, document: DocumentSoFar): Generator<Found> {
  const end = document.end();
  if (end === null) return;
  if ('value' in end) yield* spread(end.value, place);
  else if ('records' in end) for (const each of end.records) yield* recordsOf(place, each);
  else yield { damage: { file: place.file, line: end.line, byte: end.byte, reason: end.problem } };
}

/** A list's elements, the members of an object filed under ids, or the value itself. */
function* spread(value: unknown, { file, beside, line, byte }: Place): Generator<Found> {
  const at = { file, ...(line === undefined ? {} : { line }), ...(beside === undefined ? {} : { beside }) };
  const damage = (reason: string): Found => ({ damage: { file, line: line ?? null, byte: byte ?? null, reason } });
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      yield isRow(element) ? { record: { ...at, index, value: element } } : damage(`element ${index} is no object`);
    }
  } else if (!isRow(value)) {
    yield damage('is no object');
  } else if (isFiledById(value)) {
    for (const [key, member] of Object.entries(value)) yield { record: { ...at, key, value: member } };
  } else {
    yield { record: { ...at, value } };
  }
}

type Row = Record<string, unknown>;

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `preds.json` and harness reports file records under instance ids. */
function isFiledById(value: Row): value is Record<string, Row> {
  const members = Object.values(value);
  return (
    members.length > 0 && members.every((member) => isRow(member) && ('model_patch' in member || 'resolved' in member))
  );
}

/** Of a trial's folder: what stands beside `agent/trajectory.json`. */
async function filesBeside(file: string): Promise<SavedRecord['beside']> {
  if (!file.endsWith('agent/trajectory.json')) return undefined;
  const trial = dirname(dirname(file));
  const found = new Map<string, string>();
  for (const path of ['artifacts/model.patch', 'verifier/reward.txt', 'verifier/reward.json']) {
    const text = await readFile(join(trial, path), 'utf8').catch(() => null);
    if (text !== null) found.set(path.slice(path.indexOf('/') + 1), text);
  }
  return found;
}
