import type { Kysely, Transaction } from 'kysely';
import { STATUS_EVENT } from '../ports/run-store.js';
import { castText, journalStatus, statusData } from './kysely-run-journal.js';
import type { Database, RunDocumentsTable, RunsTable } from './kysely-schema.js';
import type { StoreDialect } from './store-dialect.js';

const QUEUED = { status: 'queued' } as const;

/** A run as it begins: its row, what was asked, and the first event of its journal. */
export interface NewRun {
  readonly row: RunsTable;
  readonly documents: RunDocumentsTable;
}

/** @returns false, and nothing is written, when there is a run with this key */
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

/** In one statement, for which the server is asked once instead of five times. */
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
