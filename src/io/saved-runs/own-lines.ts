import { z } from 'zod';
import { Trajectory } from '../../core/run/candidate.js';
import { GivenTest } from '../../core/run/generated-test.js';
import { Environment } from '../../core/run/issue.js';
import { setReaderOf } from '../datasets/data-set.js';
import { fieldsOf, MaybeNumber, MaybeText, originOf } from './fields.js';
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
  candidate_id: z.string().min(1).max(256),
  patch: MaybeText,
  trajectory: Trajectory.nullish(),
  problem_statement: MaybeText,
  image: MaybeText,
  environment: Environment.optional().catch(undefined),
  origin: Known.nullish(),
});

/** bestk's own candidates, imported before or written by hand. */
export const bestkCandidates: RunReader = {
  format: 'bestk',
  recognises: (value) => 'candidate_id' in value && 'instance_id' in value && 'patch' in value,
  read: (record) => {
    const { origin, patch, trajectory, ...row } = fieldsOf(Row, record);
    const { format, file, line, ...known } = origin ?? {};
    const first = { file: file ?? record.file, line: file === undefined ? (record.line ?? null) : (line ?? null) };
    const run = {
      ...row,
      patch: patch ?? '',
      trajectory: trajectory ?? null,
      origin: originOf(format ?? 'bestk', record, { ...known, ...first }),
    };
    return { runs: [run], sealed: [] };
  },
};

const Label = z.object({
  instance_id: z.string().min(1),
  candidate_id: z.string().min(1),
  resolved: z.union([z.boolean(), z.literal(0), z.literal(1)]).nullish(),
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
    const { instance_id, candidate_id, resolved, sealed } = fieldsOf(Label, record);
    const label = resolved === undefined || resolved === null ? null : Boolean(resolved);
    return { runs: [], sealed: [{ instance_id, candidate_id, resolved: label, sealed: sealed ?? [] }] };
  },
};

/** bestk's own generated tests. */
export const bestkTests: RunReader = {
  format: 'bestk-tests',
  recognises: (value) => 'test_id' in value && 'content' in value,
  read: (record) => ({ runs: [], sealed: [], tests: [fieldsOf(GivenTest, record)] }),
};

/** Issues: bestk's own, or rows of any data set. What tells their answers goes nowhere here. */
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
