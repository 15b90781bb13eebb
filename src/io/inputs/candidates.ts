import { statSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { idInFile } from '../../core/identifier.js';
import { type Candidate, CandidateInFile } from '../../core/run/candidate.js';
import { type GeneratedTest, TestInFile } from '../../core/run/generated-test.js';
import { type Located, parseRecord, placeOf, readRecords, UniqueRecords } from '../records/records.js';

/** A SWE-bench prediction; in `preds.json` the key names the instance. */
const Prediction = z.object({
  instance_id: z.string().min(1).optional(),
  candidate_id: idInFile(z.string().min(1).max(256).nullish()),
  model_name_or_path: z.string().nullish(),
  model_patch: z.string().nullish(),
});
const Named = z.object({ instance_id: z.string().optional() });

/** Reads rows of other formats, which this room must not know since they hold labels, too. */
export interface OtherRows {
  /** Called for every row of the instances. Null if the row is bestk's own or a prediction. */
  read(record: Located, instanceId: string): Omit<Candidate, 'instance_id'> | null;
}

/**
 * The candidates of some instances, in bestk's own format or as SWE-bench predictions (JSONL, list or object). A null
 * patch is an empty one. Predictions of one model without ids become `model`, `model#2`, … in file order.
 * @param path the file, or a run's output folder, whose candidates.jsonl is read
 * @param others absent = rows of other formats are bad input
 * @returns by instance; instances without candidates are absent
 * @throws BadInputError naming file, line and field; also when no instance has any
 */
export function readAllCandidates(
  path: string,
  instances: readonly string[],
  others?: OtherRows,
): Promise<ReadonlyMap<string, Candidate[]>> {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  const file = isFolder ? join(path, 'candidates.jsonl') : path;
  return grouped(file, new Set(instances), 'candidate', (record, id, unique) => {
    const other = others?.read(record, id);
    const candidate = other
      ? { ...other, instance_id: id, candidate_id: freeName(other.candidate_id, unique) }
      : asCandidate(record, id, unique);
    unique.add(candidate.candidate_id, record);
    return candidate;
  });
}

async function grouped<T>(
  file: string,
  wanted: ReadonlySet<string>,
  what: 'candidate' | 'test',
  read: (record: Located, instanceId: string, unique: UniqueRecords) => T,
): Promise<ReadonlyMap<string, T[]>> {
  const found = new Map<string, { readonly unique: UniqueRecords; readonly all: T[] }>();
  const others = new Set<string>();
  for await (const record of readRecords(file)) {
    const id = instanceOf(record);
    if (!wanted.has(id)) {
      if (others.size < NAMED) others.add(id);
      continue;
    }
    const known = found.get(id) ?? { unique: new UniqueRecords(`${what}_id`), all: [] };
    found.set(id, known);
    known.all.push(read(record, id, known.unique));
  }
  if (found.size === 0) throw noneOf(file, what, wanted, others);
  return new Map([...found].map(([id, { all }]) => [id, all]));
}

const NAMED = 5;

function noneOf(file: string, what: string, wanted: ReadonlySet<string>, others: ReadonlySet<string>): BadInputError {
  const [only = ''] = wanted;
  const whose = wanted.size === 1 ? `instance "${only}"` : `any of these ${wanted.size} instances`;
  const known = others.size === 0 ? '' : ` It contains: ${[...others].join(', ')}`;
  return new BadInputError(`has no ${what} of ${whose}.${known}`, { file });
}

function instanceOf(record: Located): string {
  const id = parseRecord(Named, record).instance_id ?? record.key;
  if (id === undefined) {
    throw new BadInputError('is missing', placeOf(record, 'instance_id'));
  }
  return id;
}

function asCandidate(record: Located, instance_id: string, unique: UniqueRecords): Candidate {
  const value = record.value as object;
  if (!('model_patch' in value)) return parseRecord(CandidateInFile, { ...record, value: { ...value, instance_id } });
  const { candidate_id, model_name_or_path, model_patch } = parseRecord(Prediction, record);
  return {
    instance_id,
    candidate_id: candidate_id ?? freeName(model_name_or_path?.trim() || 'candidate', unique),
    patch: model_patch ?? '',
    trajectory: null,
  };
}

function freeName(model: string, unique: UniqueRecords): string {
  const name = model.slice(0, 200);
  for (let n = 1; ; n += 1) {
    const id = n === 1 ? name : `${name}#${n}`;
    if (!unique.has(id)) return id;
  }
}

/**
 * The saved generated tests of some instances, by instance; instances without tests are absent.
 * @throws BadInputError naming file, line and field; also when no instance has any
 */
export function readAllTests(
  file: string,
  instances: readonly string[],
): Promise<ReadonlyMap<string, GeneratedTest[]>> {
  return grouped(file, new Set(instances), 'test', (record, _id, unique) => {
    const test = parseRecord(TestInFile, record);
    unique.add(test.test_id, record);
    return test;
  });
}
