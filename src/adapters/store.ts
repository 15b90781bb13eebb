import type { AuditLog } from '../ports/audit-log.js';
import type { ReportStore } from '../ports/report-store.js';
import type { Retention } from '../ports/retention.js';
import type { ResultStore } from '../ports/result-store.js';
import type { RunStore } from '../ports/run-store.js';
import type { UnitStore } from '../ports/unit-store.js';

export interface OpenStore {
  /** The file, or the server and database; never a password. */
  readonly name: string;
  readonly runs: RunStore;
  readonly results: ResultStore;
  readonly reports: ReportStore;
  readonly audit: AuditLog;
  readonly units: UnitStore;
  readonly retention: Retention;
  /** Every later call is refused with StoreUnavailableError. */
  close(): Promise<void>;
}

/** Where the store is: a SQLite file, or a PostgreSQL that several machines share. */
export type StorePlace = { readonly file: string } | { readonly postgres: string };
