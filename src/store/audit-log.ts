import type { Kysely } from 'kysely';
import { RunIdSource } from '../core/identifier.js';
import { type AuditEntry, AuditLog, type AuditPage, type AuditRecord } from '../ports/audit-log.js';
import type { AuditTable, Database } from './schema.js';
import { keyText } from './run-rows.js';
import type { StoreGuard } from './store-guard.js';

/** SQLite takes some 30,000 parameters in a statement. */
const ROWS_AT_ONCE = 1_000;

/** Who did what, as rows, in any database Kysely speaks to. */
export class KyselyAuditLog extends AuditLog {
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
      // A write that was tried again, of which the first try was heard after all.
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
