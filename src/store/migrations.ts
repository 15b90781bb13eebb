import type { Kysely, Migration, MigrationProvider } from 'kysely';
import { StoreUnavailableError } from '../core/errors/unavailable.js';

/** By order of name. Each one only adds, so that stores of earlier builds can be opened; those of later builds are refused. */
const MIGRATIONS: Record<string, Migration> = {
  '0001_with_labels': {
    async up(db: Kysely<unknown>) {
      await createRuns(db);
      await createPartsOfRuns(db);
      await createResults(db);
      await createBenchmarks(db);
      await createRecords(db);
    },
  },
  '0002_parts_begun': {
    async up(db: Kysely<unknown>) {
      const table = db.schema.alterTable('spendings');
      await table.addColumn('begun', 'integer', (column) => column.notNull().defaultTo(0)).execute();
    },
  },
  '0003_setup_of_benchmarks': {
    async up(db: Kysely<unknown>) {
      const table = db.schema.alterTable('benchmarks');
      await table.addColumn('setup', 'text', (column) => column.notNull().defaultTo('')).execute();
    },
  },
};

export const migrations: MigrationProvider = { getMigrations: () => Promise.resolve(MIGRATIONS) };

/**
 * Refuses a store whose tables this build does not know before changing anything in it.
 * @throws StoreUnavailableError
 */
export async function refuseOtherBuilds<DB>(db: Kysely<DB>, name: string): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === LEDGER)) return;
  const made = await (db as unknown as Kysely<{ [LEDGER]: { name: string } }>)
    .selectFrom(LEDGER)
    .select('name')
    .execute();
  const unknown = made.map((row) => row.name).find((each) => !Object.hasOwn(MIGRATIONS, each));
  if (unknown === undefined) return;
  throw new StoreUnavailableError(
    `${name} was made by another build of bestk (its tables are at "${unknown}"). Keep it for that build: name another file or database, or move this one away.`,
    { retryable: false },
  );
}

const LEDGER = 'kysely_migration';

async function createRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('runs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('key', 'text', (column) => column.notNull().unique())
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('failure', 'text')
    .addColumn('owner', 'text')
    .addColumn('last_seq', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('submitter', 'text', (column) => column.notNull())
    .addColumn('setup', 'text', (column) => column.notNull())
    .addColumn('alone', 'integer', (column) => column.notNull())
    .addColumn('name', 'text')
    .addColumn('tags', 'text', (column) => column.notNull())
    .addColumn('benchmark', 'text')
    .addColumn('arm', 'text')
    .addColumn('instance_id', 'text')
    .addColumn('k', 'integer')
    .addColumn('preset', 'text')
    .addColumn('candidate_id', 'text')
    .addColumn('basis', 'text')
    .addColumn('deciding_stage', 'text')
    .addColumn('confidence', 'double precision')
    .addColumn('tokens', 'bigint')
    .addColumn('cost_usd', 'double precision')
    .addColumn('seconds', 'double precision')
    .addColumn('answer', 'text')
    .execute();
  await db.schema.createIndex('runs_by_status').on('runs').column('status').execute();
  await db.schema.createIndex('runs_by_instance').on('runs').column('instance_id').execute();
  await db.schema.createIndex('runs_by_benchmark').on('runs').columns(['benchmark', 'id']).execute();
}

async function createPartsOfRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('run_documents')
    .addColumn('run_id', 'text', (column) => column.primaryKey().references('runs.id').onDelete('cascade'))
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .execute();
  await db.schema
    .createTable('run_events')
    .addColumn('run_id', 'text', (column) => column.notNull().references('runs.id').onDelete('cascade'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('run_events_pk', ['run_id', 'seq'])
    .execute();
  await db.schema.createIndex('run_events_by_type').on('run_events').columns(['run_id', 'type']).execute();
  await db.schema
    .createTable('spendings')
    .addColumn('run_id', 'text', (column) => column.notNull().references('runs.id').onDelete('cascade'))
    .addColumn('part', 'text', (column) => column.notNull())
    .addColumn('tokens', 'bigint', (column) => column.notNull())
    .addColumn('usd', 'double precision', (column) => column.notNull())
    .addColumn('taken_tokens', 'bigint', (column) => column.notNull())
    .addColumn('taken_usd', 'double precision', (column) => column.notNull())
    .addPrimaryKeyConstraint('spendings_pk', ['run_id', 'part'])
    .execute();
}

async function createResults(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('results')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('value', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('used_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('results_by_use').on('results').column('used_at').execute();
}

async function createBenchmarks(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('benchmarks')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('key', 'text', (column) => column.notNull().unique())
    .addColumn('request_hash', 'text', (column) => column.notNull())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('note', 'text')
    .addColumn('submitter', 'text', (column) => column.notNull())
    .addColumn('plan', 'text', (column) => column.notNull())
    .addColumn('sealed', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('grades')
    .addColumn('run_id', 'text', (column) => column.primaryKey().references('runs.id').onDelete('cascade'))
    .addColumn('selected_right', 'integer')
    .addColumn('graded', 'integer', (column) => column.notNull())
    .addColumn('right_candidates', 'integer', (column) => column.notNull())
    .addColumn('ungraded', 'integer', (column) => column.notNull())
    .addColumn('best', 'text')
    .addColumn('document', 'text', (column) => column.notNull())
    .execute();
}

/** Reports and the audit log. Rows of `audit` are inserted and eventually deleted, never changed; they outlive their runs. */
async function createRecords(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('reports')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('title', 'text', (column) => column.notNull())
    .addColumn('document', 'text', (column) => column.notNull())
    .addColumn('page', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('reports_by_time').on('reports').column('created_at').execute();
  await db.schema
    .createTable('audit')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('actor', 'text')
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text')
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('times', 'integer', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('audit_by_run').on('audit').columns(['run_id', 'id']).execute();
  await db.schema.createIndex('audit_by_time').on('audit').column('at').execute();
}
