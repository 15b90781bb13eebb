import { type Kysely, type Migration, type MigrationProvider, sql } from 'kysely';
import { briefOfRequest, briefOfResult } from '../core/run/run-result.js';
import { answerOf } from './run-rows.js';

/** Who did what. Its rows are added and forgotten, never changed; they outlive the runs that they name. */
export async function addAudit(db: Kysely<unknown>): Promise<void> {
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
  await db.schema.createIndex('reports_by_time').on('reports').column('created_at').execute();
}

interface Filling {
  runs: { id: string; answer: string | null };
  run_documents: { run_id: string; result: string | null };
}

/**
 * What a look at a run says of its result stands beside it, and its events are counted in an index. One run at a time: all
 * of them may not fit into memory.
 */
export async function addAnswers(untyped: Kysely<unknown>): Promise<void> {
  const db = untyped as Kysely<Filling>;
  await db.schema.alterTable('runs').addColumn('answer', 'text').execute();
  await db.schema.createIndex('run_events_by_type').on('run_events').columns(['run_id', 'type']).execute();
  for (const { run_id } of await db.selectFrom('run_documents').select('run_id').execute()) {
    const query = db.selectFrom('run_documents').select('result').where('run_id', '=', run_id);
    const { result } = await query.executeTakeFirstOrThrow();
    if (result === null) continue;
    const answer = answerOf(JSON.parse(result));
    await db.updateTable('runs').set({ answer }).where('id', '=', run_id).execute();
  }
}

const BRIEF_COLUMNS = {
  instance_id: 'text',
  k: 'integer',
  preset: 'text',
  candidate_id: 'text',
  basis: 'text',
  deciding_stage: 'text',
  confidence: 'double precision',
  cost_usd: 'double precision',
} as const;

/** The tables as they are in the middle of the move. */
interface Moving {
  runs: Record<keyof typeof BRIEF_COLUMNS, string | number | null> & {
    id: string;
    request: string;
    result: string | null;
  };
  run_documents: { run_id: string; request: string; result: string | null };
}

/** Requests and results move to a table of their own; what lists say of them takes their place. */
export async function moveDocuments(untyped: Kysely<unknown>): Promise<void> {
  const db = untyped as Kysely<Moving>;
  await db.schema
    .createTable('run_documents')
    .addColumn('run_id', 'text', (column) => column.primaryKey().references('runs.id').onDelete('cascade'))
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('result', 'text')
    .execute();
  for (const [name, type] of Object.entries(BRIEF_COLUMNS)) {
    await db.schema.alterTable('runs').addColumn(name, type).execute();
  }
  await db
    .insertInto('run_documents')
    .columns(['run_id', 'request', 'result'])
    .expression((eb) => eb.selectFrom('runs').select(['id', 'request', 'result']))
    .execute();
  for (const { id } of await db.selectFrom('runs').select('id').execute()) await describe(db, id);
  for (const name of ['request', 'result']) await db.schema.alterTable('runs').dropColumn(name).execute();
  await db.schema.createIndex('runs_by_instance').on('runs').column('instance_id').execute();
}

/** One run at a time: all of them together may not fit into memory. */
async function describe(db: Kysely<Moving>, id: string): Promise<void> {
  const query = db.selectFrom('run_documents').selectAll().where('run_id', '=', id);
  const { request, result } = await query.executeTakeFirstOrThrow();
  const brief = {
    ...briefOfRequest(JSON.parse(request)),
    ...briefOfResult(result === null ? null : JSON.parse(result)),
  };
  await db.updateTable('runs').set(brief).where('id', '=', id).execute();
}

/** Units of work, and when a result was last of use. */
export async function addUnits(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('runs')
    .addColumn('served_at', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .alterTable('results')
    .addColumn('used_at', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`update results set used_at = created_at`.execute(db);
  await db.schema.createIndex('results_by_use').on('results').column('used_at').execute();
  await createUnits(db);
}

async function createUnits(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('units')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('run_id', 'text', (column) => column.notNull().references('runs.id').onDelete('cascade'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('setup', 'text', (column) => column.notNull())
    .addColumn('payload', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('not_before', 'bigint', (column) => column.notNull())
    .addColumn('owner', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('outcome', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .execute();
  await db.schema.createIndex('units_by_run').on('units').column('run_id').execute();
  await db.schema.createIndex('units_by_state').on('units').columns(['state', 'setup']).execute();
}

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
