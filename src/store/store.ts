import type { Kysely } from 'kysely';
import type { AuditLog } from '../ports/audit-log.js';
import type { BenchmarkStore } from '../ports/benchmark-store.js';
import type { ReportStore } from '../ports/report-store.js';
import type { ResultStore } from '../ports/result-store.js';
import type { Retention } from '../ports/retention.js';
import type { RunStore } from '../ports/run-store.js';
import type { SpendingStore } from '../ports/spending-store.js';
import { KyselyAuditLog } from './audit-log.js';
import { KyselyBenchmarkStore } from './benchmarks.js';
import type { StoreDialect } from './dialect.js';
import { KyselyReportStore } from './reports.js';
import { KyselyResultStore, KyselyRetention } from './results.js';
import { KyselyRunStore } from './runs.js';
import type { Database } from './schema.js';
import type { StoreGuard } from './store-guard.js';
import { KyselySpendingStore } from './spendings.js';

export interface OpenStore {
  /** The file, or the server and database; never a password. */
  readonly name: string;
  readonly runs: RunStore;
  readonly results: ResultStore;
  readonly reports: ReportStore;
  readonly benchmarks: BenchmarkStore;
  readonly audit: AuditLog;
  readonly spendings: SpendingStore;
  readonly retention: Retention;
  /** Every later call is refused with StoreUnavailableError. */
  close(): Promise<void>;
}

/** Where the store is: a SQLite file, or a PostgreSQL that several machines share. */
export type StorePlace = { readonly file: string } | { readonly postgres: string };

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
    benchmarks: new KyselyBenchmarkStore(db, guard, dialect),
    audit: new KyselyAuditLog(db, guard),
    spendings: new KyselySpendingStore(db, guard),
    retention: new KyselyRetention(db, guard),
    async close() {
      guard.close();
      await db.destroy();
    },
  };
}
