import { z } from 'zod';
import { BadInputError } from '../../core/errors/errors.js';
import { Candidate } from '../../core/run/candidate.js';
import { type GeneratedTest, GivenTest } from '../../core/run/generated-test.js';
import { type Located, parseRecord, placeOf, readRecords, UniqueRecords } from '../records/records.js';

/** A SWE-bench prediction; in `preds.json` the key names the instance. */
const Prediction = z.object({
  instance_id: z.string().min(1).optional(),
  candidate_id: z.string().min(1).max(256).optional(),
  model_name_or_path: z.string().nullish(),
  model_patch: z.string().nullish(),
});
const Named = z.object({ instance_id: z.string().optional() });

/**
 * The candidates of one instance, from bestk's own form or from SWE-bench predictions (JSONL, list or object). A null
 * patch is an empty one. Predictions of one model that carry no id become `model`, `model#2`, … in the file's order.
 * @throws BadInputError naming file, line and field; also when the instance has no candidate
 */
export async function readCandidates(file: string, instanceId: string): Promise<Candidate[]> {
  const candidates: Candidate[] = [];
  const unique = new UniqueRecords('candidate_id');
  const others = new Set<string>();
  for await (const record of readRecords(file)) {
    const id = instanceOf(record);
    if (id !== instanceId) {
      others.add(id);
      continue;
    }
    const candidate = asCandidate(record, id, unique);
    unique.add(candidate.candidate_id, record);
    candidates.push(candidate);
  }
  if (candidates.length === 0) {
    const known = others.size === 0 ? '' : ` It holds: ${[...others].slice(0, 5).join(', ')}`;
    throw new BadInputError(`holds no candidate of instance "${instanceId}".${known}`, { file });
  }
  return candidates;
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
  if (!('model_patch' in value)) return parseRecord(Candidate, { ...record, value: { ...value, instance_id } });
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
 * The saved generated tests of one instance.
 * @throws BadInputError naming file, line and field; also when the instance has none
 */
export async function readTests(file: string, instanceId: string): Promise<GeneratedTest[]> {
  const tests: GeneratedTest[] = [];
  const others = new Set<string>();
  const unique = new UniqueRecords('test_id');
  for await (const record of readRecords(file)) {
    const test = parseRecord(GivenTest, record);
    if (test.instance_id !== instanceId) {
      others.add(test.instance_id);
      continue;
    }
    unique.add(test.test_id, record);
    tests.push(test);
  }
  if (tests.length === 0) {
    const known = [...others].slice(0, 5).join(', ');
    throw new BadInputError(`holds no test of instance "${instanceId}". It holds: ${known}`, { file });
  }
  return tests;
}
