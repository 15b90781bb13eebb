import { z } from 'zod';
import { fieldsOf, MaybeText, originOf } from './fields.js';
import type { ReadRuns, RunReader, SavedRecord, Sealed } from './saved-run.js';

const Augment = z.object({
  id: z.string().min(1),
  instruction: MaybeText,
  diffs: z.array(z.string().nullable()).min(1),
  eval_outcomes: z.array(z.object({ is_success: z.boolean() })).nullish(),
});
const Trae = z.object({
  instance_id: z.string().min(1),
  issue: MaybeText,
  patches: z.array(z.string().nullable()).min(1),
  success_id: z.array(z.union([z.boolean(), z.number()])).nullish(),
});

/** Augment's ensembler input: K diffs an instruction, and whether each was right. */
export const augment: RunReader = {
  format: 'augment',
  recognises: (value) => Array.isArray(value.diffs) && 'id' in value,
  read: (record) => {
    const { id, instruction, diffs, eval_outcomes: outcomes } = fieldsOf(Augment, record);
    const resolved = diffs.map((_, index) => outcomes?.[index]?.is_success ?? null);
    return listed(record, { format: 'augment', id, statement: instruction, patches: diffs, resolved, rest: null });
  },
};

/** Trae's selector input: K patches an issue, which are right, and the regression tests that each broke. */
export const trae: RunReader = {
  format: 'trae',
  recognises: (value) => Array.isArray(value.patches) && 'instance_id' in value,
  read: (record) => {
    const { instance_id: id, issue, patches, success_id: success } = fieldsOf(Trae, record);
    const resolved = patches.map((_, index) => (success?.[index] === undefined ? null : Boolean(success[index])));
    const rest = record.value.regressions ?? null;
    return listed(record, { format: 'trae', id, statement: issue, patches, resolved, rest });
  },
};

interface Listed {
  readonly format: string;
  readonly id: string;
  readonly statement: string | null;
  readonly patches: readonly (string | null)[];
  readonly resolved: readonly (boolean | null)[];
  /** What else tells the outcome, of all of them. */
  readonly rest: unknown;
}

/** Candidates are named by their position, which is all these formats know them by. */
function listed(record: SavedRecord, { format, id, statement, patches, resolved, rest }: Listed): ReadRuns {
  const runs = patches.map((patch, index) => ({
    instance_id: id,
    candidate_id: String(index),
    problem_statement: statement,
    image: null,
    patch: patch ?? '',
    trajectory: null,
    origin: originOf(format, record, { id: String(index) }),
  }));
  const sealed = resolved.map((label, index): Sealed => {
    const own = Array.isArray(rest) && rest.length === patches.length ? (rest[index] as unknown) : null;
    const parts = own === null ? [] : [{ kind: 'report', value: own } as const];
    return { instance_id: id, candidate_id: String(index), resolved: label, sealed: parts };
  });
  return { runs, sealed: sealed.filter((row) => row.resolved !== null || row.sealed.length > 0) };
}
