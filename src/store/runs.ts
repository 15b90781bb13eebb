import { type Kysely, sql, type Transaction } from 'kysely';
import { BadInputError } from '../core/errors/errors.js';
import { RunIdSource } from '../core/identifier.js';
import {
  type Acceptance,
  type ClaimGuard,
  type OpenRun,
  type Run,
  type RunCensus,
  type RunEvent,
  type RunGuard,
  type RunHead,
  type RunListing,
  type RunOverview,
  type RunPage,
  RunStatus,
  RunStore,
  STATUS_EVENT,
} from '../ports/run-store.js';
import type { Database, RunDocumentsTable, RunsTable, StoreDialect } from './schema.js';
import { castText, journalStatus, KyselyRunJournal, statusData } from './run-journal.js';
import {
  censusOf,
  columnsOf,
  freshRun,
  listRuns,
  newRow,
  OVERVIEW_COLUMNS,
  overviewOf,
  runOf,
  spentColumns,
} from './run-rows.js';
import { keyText, type StoreGuard } from './statements.js';

const OPEN: readonly RunStatus[] = ['queued', 'running'];

/**
 * Runs as rows, in any database supported by Kysely. Every transaction starts with its write, which locks the row (on SQLite,
 * the file) before anything is read, so that concurrent processes queue instead of deadlocking.
 */
