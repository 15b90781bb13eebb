import { type Kysely, type Migration, type MigrationProvider } from 'kysely';
import { addAudit } from './audit-migration.js';
import { addAnswers } from './run-answers-migration.js';
import { moveDocuments } from './run-documents-migration.js';
import { addUnits } from './units-migration.js';

/** In the order they were written; a released migration is never changed. */
const MIGRATIONS: Record<string, Migration> = {
  '0001_runs_and_results': {
    async up(db: Kysely<unknown>) {
      await createRuns(db);
      await createRunEvents(db);
      await createResults(db);
    },
  },
  '0002_run_documents': { up: moveDocuments },
  '0003_reports': { up: createReports },
  '0004_units': { up: addUnits },
  '0005_audit': { up: addAudit },
  '0006_run_answers': { up: addAnswers },
  '0007_submitters': { up: addSubmitters },
};

export const migrations: MigrationProvider = { getMigrations: () => Promise.resolve(MIGRATIONS) };

async function createRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('runs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('key', 'text', (column) => column.notNull().unique())
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .addColumn('failure', 'text')
    .addColumn('owner', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('last_seq', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('runs_by_status').on('runs').column('status').execute();
}

async function createRunEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('run_events')
    .addColumn('run_id', 'text', (column) => column.notNull().references('runs.id').onDelete('cascade'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_events_pk', ['run_id', 'seq'])
    .execute();
}

async function createResults(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('results')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}

async function createReports(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('reports')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('page', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}

async function addSubmitters(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('runs')
    .addColumn('submitter', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
}
