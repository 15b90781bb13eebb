import type { Expression, ExpressionBuilder, Kysely } from 'kysely';
import { z } from 'zod';
import { BadInputError } from '../core/errors/errors.js';
import type { RunListing, RunOrder, RunPage } from '../ports/run-store.js';
import type { StoreDialect } from './dialect.js';
import type { Database, RunsTable } from './schema.js';
import { keyText, SUMMARY_COLUMNS, summaryOf } from './run-rows.js';

const Text = z.string().transform(keyText);
/** Value and id of the last run of a page; where runs are listed by their making, the id alone says it. */
const POSITIONS = {
  instance: z.tuple([Text, Text]),
  k: z.tuple([z.int32(), Text]),
  cost: z.tuple([z.number(), Text]),
};
type Position = readonly [string | number, string];

const SEARCHED = ['id', 'instance_id', 'candidate_id'] as const;
/** The newest: every one is looked at, while nobody else is answered by an embedded store. */
const MOST_SEARCHED = 10_000;

interface Searched {
  readonly db: Kysely<Database>;
  readonly dialect: StoreDialect;
}

/** One page of the rows without their documents, read by position: pages neither repeat nor skip. */
export async function listRuns(
  store: Searched,
  limit: number,
  before: string | null,
  listing: RunListing,
): Promise<RunPage> {
  const { order = 'created', descending = true } = listing;
  const after = before === null ? null : positionOf(before, order);
  const comes = descending ? '<' : '>';
  let query = filtered(store, listing);
  if (after !== null) {
    const [value, id] = after;
    query = query.where((eb) =>
      order === 'created'
        ? eb('id', comes, id)
        : eb.or([eb(keyOf(eb, order), comes, value), eb.and([eb(keyOf(eb, order), '=', value), eb('id', comes, id)])]),
    );
  }
  const direction = descending ? 'desc' : 'asc';
  if (order !== 'created') query = query.orderBy((eb) => keyOf(eb, order), direction);
  const rows = await query
    .orderBy('id', direction)
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    runs: page.map(summaryOf),
    next: rows.length > limit && last !== undefined ? cursorOf(last, order) : null,
  };
}

function filtered({ db, dialect }: Searched, { statuses, instance, tag, search }: RunListing) {
  let query = db.selectFrom('runs').select(SUMMARY_COLUMNS);
  if (statuses !== undefined) query = query.where('status', 'in', statuses);
  if (instance !== undefined) query = query.where('instance_id', '=', keyText(instance));
  // A tag stands in its list as JSON has it, between quotes that stand in no tag without a stroke before them.
  if (tag !== undefined) query = query.where((eb) => has(eb, dialect, eb.ref('tags'), JSON.stringify(tag)));
  if (search === undefined || search === '') return query;
  const letters = keyText(search.toLowerCase());
  return query
    .where((eb) => eb('id', '>', eb.fn.coalesce(newestUnsearched(eb), eb.val(''))))
    .where((eb) => eb.or(SEARCHED.map((name) => has(eb, dialect, eb.fn<string>('lower', [name]), letters))));
}

function newestUnsearched(eb: ExpressionBuilder<Database, 'runs'>) {
  return eb.selectFrom('runs as newer').select('newer.id').orderBy('newer.id', 'desc').limit(1).offset(MOST_SEARCHED);
}

/** Without LIKE, whose signs would have to be escaped. */
function has(
  eb: ExpressionBuilder<Database, 'runs'>,
  { positionOf }: StoreDialect,
  text: Expression<string | null>,
  letters: string,
) {
  return eb(eb.fn<number>(positionOf, [text, eb.val(letters)]), '>', 0);
}

const SMALLEST = { instance: '', k: -1, cost: -1 } as const;
const COLUMN = { instance: 'instance_id', k: 'k', cost: 'cost_usd' } as const;

function keyOf(eb: ExpressionBuilder<Database, 'runs'>, order: Exclude<RunOrder, 'created'>) {
  return eb.fn.coalesce(eb.ref(COLUMN[order]), eb.val<string | number>(SMALLEST[order]));
}

function cursorOf(last: Pick<RunsTable, 'id' | 'instance_id' | 'k' | 'cost_usd'>, order: RunOrder): string {
  if (order === 'created') return last.id;
  const position = [last[COLUMN[order]] ?? SMALLEST[order], last.id];
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** @throws BadInputError */
function positionOf(cursor: string, order: RunOrder): Position {
  if (order === 'created') return ['', keyText(cursor)];
  const position = POSITIONS[order].safeParse(jsonOf(Buffer.from(cursor, 'base64url').toString()));
  if (position.success) return position.data;
  throw new BadInputError('is of no page of this order.', { field: 'cursor' }, 'Begin with the first page.');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
