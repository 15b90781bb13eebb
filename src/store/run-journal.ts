import { type Kysely, sql, type Transaction } from 'kysely';
import { InterruptedError } from '../core/errors/errors.js';
import { hasEnded, RunStatus, STATUS_EVENT, type Run, type RunEvent, type RunProgress } from '../ports/run-store.js';
import { WORK_EVENTS, workOf } from '../ports/run-store.js';
import type { Database, RunEventsTable, RunsTable } from './schema.js';
import { eventOf, keyText } from './run-rows.js';
import type { StoreDialect } from './dialect.js';
import type { StoreGuard } from './store-guard.js';

const OPEN = RunStatus.options.filter((status) => !hasEnded(status));

/** The largest that the column holds: PostgreSQL compares with no larger one. */
const LARGEST_SEQ = 2 ** 31 - 1;

/** PostgreSQL gives a count as text. */
type Count = number | string;
const COUNT = sql<Count>`count(*)`;
const NONE = sql<number>`0`;

type NewEvent = Omit<RunEventsTable, 'seq'>;

/** The append-only journals of runs. The run's row numbers its events: whoever holds it is alone. */
export class KyselyRunJournal {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
    private readonly dialect: StoreDialect,
  ) {}

  /** @throws InterruptedError when the run has ended or is gone, or is not `by`'s */
  async append(id: string, type: string, data: RunEvent['data'], by: string | undefined): Promise<RunEvent> {
    const event: NewEvent = { run_id: keyText(id), at: Date.now(), type, data: JSON.stringify(data) };
    let tried = false;
    const written = await this.guard.run(async () => {
      // A connection that was lost behind the commit: the event is there already.
      const known = tried ? await this.find(event) : undefined;
      tried = true;
      return known ?? (this.dialect.nestsWrites ? this.writeAtOnce(event, by) : this.write(event, by));
    });
    if (written === undefined) throw new InterruptedError(`The run "${id}" has ended, or is another's by now.`);
    return eventOf(written);
  }

  async events(id: string, afterSeq: number, limit?: number): Promise<readonly RunEvent[]> {
    const query = this.of(id).select(['seq', 'at', 'type', 'data']).orderBy('seq', 'asc');
    const found = query.where('seq', '>', Math.min(afterSeq, LARGEST_SEQ));
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
   * Events of work and the newest; as event 0 of each type how many there are, counted by the database, which has the types
   * in an index. One question: whoever asks for a status waits for one answer, on one connection.
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

  /** In one statement, for which the server is asked once instead of four times. */
  private writeAtOnce(event: NewEvent, by: string | undefined): Promise<RunEventsTable | undefined> {
    const { run_id, at, type, data } = event;
    return this.db
      .with('place', () => nextPlace(this.db, event, by))
      .insertInto('run_events')
      .columns(['run_id', 'seq', 'at', 'type', 'data'])
      .expression((eb) =>
        eb
          .selectFrom('place')
          .select((place) => [
            castText(run_id).as('run_id'),
            place.ref('place.last_seq').as('seq'),
            sql<number>`cast(${at} as bigint)`.as('at'),
            castText(type).as('type'),
            castText(data).as('data'),
          ]),
      )
      .returningAll()
      .executeTakeFirst();
  }

  private write(event: NewEvent, by: string | undefined): Promise<RunEventsTable | undefined> {
    return this.db.transaction().execute(async (trx) => {
      const place = await nextPlace(trx, event, by).executeTakeFirst();
      if (place === undefined) return undefined;
      const row = { ...event, seq: place.last_seq };
      await trx.insertInto('run_events').values(row).execute();
      return row;
    });
  }

  private find({ run_id, at, type, data }: NewEvent): Promise<RunEventsTable | undefined> {
    const query = this.db.selectFrom('run_events').selectAll().where('run_id', '=', run_id).where('at', '=', at);
    return query.where('type', '=', type).where('data', '=', data).executeTakeFirst();
  }
}

/** Takes the next number of a run that is open, and `by`'s. */
function nextPlace(db: Kysely<Database>, { run_id: id, at }: NewEvent, by: string | undefined) {
  let query = db
    .updateTable('runs')
    .set((eb) => ({ last_seq: eb('last_seq', '+', 1), updated_at: at }))
    .where('id', '=', id)
    .where('status', 'in', OPEN);
  if (by !== undefined) query = query.where('owner', '=', by);
  return query.returning('last_seq');
}

/** A value in the place of a column, whose type the server cannot guess. */
export function castText(value: string) {
  return sql<string>`cast(${value} as text)`;
}

/** Data of the event that tells of a status. */
export function statusData({ status, failure = null }: Partial<Run>): string {
  return JSON.stringify({ status, failure });
}

/** Journals a status with the change that made it. */
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
