import { z } from 'zod';
import { BadInputError, type InputPlace } from '../../core/errors/errors.js';
import { sha256 } from '../../core/identifier.js';
import type { Issue } from '../../core/run/issue.js';
import { type DataSetInstance, type DataSetOptions, type Fact, readDataSet } from './data-set.js';
import type { ColumnUse } from './set-reader.js';

/** How many values or ids a message lists. */
const NAMED = 10;

const SHARD = /^([1-9]\d*)\/([1-9]\d*)$/;

/** Limited because each is checked on every instance. */
const MOST_CONDITIONS = 100;

/** Selects instances of a data set; each part narrows the result of the parts before it. */
export const DataSetFilter = z.strictObject({
  /** `column=value`, `column!=value`; several values separated by commas. All conditions must hold. */
  where: z
    .array(z.string().regex(/^[^=!]+!?=/, 'must look like column=value or column!=value'))
    .max(MOST_CONDITIONS)
    .default([]),
  /** Ids; absent = all. */
  instances: z.array(z.string().min(1)).min(1).optional(),
  /** `from:to` by position, from 0, `to` exclusive. */
  slice: z
    .string()
    .regex(/^\d*:\d*$/, 'must look like 0:50')
    .optional(),
  /** `2/8`: the second of eight parts, every eighth instance. */
  shard: z
    .string()
    .regex(SHARD, 'must look like 2/8')
    .refine(
      (text) => Number(SHARD.exec(text)?.[1]) <= Number(SHARD.exec(text)?.[2]),
      'must name one of the parts, as 1/8 to 8/8 do',
    )
    .optional(),
  /** Size of a random sample. */
  sample: z.int().min(1).optional(),
  /** A different seed draws a different sample. */
  seed: z.int().min(0).default(1),
});
export type DataSetFilter = z.infer<typeof DataSetFilter>;

/** A part of a filter that matches no instance or is invalid for the data set. */
export class FilterError extends BadInputError {
  constructor(
    readonly part: 'where' | 'instances' | 'slice' | 'shard',
    readonly reason: string,
    next: string,
    place: InputPlace = { field: `filter.${part}` },
  ) {
    super(reason, place, next);
  }

  /** The same error, at the place where the filter was given. */
  saidAt(place: InputPlace): FilterError {
    return new FilterError(this.part, this.reason, this.next, place);
  }
}

/**
 * The instances that a filter selects, in the data set's order. Membership in a sample depends only on seed and id, not
 * on the order of the file.
 * @throws FilterError for an unknown instance or column, and for a part that matches nothing
 */
export function filtered<T extends DataSetInstance>(all: readonly T[], filter: DataSetFilter): readonly T[] {
  const { instances, slice, shard, sample, seed } = filter;
  let left = filter.where.reduce<readonly T[]>(having, all);
  if (instances !== undefined) left = named(all, left, instances);
  if (slice !== undefined) {
    const [from = '', to = ''] = slice.split(':');
    left = some('slice', left, left.slice(Number(from), to === '' ? undefined : Number(to)));
  }
  if (shard !== undefined) {
    const [part = 1, of = 1] = shard.split('/').map(Number);
    const own = left.filter((_, index) => index % of === part - 1);
    left = some('shard', left, own);
  }
  return sample === undefined ? left : sampled(left, sample, seed);
}

function having<T extends DataSetInstance>(left: readonly T[], condition: string): readonly T[] {
  const [, column = '', not = '', values = ''] = /^([^=!]+)(!?)=(.*)$/s.exec(condition) ?? [];
  const wanted = new Set(values.split(','));
  if (left.length > 0 && !left.some(({ facts }) => column in facts)) {
    const known = [...new Set(left.flatMap(({ facts }) => Object.keys(facts)))].sort().join(', ');
    throw new FilterError('where', `asks for the column "${column}", which no instance has.`, `There are: ${known}`);
  }
  const valueOf = ({ facts }: T): string => String(facts[column] ?? '');
  const own = left.filter((instance) => wanted.has(valueOf(instance)) === (not === ''));
  if (own.length > 0 || left.length === 0) return own;
  const there = [...new Set(left.map(valueOf))].sort();
  const more = there.length > NAMED ? ' and others' : '';
  const next = `There are: ${there.slice(0, NAMED).join(', ')}${more}`;
  throw new FilterError('where', `"${condition}" leaves none of ${left.length} instances.`, next);
}

/** @throws FilterError when a part removes every remaining instance */
function some<T>(part: FilterError['part'], before: readonly T[], left: readonly T[]): readonly T[] {
  if (left.length > 0 || before.length === 0) return left;
  throw new FilterError(part, `leaves none of ${before.length} instances.`, 'Ask for others.');
}

