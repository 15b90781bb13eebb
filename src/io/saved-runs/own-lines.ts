import { z } from 'zod';
import { idInFile } from '../../core/identifier.js';
import { CandidateInFile } from '../../core/run/candidate.js';
import { TestInFile } from '../../core/run/generated-test.js';
import { Environment } from '../../core/run/issue.js';
import { setReaderOf } from '../datasets/data-set.js';
import { fieldsOf, idOf, MaybeNumber, MaybeText, originOf, stemOf } from './saved-records.js';
import { type RunReader, SealedKind } from './saved-run.js';

const Known = z.object({
  format: MaybeText,
  file: MaybeText,
  line: MaybeNumber,
  id: MaybeText,
  model: MaybeText,
  cost_usd: MaybeNumber,
  input_tokens: MaybeNumber,
  output_tokens: MaybeNumber,
  model_calls: MaybeNumber,
  exit_reason: MaybeText,
});
const Row = z.object({
  instance_id: z.string().min(1),
  candidate_id: idInFile(z.string().min(1).max(256)),
  patch: MaybeText,
  trajectory: CandidateInFile.shape.trajectory,
  problem_statement: MaybeText,
  image: MaybeText,
  environment: Environment.optional().catch(undefined),
  origin: Known.nullish(),
});

/** bestk's own candidates, imported earlier or written by hand. */
export const bestkCandidates: RunReader = {
  format: 'bestk',
  recognises: (value) => 'candidate_id' in value && 'instance_id' in value && 'patch' in value,
  columns: () => Object.keys(Row.shape),
  read: (record) => {
    const { origin, patch, trajectory, ...row } = fieldsOf(Row, record);
    const { format, file, line, ...known } = origin ?? {};
    const first = { file: file ?? record.file, line: file === undefined ? (record.line ?? null) : (line ?? null) };
    const run = {
      ...row,
      patch: patch ?? '',
      trajectory,
      origin: originOf(format ?? 'bestk', record, { ...known, ...first }),
    };
    return { runs: [run], sealed: [] };
  },
};

const Label = z.object({
  instance_id: z.string().min(1),
  candidate_id: idInFile(z.string().min(1)),
  resolved: z.union([z.boolean(), z.literal(0), z.literal(1)]).nullish(),
  reason: MaybeText.catch(null),
  sealed: z
    .array(z.object({ kind: SealedKind, value: z.unknown() }))
    .nullish()
    .catch(null),
});

/** bestk's own labels. */
export const bestkLabels: RunReader = {
  format: 'bestk-labels',
  recognises: (value) => 'candidate_id' in value && 'resolved' in value && !('patch' in value),
  read: (record) => {
    const { instance_id, candidate_id, resolved, reason, sealed } = fieldsOf(Label, record);
    const label =
      resolved === undefined || resolved === null
        ? { resolved: null, ...(reason === null ? {} : { reason }) }
        : { resolved: Boolean(resolved) };
    return { runs: [], sealed: [{ instance_id, candidate_id, ...label, sealed: sealed ?? [] }] };
  },
};

/** bestk's own generated tests. */
export const bestkTests: RunReader = {
  format: 'bestk-tests',
  recognises: (value) => 'test_id' in value && 'content' in value,
  read: (record) => ({ runs: [], sealed: [], tests: [fieldsOf(TestInFile, record)] }),
};

/** Issues: bestk's own, or rows of any data set. Their answers are not read. */
export const dataSetRows: RunReader = {
  format: 'issues',
  recognises: (value) => setReaderOf(value) !== undefined,
  read: (record) => {
    const { instance_id, problem_statement, environment } =
      setReaderOf(record.value)?.issue({ ...record, split: null }) ?? unreachable();
    const known = Environment.safeParse(environment);
    const image = known.data?.image ?? null;
    return { runs: [], sealed: [], issues: [{ instance_id, problem_statement, image, environment: known.data }] };
  },
};

function unreachable(): never {
  throw new Error('A reader was asked for a record that it does not recognise.');
}

const Prediction = z.object({
  instance_id: MaybeText,
  model_name_or_path: MaybeText,
  candidate_id: idInFile(MaybeText),
  model_patch: MaybeText,
  patch: MaybeText,
  prefix: MaybeText,
  fix_patch: MaybeText,
  org: MaybeText,
  repo: MaybeText,
  number: z.coerce.number().int().nullish(),
});

/**
 * SWE-bench predictions: JSONL, a list, or an object keyed by instance. A null patch is an empty one. SWE-bench Pro has
 * `patch` and `prefix` (its `gather_patches.py`), Multi-SWE-bench `org`, `repo`, `number` and `fix_patch`.
 */
export const predictions: RunReader = {
  format: 'swe-bench-predictions',
  recognises: (value) =>
    ('model_patch' in value && ('instance_id' in value || 'model_name_or_path' in value)) ||
    ('prefix' in value && 'patch' in value && 'instance_id' in value) ||
    ('fix_patch' in value && 'org' in value && 'number' in value && !('test_patch' in value)),
  columns: (value) => [
    ...['instance_id', 'candidate_id', 'model_name_or_path', 'prefix'],
    ...('model_patch' in value ? ['model_patch'] : 'fix_patch' in value ? MULTI_SWE_BENCH : ['patch']),
  ],
  read: (record) => {
    const fields = fieldsOf(Prediction, record);
    const instance_id = fieldsOf(z.object({ instance_id: z.string().min(1) }), {
      ...record,
      value: { instance_id: fields.instance_id ?? multiId(fields) ?? record.key },
    }).instance_id;
    const model = fields.model_name_or_path;
    const candidate_id = idOf(fields.candidate_id, model, fields.prefix, stemOf(record.file));
    const run = {
      instance_id,
      candidate_id,
      problem_statement: null,
      image: null,
      patch: fields.model_patch ?? fields.fix_patch ?? fields.patch ?? '',
      trajectory: null,
      origin: originOf('swe-bench-predictions', record, { id: fields.candidate_id, model }),
    };
    return { runs: [run], sealed: [] };
  },
};

const MULTI_SWE_BENCH = ['fix_patch', 'org', 'repo', 'number'];

function multiId({ org, repo, number }: z.infer<typeof Prediction>): string | undefined {
  return org === null || repo === null || typeof number !== 'number' ? undefined : `${org}__${repo}-${number}`;
}
