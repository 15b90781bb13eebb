import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KyselyReportStore } from '../../../src/store/store.js';
import { StoreGuard } from '../../../src/store/statements.js';
import { openDatabase } from '../../../src/store/sqlite.js';
import { auditLogContract } from '../../contracts/audit-log.contract.js';
import { reportStoreContract } from '../../contracts/report-store.contract.js';
import { MemoryAuditLog } from '../../fakes/memory-audit-log.js';
import { MemoryReportStore } from '../../fakes/memory-report-store.js';

const opened: { destroy(): Promise<void> }[] = [];
afterAll(() => Promise.all(opened.map((db) => db.destroy())));

auditLogContract('memory', async () => new MemoryAuditLog());
reportStoreContract('memory', async (now) => new MemoryReportStore(now));
reportStoreContract('SQLite', async (now) => {
  const folder = await mkdtemp(join(tmpdir(), 'bestk-reports-'));
  const db = await openDatabase(join(folder, 'store.sqlite'), 1_000);
  opened.push(db);
  return new KyselyReportStore(db, new StoreGuard({ name: 'SQLite', read: () => null, patienceMs: 0 }), now);
});