function named<T extends DataSetInstance>(all: readonly T[], left: readonly T[], ids: readonly string[]): readonly T[] {
  const known = new Set(all.map(({ issue }) => issue.instance_id));
  const strangers = ids.filter((id) => !known.has(id));
  if (strangers.length > 0) {
    const named = strangers.slice(0, NAMED).map((id) => `"${id}"`);
    const next = '`bestk datasets show` lists its instances and columns.';
    throw new FilterError('instances', `names ${named.join(', ')}, which the data set does not contain.`, next);
  }
  const wanted = new Set(ids);
  const own = left.filter(({ issue }) => wanted.has(issue.instance_id));
  return some('instances', left, own);
}

function sampled<T extends DataSetInstance>(left: readonly T[], sample: number, seed: number): readonly T[] {
  const drawn = left
    .map((instance) => ({ instance, lot: sha256(`${seed} ${instance.issue.instance_id}`) }))
    .sort((a, b) => (a.lot < b.lot ? -1 : 1))
    .slice(0, sample)
    .map(({ instance }) => instance);
  const chosen = new Set(drawn);
  return left.filter((instance) => chosen.has(instance));
}

/** How one column of a data set is used. */
interface ColumnReport {
  readonly name: string;
  /** `unknown`: no reader knows it, so it is only available for filtering. */
  readonly use: ColumnUse | 'unknown';
  /** Rows with a value in it. */
  readonly rows: number;
}

/** The public part of an instance. */
interface ShownInstance {
  readonly set: string;
  readonly split: string | null;
  readonly instance_id: string;
  readonly repo: string | null;
  readonly problem_statement: string;
  readonly environment: Issue['environment'];
  readonly facts: Readonly<Record<string, Fact>>;
  /** Whether hidden tests, and the authors' patch, are sealed with it. */
  readonly has_hidden_tests: boolean;
  readonly has_gold_patch: boolean;
}

/** How bestk reads a data set. */
export interface DataSetReport {
  readonly rows: number;
  readonly usable: number;
  /** Usable rows by the data set that their columns identify. */
  readonly sets: Readonly<Record<string, number>>;
  readonly with_hidden_tests: number;
  /** The first ones, without their answers. */
  readonly instances: readonly ShownInstance[];
  readonly columns: readonly ColumnReport[];
  readonly rejected: readonly { readonly file: string | null; readonly row: number | null; readonly reason: string }[];
}

/**
 * @param shown how many instances to include in full @throws BadInputError if the path does not exist or holds no row
 */
export async function describeDataSet(path: string, options: DataSetOptions, shown: number): Promise<DataSetReport> {
  const columns = new Map<string, { use: ColumnReport['use']; rows: number }>();
  const sets: Record<string, number> = {};
  const instances: ShownInstance[] = [];
  const rejected: DataSetReport['rejected'][number][] = [];
  let [rows, tested] = [0, 0];
  const seen: DataSetOptions['seen'] = ({ value }, reader) => {
    for (const [name, each] of Object.entries(value)) {
      const known = columns.get(name) ?? { use: reader.columns[name] ?? 'unknown', rows: 0 };
      columns.set(name, { ...known, rows: known.rows + Number(each !== null && each !== '') });
    }
  };
  for await (const read of readDataSet(path, { ...options, seen })) {
    rows += 1;
    if ('problem' in read) {
      rejected.push(reported(read.problem));
      continue;
    }
    const { set, split, issue, repo, facts, sealed } = read;
    const { tests, gold, problem } = opened(() => sealed.open());
    if (problem !== null) rejected.push(reported(problem));
    sets[set] = (sets[set] ?? 0) + 1;
    tested += Number(tests);
    const { setup_patch, ...environment } = issue.environment;
    // Reversed, it is the answer.
    const setup = setup_patch === null ? null : `a patch of ${setup_patch.split('\n').length} lines`;
    const shownIssue = { ...issue, environment: { ...environment, setup_patch: setup } };
    if (instances.length < shown)
      instances.push({ set, split, repo, ...shownIssue, facts, has_hidden_tests: tests, has_gold_patch: gold });
  }
  const usable = Object.values(sets).reduce((sum, count) => sum + count, 0);
  const told = [...columns].map(([name, each]) => ({ name, ...each }));
  return { rows, usable, sets, with_hidden_tests: tested, instances, columns: told, rejected };
}

function reported(problem: BadInputError): DataSetReport['rejected'][number] {
  const { file, line } = problem.place;
  return { file: file ?? null, row: line ?? null, reason: problem.message };
}

/** Reveals only whether there is an answer. */
function opened(open: () => { tests: unknown; gold: unknown }): {
  readonly tests: boolean;
  readonly gold: boolean;
  readonly problem: BadInputError | null;
} {
  try {
    const { tests, gold } = open();
    return { tests: tests !== null, gold: gold !== null, problem: null };
  } catch (error) {
    if (!(error instanceof BadInputError)) throw error;
    return { tests: false, gold: false, problem: error };
  }
}