export class KyselyRunStore extends RunStore {
  private readonly ids = new RunIdSource();
  private readonly journal: KyselyRunJournal;

  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
    private readonly dialect: StoreDialect,
  ) {
    super();
    this.journal = new KyselyRunJournal(db, guard, dialect);
  }

  override async create(
    key: string,
    request: Run['request'],
    how: Acceptance = {},
  ): Promise<{ run: Run; created: boolean }> {
    const row = newRow(keyText(key), request, this.ids.next(Date.now()), how);
    const documents = { run_id: row.id, request: JSON.stringify(request), result: null };
    const created = await this.guard.run(() => insertRun(this.db, this.dialect, { row, documents }));
    if (created) return { run: freshRun(row, request), created };
    const held = await this.guard.run(() => this.whole().where('key', '=', row.key).executeTakeFirst());
    if (held === undefined) return this.create(key, request, how);
    if (held.request_hash === row.request_hash) return { run: runOf(held), created };
    const at = { field: 'Idempotency-Key' };
    throw new BadInputError('was used for another request.', at, 'Use a new key for a new request.');
  }

  override async get(id: string): Promise<Run | null> {
    const row = await this.guard.run(() => this.whole().where('id', '=', keyText(id)).executeTakeFirst());
    return row === undefined ? null : runOf(row);
  }

  override async size(id: string): Promise<number | null> {
    const bytes = sql<number>`octet_length(request) + coalesce(octet_length(result), 0)`.as('bytes');
    const query = this.db.selectFrom('run_documents').select(bytes).where('run_id', '=', keyText(id));
    return (await this.guard.run(() => query.executeTakeFirst()))?.bytes ?? null;
  }

  override async overview(id: string): Promise<RunOverview | null> {
    const query = this.db.selectFrom('runs').select(OVERVIEW_COLUMNS).where('id', '=', keyText(id));
    const [row, progress] = await Promise.all([
      this.guard.run(() => query.executeTakeFirst()),
      this.journal.progress(id),
    ]);
    return row === undefined ? null : { ...overviewOf(row), progress };
  }

  override async statusOf(id: string): Promise<RunStatus | null> {
    const query = this.db.selectFrom('runs').select('status').where('id', '=', keyText(id));
    const row = await this.guard.run(() => query.executeTakeFirst());
    return row === undefined ? null : RunStatus.parse(row.status);
  }

  override async heads(ids: readonly string[]): Promise<ReadonlyMap<string, RunHead>> {
    const query = this.db.selectFrom('runs').select(['id', 'status', 'last_seq']).where('id', 'in', ids.map(keyText));
    const rows = ids.length === 0 ? [] : await this.guard.run(() => query.execute());
    return new Map(rows.map(({ id, status, last_seq: seq }) => [id, { status: RunStatus.parse(status), seq }]));
  }

  override list(limit: number, before: string | null, listing: RunListing = {}): Promise<RunPage> {
    // Without retries: this call is also used to check whether the store responds.
    return this.guard.run(() => listRuns({ db: this.db, dialect: this.dialect }, limit, before, listing), 0);
  }

  override open(): Promise<readonly OpenRun[]> {
    const query = this.db.selectFrom('runs').select(['id', 'submitter', 'setup']).where('status', 'in', OPEN);
    return this.guard.run(() => query.where('alone', '=', 0).orderBy('id', 'asc').execute());
  }

  override async adopt(id: string, setup: string, from: string): Promise<boolean> {
    const open = this.db.updateTable('runs').set({ setup }).where('id', '=', keyText(id)).where('status', 'in', OPEN);
    const query = open.where('setup', '=', from);
    return (await this.guard.run(() => query.executeTakeFirst())).numUpdatedRows > 0n;
  }

  override async siblings(id: string): Promise<number> {
    const own = this.db.selectFrom('runs').select('submitter').where('id', '=', keyText(id));
    const query = this.db
      .selectFrom('runs')
      .select((eb) => eb.fn.countAll().as('runs'))
      .where('status', '=', 'running')
      .where('submitter', '=', own);
    return Number((await this.guard.run(() => query.executeTakeFirstOrThrow())).runs);
  }

  override async census(): Promise<RunCensus> {
    const query = this.db
      .selectFrom('runs')
      .groupBy('status')
      .select((eb) => ['status', eb.fn.countAll().as('runs'), eb.fn.min('updated_at').as('oldest')]);
    return censusOf(await this.guard.run(() => query.execute(), 0));
  }

  override update(
    id: string,
    change: Partial<Pick<Run, 'status' | 'result' | 'failure' | 'spent'>>,
    onlyIf: RunGuard = {},
  ): Promise<boolean> {
    return this.write(async (trx) => {
      const { status, result, spent } = change;
      let query = trx.updateTable('runs').set(columnsOf(change)).where('id', '=', keyText(id));
      if (spent !== undefined && result === undefined) query = query.set((eb) => spentColumns(eb, spent));
      if (onlyIf.statuses !== undefined) query = query.where('status', 'in', onlyIf.statuses);
      if (onlyIf.owner !== undefined) query = query.where('owner', '=', onlyIf.owner);
      if (status !== undefined) query = query.set((eb) => ({ last_seq: eb('last_seq', '+', 1) }));
      const row = await query.returning(['id', 'last_seq', 'updated_at']).executeTakeFirst();
      if (row === undefined) return false;
      if (result !== undefined) await saveResult(trx, row.id, result);
      if (status !== undefined) await journalStatus(trx, row, { ...change, status });
      return true;
    });
  }

  override claim(id: string, owner: string, { setup, unless }: ClaimGuard = {}): Promise<boolean | string> {
    const taken = this.write(async (trx) => {
      const open = trx.updateTable('runs').where('id', '=', keyText(id)).where('status', 'in', OPEN);
      const ours = setup === undefined ? open : open.where('setup', '=', setup);
      const row = await ours
        .set((eb) => ({ updated_at: Date.now(), last_seq: eb('last_seq', '+', 1) }))
        .returning(['id', 'owner', 'last_seq', 'updated_at'])
        .executeTakeFirst();
      if (row === undefined) return false;
      if (row.owner !== null && unless?.(row.owner) === true) throw new LeftWithOwner(row.owner);
      await open.set({ owner, status: 'running' }).execute();
      await journalStatus(trx, row, { status: 'running' });
      return true;
    });
    return taken.catch((error: unknown) => {
      if (error instanceof LeftWithOwner) return error.owner;
      throw error;
    });
  }

  override async isHeld(id: string, owner: string): Promise<boolean> {
    const query = this.db.selectFrom('runs').select('id').where('id', '=', keyText(id)).where('owner', '=', owner);
    return (await this.guard.run(() => query.executeTakeFirst())) !== undefined;
  }

  override async release(id: string, owner: string): Promise<void> {
    await this.update(id, { status: 'queued' }, { owner, statuses: ['running'] });
  }

  override append(id: string, type: string, data: RunEvent['data'], by?: string): Promise<RunEvent> {
    return this.journal.append(id, type, data, by);
  }

  override events(...asked: Parameters<RunStore['events']>): Promise<readonly RunEvent[]> {
    return this.journal.events(...asked);
  }

  override async delete(id: string): Promise<void> {
    // Rows that belong to it are deleted by foreign key cascade.
    const row = this.db.deleteFrom('runs').where('id', '=', keyText(id));
    await this.guard.run(() => row.execute());
  }

  /** Rows with their documents. */
  private whole() {
    return this.db.selectFrom('runs').innerJoin('run_documents', 'run_id', 'id').selectAll();
  }

  private write<T>(work: (trx: Transaction<Database>) => Promise<T>): Promise<T> {
    return this.guard.run(() => this.db.transaction().execute(work));
  }
}

