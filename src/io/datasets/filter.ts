import { z } from 'zod';
import { BadInputError, type InputPlace } from '../../core/errors/errors.js';
import { sha256 } from '../../core/fingerprint.js';
import type { DataSetInstance } from './data-set.js';

/** Values and ids that a message names. */
const NAMED = 10;

const SHARD = /^([1-9]\d*)\/([1-9]\d*)$/;

/** Which instances of a data set are meant; each part narrows what the ones before it left. */
export const DataSetFilter = z.strictObject({
  /** `column=value`, `column!=value`; several values with commas. All must hold. */
  where: z.array(z.string().regex(/^[^=!]+!?=/, 'must look like column=value or column!=value')).default([]),
  /** Ids; absent = all. */
  instances: z.array(z.string().min(1)).min(1).optional(),
  /** `from:to` by position, from 0, `to` left out. */
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
  /** So many at random. */
  sample: z.int().min(1).optional(),
  /** Another number draws another sample. */
  seed: z.int().min(0).default(1),
});
export type DataSetFilter = z.infer<typeof DataSetFilter>;

/** A part of a filter that no instance follows. */
export class FilterError extends BadInputError {
  constructor(
    readonly part: 'where' | 'instances' | 'slice' | 'shard',
    readonly reason: string,
    next: string,
    place: InputPlace = { field: `filter.${part}` },
  ) {
    super(reason, place, next);
  }

  /** The same, of who said it. */
  saidAt(place: InputPlace): FilterError {
    return new FilterError(this.part, this.reason, this.next, place);
  }
}

/**
 * The instances that a filter means, in the data set's order. A sample is the same whatever else is in the data set's file:
 * who is in it follows from seed and id.
 * @throws FilterError for an instance or a column that is not there, and for a part that leaves none
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

/** @throws FilterError when a part leaves none of those that were there */
function some<T>(part: FilterError['part'], before: readonly T[], left: readonly T[]): readonly T[] {
  if (left.length > 0 || before.length === 0) return left;
  throw new FilterError(part, `leaves none of ${before.length} instances.`, 'Ask for others.');
}

function named<T extends DataSetInstance>(all: readonly T[], left: readonly T[], ids: readonly string[]): readonly T[] {
  const known = new Set(all.map(({ issue }) => issue.instance_id));
  const strangers = ids.filter((id) => !known.has(id));
  if (strangers.length > 0) {
    const named = strangers.slice(0, NAMED).map((id) => `"${id}"`);
    const next = '`bestk datasets show` says what it holds.';
    throw new FilterError('instances', `names ${named.join(', ')}, which the data set does not hold.`, next);
  }
  const own = left.filter(({ issue }) => ids.includes(issue.instance_id));
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
