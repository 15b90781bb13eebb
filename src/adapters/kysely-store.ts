import type { Kysely } from 'kysely';
import { KyselyAuditLog } from './kysely-audit-log.js';
import { KyselyReportStore } from './kysely-report-store.js';
import { KyselyResultStore } from './kysely-result-store.js';
import { KyselyRetention } from './kysely-retention.js';
import { KyselyRunStore } from './kysely-run-store.js';
import { KyselyUnitStore } from './kysely-unit-store.js';
import type { Database } from './kysely-schema.js';
import type { OpenStore } from './store.js';
import type { StoreDialect } from './store-dialect.js';
import type { StoreGuard } from './store-guard.js';

/** The store on a database that is open and migrated. */
export function kyselyStore(
  db: Kysely<Database>,
  { name, guard, dialect }: { readonly name: string; readonly guard: StoreGuard; readonly dialect: StoreDialect },
): OpenStore {
  return {
    name,
    runs: new KyselyRunStore(db, guard, dialect),
    results: new KyselyResultStore(db, guard),
    reports: new KyselyReportStore(db, guard),
    audit: new KyselyAuditLog(db, guard),
    units: new KyselyUnitStore(db, guard, dialect),
    retention: new KyselyRetention(db, guard),
    async close() {
      guard.close();
      await db.destroy();
    },
  };
}
