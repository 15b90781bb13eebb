import { RunIdSource } from '../../src/core/identifier.js';
import { type AuditEntry, AuditLog, type AuditPage, type AuditRecord } from '../../src/ports/audit-log.js';

/** Who did what, in memory, as the database keeps it. */
export class MemoryAuditLog extends AuditLog {
  private readonly records: AuditRecord[] = [];
  private readonly ids = new RunIdSource('audit_');

  override async append(entries: readonly AuditEntry[]): Promise<void> {
    const now = Date.now();
    for (const entry of entries) {
      this.records.unshift({ ...entry, id: this.ids.next(now), at: new Date(now).toISOString() });
    }
  }

  override async list(limit: number, before: string | null, runId?: string): Promise<AuditPage> {
    const listed = this.records.filter(
      ({ id, run_id }) => (before === null || id < before) && (runId === undefined || run_id === runId),
    );
    const entries = listed.slice(0, limit);
    return { entries, next: listed.length > limit ? (entries.at(-1)?.id ?? null) : null };
  }
}