/** Rolls back a claim. */
class LeftWithOwner extends Error {
  constructor(readonly owner: string) {
    super('the run is left with its owner');
  }
}

async function saveResult(trx: Transaction<Database>, id: string, result: Run['result']): Promise<void> {
  await trx
    .updateTable('run_documents')
    .set({ result: JSON.stringify(result) })
    .where('run_id', '=', id)
    .execute();
}

const QUEUED = { status: 'queued' } as const;

/** A new run: its row, its request, and the first event of its journal. */
export interface NewRun {
  readonly row: RunsTable;
  readonly documents: RunDocumentsTable;
}

/** @returns false, without writing anything, if a run with this key exists */
export function insertRun(db: Kysely<Database>, dialect: StoreDialect, run: NewRun): Promise<boolean> {
  return dialect.nestsWrites ? insertAtOnce(db, run) : db.transaction().execute((trx) => insertInTurn(trx, run));
}

async function insertInTurn(trx: Transaction<Database>, { row, documents }: NewRun): Promise<boolean> {
  const inserted = await insertRow(trx, row).executeTakeFirst();
  if (inserted === undefined) return false;
  await trx.insertInto('run_documents').values(documents).execute();
  await journalStatus(trx, row, QUEUED);
  return true;
}

/** One statement, so one round trip to the server instead of five. */
async function insertAtOnce(db: Kysely<Database>, { row, documents }: NewRun): Promise<boolean> {
  const inserted = await db
    .with('fresh', (given) => insertRow(given, row))
    .with('asked', (given) =>
      given
        .insertInto('run_documents')
        .columns(['run_id', 'request'])
        .expression((eb) => eb.selectFrom('fresh').select(['fresh.id', castText(documents.request).as('request')])),
    )
    .insertInto('run_events')
    .columns(['run_id', 'seq', 'at', 'type', 'data'])
    .expression((eb) =>
      eb
        .selectFrom('fresh')
        .select((fresh) => [
          fresh.ref('fresh.id').as('run_id'),
          fresh.ref('fresh.last_seq').as('seq'),
          fresh.ref('fresh.updated_at').as('at'),
          castText(STATUS_EVENT).as('type'),
          castText(statusData(QUEUED)).as('data'),
        ]),
    )
    .returning('run_id')
    .executeTakeFirst();
  return inserted !== undefined;
}

function insertRow(db: Pick<Kysely<Database>, 'insertInto'>, row: RunsTable) {
  const insert = db.insertInto('runs').values(row);
  return insert
    .onConflict((conflict) => conflict.column('key').doNothing())
    .returning(['id', 'last_seq', 'updated_at']);
}
