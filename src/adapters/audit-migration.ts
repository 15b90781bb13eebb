import type { Kysely } from 'kysely';

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
