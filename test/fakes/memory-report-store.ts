import { type ReportPage, ReportStore, type StoredReport } from '../../src/ports/benchmark-store.js';

/** Reports in memory, as the database keeps them. */
export class MemoryReportStore extends ReportStore {
  private readonly reports: StoredReport[] = [];

  constructor(private readonly now: () => number = Date.now) {
    super();
  }

  override async put(report: Omit<StoredReport, 'created_at'>): Promise<void> {
    if (this.reports.some(({ id }) => id === report.id)) return;
    this.reports.push({ ...report, created_at: new Date(this.now()).toISOString() });
  }

  override async get(id: string): Promise<StoredReport | null> {
    return this.reports.find((report) => report.id === id) ?? null;
  }

  override async list(limit: number, before: string | null): Promise<ReportPage> {
    const newest = this.reports.toSorted((a, b) => (keyOf(a) < keyOf(b) ? 1 : -1));
    const from = before === null ? 0 : newest.findIndex(({ id }) => id === before) + 1;
    const page = newest.slice(from, from + limit);
    const summaries = page.map(({ id, title, created_at }) => ({ id, title, created_at }));
    return { reports: summaries, next: from + limit < newest.length ? (page.at(-1)?.id ?? null) : null };
  }
}

function keyOf({ created_at, id }: StoredReport): string {
  return `${created_at} ${id}`;
}
