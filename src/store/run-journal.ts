import { type Kysely, sql, type Transaction } from 'kysely';
import { InterruptedError } from '../core/errors/errors.js';
import {
  hasEnded,
  RunStatus,
  STATUS_EVENT,
  type Run,
  type RunEvent,
  type RunProgress,
  WORK_EVENTS,
  workOf,
} from '../ports/run-store.js';
import type { Database, RunEventsTable, RunsTable, StoreDialect } from './schema.js';
import { Batches, type StoreGuard, keyText } from './statements.js';

const OPEN = RunStatus.options.filter((status) => !hasEnded(status));

/** The column's largest value; PostgreSQL cannot compare it with a larger one. */
const LARGEST_SEQ = 2 ** 31 - 1;

/** PostgreSQL returns counts as text. */
type Count = number | string;
const COUNT = sql<Count>`count(*)`;
const NONE = sql<number>`0`;

type NewEvent = Omit<RunEventsTable, 'seq'> & { readonly by: string | undefined };

/** Append-only journals of runs. Events are numbered by the run's row, whose lock serialises writers. */
export class KyselyRunJournal {
  private readonly batches = new Batches<NewEvent, RunEventsTable>(
    (events) => this.appendAll(events),
    ({ data }) => data.length,
  );

  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
    private readonly dialect: StoreDialect,
  ) {}

  /** @throws InterruptedError if the run has ended, was deleted, or is not owned by `by` */
  async append(id: string, type: string, data: RunEvent['data'], by: string | undefined): Promise<RunEvent> {
    const event = { run_id: keyText(id), at: Date.now(), type, data: JSON.stringify(data), by };
    return eventOf(await this.batches.do(JSON.stringify([id, by]), event));
  }

  /** Appends events of one run and one `by`. */
  private async appendAll(events: readonly [NewEvent, ...NewEvent[]]): Promise<readonly RunEventsTable[]> {
    let tried = false;
    const written = await this.guard.run(async () => {
      // If the connection was lost after the commit, the events are already stored.
      const known = tried ? await this.find(events) : [];
      tried = true;
      if (known.length > 0) return known;
      return this.dialect.nestsWrites ? this.writeAtOnce(events) : this.write(events);
    });
    if (written.length === 0)
      throw new InterruptedError(`The run "${events[0].run_id}" has ended, or is another's by now.`);
    return written;
  }

  async events(id: string, afterSeq: number, limit?: number, type?: string): Promise<readonly RunEvent[]> {
    const query = this.of(id).select(['seq', 'at', 'type', 'data']).orderBy('seq', 'asc');
    const after = query.where('seq', '>', Math.min(afterSeq, LARGEST_SEQ));
    const found = type === undefined ? after : after.where('type', '=', type);
    return (await this.guard.run(() => (limit === undefined ? found : found.limit(limit)).execute())).map(eventOf);
  }

  async progress(id: string): Promise<RunProgress> {
    const rows = await this.guard.run(() => this.tellingAndCounts(id).execute());
    const telling = rows.filter(({ seq }) => seq > 0).map(eventOf);
    const counts = rows.filter(({ seq }) => seq === 0).map(({ type, events }) => [type, Number(events)] as const);
    const last = telling.at(-1) ?? null;
    return { events: last?.seq ?? 0, by_type: Object.fromEntries(counts), workers: workOf(telling), last };
  }

  /**
   * Events about work and the newest event; the number of events of each type is returned as event 0 of that type, counted
   * from an index. One query, so that a status request needs one round trip on one connection.
   */
  private tellingAndCounts(id: string) {
    const newest = this.db.selectFrom('runs').select('last_seq').where('id', '=', keyText(id));
    const counted = this.of(id)
      .groupBy('type')
      .select([NONE.as('seq'), NONE.as('at'), 'type', sql<string>`''`.as('data'), COUNT.as('events')]);
    return this.of(id)
      .select(['seq', 'at', 'type', 'data', sql<Count>`0`.as('events')])
      .where((eb) => eb.or([eb('type', 'in', WORK_EVENTS), eb('seq', '=', newest)]))
      .unionAll(counted)
      .orderBy('seq', 'asc');
  }

  private of(id: string) {
    return this.db.selectFrom('run_events').where('run_id', '=', keyText(id));
  }

  /** One statement, so one round trip to the server instead of four. */
  private async writeAtOnce(events: readonly [NewEvent, ...NewEvent[]]): Promise<readonly RunEventsTable[]> {
    const of = <Column extends 'at' | 'type' | 'data'>(column: Column): NewEvent[Column][] =>
      events.map((event) => event[column]);
    const rows = sql`unnest(${of('at')}::bigint[], ${of('type')}::text[], ${of('data')}::text[]) with ordinality`;
    const written = await this.db
      .with('place', () => nextPlaces(this.db, events))
      .insertInto('run_events')
      .columns(['run_id', 'seq', 'at', 'type', 'data'])
      .expression((eb) =>
        eb
          .selectFrom(['place', rows.as(sql`fresh(at, type, data, nth)`)])
          .select((place) => [
            castText(events[0].run_id).as('run_id'),
            sql<number>`${place.ref('place.last_seq')} - ${events.length} + fresh.nth`.as('seq'),
            sql<number>`fresh.at`.as('at'),
            sql<string>`fresh.type`.as('type'),
            sql<string>`fresh.data`.as('data'),
          ]),
      )
      .returningAll()
      .execute();
    return written.sort((a, b) => a.seq - b.seq);
  }

  private write(events: readonly [NewEvent, ...NewEvent[]]): Promise<readonly RunEventsTable[]> {
    return this.db.transaction().execute(async (trx) => {
      const place = await nextPlaces(trx, events).executeTakeFirst();
      if (place === undefined) return [];
      const rows = numbered(events, place.last_seq - events.length + 1);
      await trx.insertInto('run_events').values(rows).execute();
      return rows;
    });
  }

  private async find(events: readonly [NewEvent, ...NewEvent[]]): Promise<readonly RunEventsTable[]> {
    const [{ run_id, at, type, data }] = events;
    const query = this.db.selectFrom('run_events').select('seq').where('run_id', '=', run_id).where('at', '=', at);
    const first = await query.where('type', '=', type).where('data', '=', data).executeTakeFirst();
    return first === undefined ? [] : numbered(events, first.seq);
  }
}

