import type { Kysely } from 'kysely';
import { RunIdSource } from '../core/identifier.js';
import { type AuditEntry, AuditLog, type AuditPage, type AuditRecord } from '../ports/audit-log.js';
import {
  type BenchmarkStore,
  type ReportPage,
  ReportStore,
  type ReportSummary,
  type StoredReport,
} from '../ports/benchmark-store.js';
import type { ResultStore, SpendingStore } from '../ports/result-store.js';
import type { Retention, RunStore } from '../ports/run-store.js';
import { KyselyBenchmarkStore } from './benchmarks.js';
import { keyText, type StoreGuard } from './statements.js';
import type { AuditTable, Database, ReportsTable, StoreDialect } from './schema.js';
import { KyselyResultStore, KyselyRetention, KyselySpendingStore } from './results.js';
import { KyselyRunStore } from './runs.js';

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
  /** Makes every later call fail with StoreUnavailableError. */
  close(): Promise<void>;
}

/** Location of the store: a SQLite file, or a PostgreSQL database shared by several machines. */
export type StorePlace =
  /** `hasOwnFolder`: the folder is bestk's, and nothing else is in it. */
  { readonly file: string; readonly hasOwnFolder?: true } | { readonly postgres: string };

/** The store on an open and migrated database. */
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

/** SQLite accepts about 30,000 parameters per statement. */
const ROWS_AT_ONCE = 1_000;

/** The audit log as rows, in any database supported by Kysely. */
class KyselyAuditLog extends AuditLog {
  private readonly ids = new RunIdSource('audit_');

  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
  ) {
    super();
  }

  override async append(entries: readonly AuditEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const at = Date.now();
    const rows = entries.map((entry) => ({ ...storable(entry), id: this.ids.next(at), at }));
    for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
      const insert = this.db.insertInto('audit').values(rows.slice(from, from + ROWS_AT_ONCE));
      // Makes a retried write idempotent, in case its first attempt was committed.
      const once = insert.onConflict((conflict) => conflict.column('id').doNothing());
      await this.guard.run(() => once.execute());
    }
  }

  override async list(limit: number, before: string | null, runId?: string): Promise<AuditPage> {
    let query = this.db.selectFrom('audit').selectAll();
    if (before !== null) query = query.where('id', '<', keyText(before));
    if (runId !== undefined) query = query.where('run_id', '=', keyText(runId));
    const newest = query.orderBy('id', 'desc').limit(limit + 1);
    const rows = await this.guard.run(() => newest.execute());
    const page = rows.slice(0, limit);
    return { entries: page.map(recordOf), next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
  }
}

function storable({ action, actor, address, run_id, outcome, times }: AuditEntry): Omit<AuditTable, 'id' | 'at'> {
  const text = (value: string | null): string | null => (value === null ? null : keyText(value));
  return { action: keyText(action), actor: text(actor), address, run_id: text(run_id), outcome, times };
}

function recordOf({ at, ...row }: AuditTable): AuditRecord {
  return { ...row, at: new Date(at).toISOString() };
}

/** Reports as rows, in any database supported by Kysely. */
export class KyselyReportStore extends ReportStore {
  constructor(
    private readonly db: Kysely<Database>,
    private readonly guard: StoreGuard,
    private readonly now: () => number = Date.now,
  ) {
    super();
  }

  override async put({ id, title, document, page }: Omit<StoredReport, 'created_at'>): Promise<void> {
    const row = { id, title, document, page, created_at: this.now() };
    await this.guard.run(() =>
      this.db
        .insertInto('reports')
        .values(row)
        .onConflict((conflict) => conflict.column('id').doNothing())
        .execute(),
    );
  }

  override async get(id: string): Promise<StoredReport | null> {
    const row = await this.guard.run(() =>
      this.db.selectFrom('reports').selectAll().where('id', '=', keyText(id)).executeTakeFirst(),
    );
    return row === undefined ? null : { ...summaryOf(row), document: row.document, page: row.page };
  }

  override async list(limit: number, cursor: string | null): Promise<ReportPage> {
    const before = cursor === null ? null : keyText(cursor);
    const rows = await this.guard.run(async () => {
      let query = this.db.selectFrom('reports').select(['id', 'title', 'created_at']);
      if (before !== null) {
        const last = await this.db
          .selectFrom('reports')
          .select('created_at')
          .where('id', '=', before)
          .executeTakeFirst();
        const at = last?.created_at ?? 0;
        query = query.where((eb) =>
          eb.or([eb('created_at', '<', at), eb.and([eb('created_at', '=', at), eb('id', '<', before)])]),
        );
      }
      return query
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .limit(limit + 1)
        .execute();
    });
    const page = rows.slice(0, limit);
    return { reports: page.map(summaryOf), next: rows.length > limit ? (page.at(-1)?.id ?? null) : null };
  }
}

function summaryOf({ id, title, created_at }: Pick<ReportsTable, 'id' | 'title' | 'created_at'>): ReportSummary {
  return { id, title, created_at: new Date(created_at).toISOString() };
}
