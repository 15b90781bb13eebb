import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import SqliteDriver from 'better-sqlite3';
import { Kysely, Migrator, type SqliteDatabase, SqliteDialect, type SqliteStatement } from 'kysely';
import { StoreUnavailableError } from '../core/errors/unavailable.js';
import { type Database, SQLITE } from './schema.js';
import { migrations, refuseOtherBuilds } from './migrations.js';
import { type StoreFailure, StoreGuard } from './statements.js';
import { kyselyStore, type OpenStore } from './store.js';
import { BadInputError } from '../core/errors/errors.js';

const BUSY_TIMEOUT_MS = 5_000;
/** How long work waits for room on the disk. */
const PATIENCE_MS = 60_000;
/** A full disk passes; the driver has waited for locks already, and what else fails on a file stays so. */
const PASSING = /^SQLITE_(FULL|IOERR)/;
/** The driver may end a transaction by itself when the disk is full; the roll-back that follows then hides why. */
const ROLLED_BACK = 'cannot rollback - no transaction is active';

/**
 * The embedded store: one SQLite file that several processes may share. Makes its directory.
 * @param busyTimeoutMs how long a call may wait for another process's write
 * @param patienceMs how long it may wait for room on the disk
 * @throws StoreUnavailableError naming `path` when it cannot be opened, is locked, or holds something else
 */
export async function openSqliteStore(
  path: string,
  busyTimeoutMs = BUSY_TIMEOUT_MS,
  patienceMs = PATIENCE_MS,
): Promise<OpenStore> {
  const db = await openDatabase(path, busyTimeoutMs).catch((error: unknown) => {
    throw new StoreUnavailableError(`${path}: ${failureOf(error).detail}`, { cause: error });
  });
  const read = (error: unknown): StoreFailure | null => (isDriverError(error) ? failureOf(error) : null);
  const guard = new StoreGuard({ name: path, read, patienceMs });
  return kyselyStore(db, { name: path, guard, dialect: SQLITE });
}

function failureOf(error: unknown): StoreFailure {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: string };
  if (message === ROLLED_BACK) return { detail: 'a transaction was ended, as by a full disk', passing: true };
  return { detail: message ?? String(error), passing: PASSING.test(String(code)) };
}

/** A statement that takes a list is another one at each length. */
const MOST_PREPARED = 200;

/** Opens, and creates or migrates when needed, one SQLite file. Everything that is SQLite's own is here. */
export async function openDatabase(path: string, busyTimeoutMs: number): Promise<Kysely<Database>> {
  makeFolder(dirname(path));
  const driver = new SqliteDriver(path, { timeout: busyTimeoutMs });
  try {
    // Write-ahead log: readers and one writer of other processes at the same time. With NORMAL a killed process
    // loses nothing; a power cut may lose the last commits, which are computed again.
    driver.pragma('journal_mode = WAL');
    driver.pragma('synchronous = NORMAL');
    driver.pragma('foreign_keys = ON');
    const db = new Kysely<Database>({ dialect: new SqliteDialect({ database: preparedOnce(driver) }) });
    await refuseOtherBuilds(db, path);
    await migrate(db, driver);
    return db;
  } catch (error) {
    driver.close();
    throw error;
  }
}

/** Whether the driver refused, as opposed to a mistake of ours. By its code: its class may be loaded more than once. */
export function isDriverError(error: unknown): boolean {
  return String((error as { code?: unknown } | null)?.code).startsWith('SQLITE_');
}

/** Kysely prepares every statement anew, which costs more than to run most of them. */
function preparedOnce(driver: SqliteDriver.Database): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    prepare: (sql) => {
      const statement = prepared.get(sql) ?? driver.prepare(sql);
      // The one used last stands last.
      prepared.delete(sql);
      prepared.set(sql, statement);
      const [oldest] = prepared.keys();
      if (prepared.size > MOST_PREPARED && oldest !== undefined) prepared.delete(oldest);
      return statement;
    },
    close: () => {
      driver.close();
    },
  };
}

/** Under the write lock: Kysely takes none on SQLite, and two processes may open a new file at the same time. */
async function migrate(db: Kysely<Database>, driver: SqliteDriver.Database): Promise<void> {
  driver.exec('BEGIN IMMEDIATE');
  try {
    const migrator = new Migrator({ db, provider: migrations, disableTransactions: true });
    const { error } = await migrator.migrateToLatest();
    if (error !== undefined) throw error instanceof Error ? error : new Error('the migration failed', { cause: error });
    driver.exec('COMMIT');
  } catch (error) {
    if (driver.inTransaction) driver.exec('ROLLBACK');
    throw error;
  }
}

/** Node's own recursive mkdir never returns where the system takes no folders, as below /proc. */
export function makeFolder(path: string): void {
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // It may be there before us, or another process may have made it in this moment.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** A reader is gone in a moment; an owner stays. */
const BUSY_MS = 200;
/** For as long as this process lives. */
const held = new Set<SqliteDriver.Database>();

/**
 * Makes this process the one that serves an embedded store until it ends, however it ends: the lock is the system's own, on a
 * file beside the store's.
 * @param who names this process to the one that comes later
 * @throws BadInputError that says who has it
 */
export function ownFile(path: string, who: string): void {
  makeFolder(dirname(path));
  const lock = new SqliteDriver(`${path}.serve`, { timeout: BUSY_MS });
  if (take(lock, who)) return;
  const other = lock.prepare<[], { who: string }>('select who from owner').get()?.who ?? 'another process';
  lock.close();
  throw new BadInputError(
    `${path} is served by ${other} already.`,
    { field: 'DATABASE_URL' },
    'Stop that process, name another file, or use PostgreSQL, which several services may share.',
  );
}

/** Others can read who has the lock while it is held: what was written before is committed. */
function take(lock: SqliteDriver.Database, who: string): boolean {
  try {
    lock.exec('begin immediate; create table if not exists owner (who text); delete from owner');
    lock.prepare('insert into owner values (?)').run(who);
    lock.exec('commit; begin immediate');
    held.add(lock);
    return true;
  } catch (error) {
    if (lock.inTransaction) lock.exec('rollback');
    if (String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}
