import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
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
/** How long an operation waits for disk space. */
const PATIENCE_MS = 60_000;
/**
 * A full disk is transient. Locks are not retried, since the driver has already waited for them; other file errors persist.
 */
const PASSING = /^SQLITE_(FULL|IOERR)/;
/** On a full disk the driver may end a transaction itself; the failing rollback that follows then hides the cause. */
const ROLLED_BACK = 'cannot rollback - no transaction is active';

/**
 * The embedded store: one SQLite file that several processes may share. Creates its directory.
 * @param busyTimeoutMs how long a call may wait for another process's write
 * @param patienceMs how long it may wait for disk space
 * @throws StoreUnavailableError naming `path` if it cannot be opened, is locked, or holds something else
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

/** Bounds the cache, since a statement with a list differs for each length of the list. */
const MOST_PREPARED = 200;

/** Opens one SQLite file, creating or migrating it if needed. All SQLite-specific settings are here. */
export async function openDatabase(path: string, busyTimeoutMs: number): Promise<Kysely<Database>> {
  createPrivateFile(path);
  const driver = new SqliteDriver(path, { timeout: busyTimeoutMs });
  try {
    // Write-ahead log: other processes can read while one writes. With NORMAL, a killed process loses nothing; a power
    // failure may lose the last commits, which are computed again.
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

/**
 * Whether the error comes from the driver, not from a defect in bestk. By its code, as its class may be loaded more than
 * once.
 */
export function isDriverError(error: unknown): boolean {
  return String((error as { code?: unknown } | null)?.code).startsWith('SQLITE_');
}

/** Caches prepared statements: Kysely prepares each one anew, which costs more than running most of them. */
function preparedOnce(driver: SqliteDriver.Database): SqliteDatabase {
  const prepared = new Map<string, SqliteStatement>();
  return {
    prepare: (sql) => {
      const statement = prepared.get(sql) ?? driver.prepare(sql);
      // Least recently used first.
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

/** Files that SQLite keeps next to a database; it creates them with the mode of the database. */
const WITH_DATABASE = ['', '-wal', '-shm', '-journal'];

/**
 * Creates the database file, and missing folders, for this user alone: a store holds issues, patches and hidden tests. Files
 * that earlier versions created for everyone become private, too.
 */
function createPrivateFile(path: string): void {
  if (path === ':memory:') return;
  makeFolder(dirname(path));
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch {
    // SQLite reports the same problem, in its own words.
    return;
  }
  for (const suffix of WITH_DATABASE) makePrivate(`${path}${suffix}`);
}

/** Takes all permissions from other users, if the file or folder exists and belongs to this user. */
export function makePrivate(path: string): void {
  const info = statSync(path, { throwIfNoEntry: false });
  if (info === undefined || info.uid !== process.getuid?.() || (info.mode & 0o077) === 0) return;
  chmodSync(path, info.mode & 0o700);
}

/**
 * Folders are created for this user alone. Replaces Node's recursive mkdir, which never returns where folders cannot be created,
 * e.g. below /proc.
 */
export function makeFolder(path: string): void {
  if (!existsSync(dirname(path))) makeFolder(dirname(path));
  try {
    mkdirSync(path, 0o700);
  } catch (error) {
    // It may exist already, or another process may have just created it.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}

/** A reader holds the lock only for a moment; an owner keeps it. */
const BUSY_MS = 200;
/** Keeps locks for the lifetime of this process. */
const held = new Set<SqliteDriver.Database>();

/**
 * Makes this process the only one that serves an embedded store until it exits, even by a crash: the operating system holds
 * the lock, on a file next to the store's.
 * @param who identifies this process to later ones
 * @throws BadInputError naming the owner
 */
export function ownFile(path: string, who: string): void {
  createPrivateFile(`${path}.serve`);
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

/** Commits the owner's name before taking the lock again, so that others can read it while the lock is held. */
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