function numbered(events: readonly NewEvent[], first: number): RunEventsTable[] {
  return events.map(({ run_id, at, type, data }, nth) => ({ run_id, seq: first + nth, at, type, data }));
}

/**
 * Reserves the next numbers of a run that is open and, if given, owned by `by`.
 * @returns the last of them
 */
function nextPlaces(db: Kysely<Database>, events: readonly [NewEvent, ...NewEvent[]]) {
  const [{ run_id: id, by }] = events;
  let query = db
    .updateTable('runs')
    .set((eb) => ({ last_seq: eb('last_seq', '+', events.length), updated_at: events.at(-1)?.at }))
    .where('id', '=', id)
    .where('status', 'in', OPEN);
  if (by !== undefined) query = query.where('owner', '=', by);
  return query.returning('last_seq');
}

/** A value in place of a column, cast because the server cannot infer its type. */
export function castText(value: string) {
  return sql<string>`cast(${value} as text)`;
}

/** Data of the event that records a status. */
export function statusData({ status, failure = null }: Partial<Run>): string {
  return JSON.stringify({ status, failure });
}

/** Journals a status in the transaction that sets it. */
export async function journalStatus(
  trx: Transaction<Database>,
  row: Pick<RunsTable, 'id' | 'last_seq' | 'updated_at'>,
  change: Partial<Run>,
): Promise<void> {
  const event = { run_id: row.id, seq: row.last_seq, at: row.updated_at, type: STATUS_EVENT };
  await trx
    .insertInto('run_events')
    .values({ ...event, data: statusData(change) })
    .execute();
}

export function eventOf(row: Omit<RunEventsTable, 'run_id'>): RunEvent {
  return {
    seq: row.seq,
    at: new Date(row.at).toISOString(),
    type: row.type,
    data: JSON.parse(row.data) as RunEvent['data'],
  };
}
