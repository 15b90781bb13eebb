import { StoreUnavailableError } from '../core/unavailable.js';
import { kyselyStore } from './kysely-store.js';
import { isDriverError, openDatabase } from './sqlite-database.js';
import { SQLITE } from './store-dialect.js';
import type { OpenStore } from './store.js';
import { type StoreFailure, StoreGuard } from './store-guard.js';

const BUSY_TIMEOUT_MS = 5_000;
/** How long work waits for room on the disk. */
const PATIENCE_MS = 60_000;
/** A full disk passes; the driver has waited for locks already, and what else fails on a file stays so. */
const PASSING = /^SQLITE_(FULL|IOERR)/;

/**
 * The embedded store: one SQLite file that several processes may share. Makes its directory.
 * @param busyTimeoutMs how long a call may wait for another process's write
 * @throws StoreUnavailableError naming `path` when it cannot be opened, is locked, or holds something else
 */
export async function openSqliteStore(path: string, busyTimeoutMs = BUSY_TIMEOUT_MS): Promise<OpenStore> {
  const db = await openDatabase(path, busyTimeoutMs).catch((error: unknown) => {
    throw new StoreUnavailableError(`${path}: ${failureOf(error).detail}`, { cause: error });
  });
  const read = (error: unknown): StoreFailure | null => (isDriverError(error) ? failureOf(error) : null);
  const guard = new StoreGuard({ name: path, read, patienceMs: PATIENCE_MS });
  return kyselyStore(db, { name: path, guard, dialect: SQLITE });
}

function failureOf(error: unknown): StoreFailure {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string };
  return { detail: message ?? String(error), passing: PASSING.test(String(code)) };
}
