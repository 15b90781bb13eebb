import { type Kysely } from 'kysely';
import { type ReportPage, ReportStore, type ReportSummary, type StoredReport } from '../ports/report-store.js';
import type { Database, ReportsTable } from './schema.js';
import { keyText } from './run-rows.js';
import type { StoreGuard } from './store-guard.js';

/** Reports as rows, in any database Kysely speaks to. */
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
