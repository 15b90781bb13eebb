import { keyText } from './statements.js';
import type { Expression, ExpressionBuilder, Kysely } from 'kysely';
import { z } from 'zod';
import type { Spent } from '../core/budget/budget.js';
import { BadInputError } from '../core/errors/errors.js';
import { contentKey } from '../core/identifier.js';
import { asJson } from '../core/json.js';
import { briefOfRequest, briefOfResult, RunBrief, RunAnswer } from '../core/run/run-result.js';
import {
  type Acceptance,
  Run,
  type RunCensus,
  type RunListing,
  type RunOrder,
  type RunOverview,
  type RunPage,
  RunStatus,
  type RunSummary,
} from '../ports/run-store.js';
import type { Database, RunDocumentsTable, RunsTable, StoreDialect } from './schema.js';

const BRIEF_COLUMNS = [
  'name',
  'tags',
  'instance_id',
  'k',
  'preset',
  'candidate_id',
  'basis',
  'deciding_stage',
  'confidence',
  'tokens',
  'cost_usd',
  'seconds',
] as const satisfies readonly (keyof RunBrief)[];
const STATE_COLUMNS = ['id', 'status', 'failure', 'created_at', 'updated_at'] as const;
const SUMMARY_COLUMNS = [...STATE_COLUMNS, ...BRIEF_COLUMNS, 'benchmark', 'arm'] as const;
export const OVERVIEW_COLUMNS = [...STATE_COLUMNS, 'answer'] as const;

type StateRow = Pick<RunsTable, (typeof STATE_COLUMNS)[number]>;

/** @throws ZodError or SyntaxError for a row that bestk did not write */
function summaryOf(row: Pick<RunsTable, (typeof SUMMARY_COLUMNS)[number]>): RunSummary {
  const { name, tags, instance_id, k, preset, candidate_id, basis, deciding_stage, confidence } = row;
  const { tokens, cost_usd, seconds, benchmark, arm } = row;
  return {
    ...stateOf(row),
    ...{ name, tags: TAGS.parse(JSON.parse(tags)), instance_id, k, preset, candidate_id, basis, deciding_stage },
    ...{ confidence, tokens, cost_usd, seconds, benchmark, arm },
  };
}

/** @throws ZodError or SyntaxError for a row that bestk did not write */
export function overviewOf(row: StateRow & Pick<RunsTable, 'answer'>): Omit<RunOverview, 'progress'> {
  const answer = row.answer === null ? null : RunAnswer.parse(JSON.parse(row.answer));
  return { ...stateOf(row), answer };
}

/** The `answer` column; null if the result does not have an answer's shape. */
function answerOf(result: unknown): string | null {
  const answer = RunAnswer.safeParse(result);
  return answer.success ? JSON.stringify(answer.data) : null;
}

export function runOf(
  row: StateRow & Pick<RunsTable, 'tokens' | 'cost_usd'> & Pick<RunDocumentsTable, 'request' | 'result'>,
): Run {
  return {
    ...stateOf(row),
    ...(row.tokens === null ? {} : { spent: { tokens: row.tokens, usd: row.cost_usd } }),
    request: JSON.parse(row.request) as Run['request'],
    result: row.result === null ? null : (JSON.parse(row.result) as Run['result']),
  };
}

/** A run whose row was just created. */
export function freshRun(row: StateRow, request: Run['request']): Run {
  return { ...stateOf(row), request, result: null };
}

/** @param rows one per existing status; `oldest` is the earliest time at which a run in it was last updated */
export function censusOf(
  rows: readonly { readonly status: string; readonly runs: number | bigint | string; readonly oldest: unknown }[],
): RunCensus {
  const counts = { queued: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
  for (const { status, runs } of rows) counts[RunStatus.parse(status)] = Number(runs);
  const queued = rows.find(({ status }) => status === 'queued');
  return { counts, oldestQueued: queued === undefined ? null : isoTime(Number(queued.oldest)) };
}

export function newRow(key: string, request: Run['request'], id: string, how: Acceptance): RunsTable {
  const now = Date.now();
  return {
    id,
    key,
    status: 'queued',
    failure: null,
    owner: null,
    last_seq: 1,
    created_at: now,
    updated_at: now,
    submitter: keyText(how.submitter ?? ''),
    setup: how.setup ?? '',
    alone: how.alone === true ? 1 : 0,
    ...requestColumns(request),
    ...briefOfResult(null),
    answer: null,
    benchmark: how.benchmark?.id ?? null,
    arm: how.benchmark?.arm ?? null,
  };
}

/** The columns of a run's row that are derived from its request. */
export function requestColumns(request: Run['request']) {
  return { request_hash: contentKey(request), ...asColumns(briefOfRequest(request)) };
}

const TAGS = RunBrief.shape.tags;

/** The request's brief as columns; names are display only, so `keyText` may replace them. */
function asColumns({ name, tags, ...brief }: ReturnType<typeof briefOfRequest>) {
  return { ...brief, name: name === null ? null : keyText(name), tags: JSON.stringify(tags) };
}

/** The changed columns; a run that is not running has no owner. */
export function columnsOf({ status, result, failure }: Partial<Run>): Partial<RunsTable> {
  return {
    updated_at: Date.now(),
    ...(status === undefined ? {} : { status }),
    ...(status === undefined || status === 'running' ? {} : { owner: null }),
    ...(result === undefined ? {} : { ...briefOfResult(result), answer: answerOf(result) }),
    ...(failure === undefined ? {} : { failure: failure === null ? null : JSON.stringify(failure) }),
  };
}

/** What a run is known to have come to. A later attempt may fail before it has counted what an earlier one paid. */
export function spentColumns(eb: ExpressionBuilder<Database, 'runs'>, { tokens, usd }: Spent) {
  const isMore = eb(eb.fn.coalesce('tokens', eb.val(-1)), '<=', tokens);
  return {
    tokens: eb.case().when(isMore).then(tokens).else(eb.ref('tokens')).end(),
    cost_usd: eb.case().when(isMore).then(usd).else(eb.ref('cost_usd')).end(),
  };
}

function stateOf(row: StateRow): Pick<Run, (typeof STATE_COLUMNS)[number]> {
  return {
    id: row.id,
    status: Run.shape.status.parse(row.status),
    created_at: isoTime(row.created_at),
    updated_at: isoTime(row.updated_at),
    failure: Run.shape.failure.parse(row.failure === null ? null : JSON.parse(row.failure)),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

const Text = z.string().transform(keyText);
/** Sort value and id of the last run of a page; in order of creation, the id is enough. */
const POSITIONS = {
  instance: z.tuple([Text, Text]),
  k: z.tuple([z.int32(), Text]),
  cost: z.tuple([z.number(), Text]),
};
type Position = readonly [string | number, string];

const SEARCHED = ['id', 'instance_id', 'candidate_id'] as const;
/** Only the newest runs are searched: a search reads each row, and blocks the embedded store for everything else. */
const MOST_SEARCHED = 10_000;

interface Searched {
  readonly db: Kysely<Database>;
  readonly dialect: StoreDialect;
}

/** One page of the rows without their documents, by keyset pagination: pages neither repeat nor skip runs. */
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
  // Tags are matched as JSON strings with their quotes; a quote inside a tag is escaped, so no partial match is possible.
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

/** Substring match without LIKE, whose wildcards would need escaping. */
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
  const position = POSITIONS[order].safeParse(asJson(Buffer.from(cursor, 'base64url').toString()));
  if (position.success) return position.data;
  throw new BadInputError('is of no page of this order.', { field: 'cursor' }, 'Begin with the first page.');
}
