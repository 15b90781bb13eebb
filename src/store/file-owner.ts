import { dirname } from 'node:path';
import SqliteDriver from 'better-sqlite3';
import { BadInputError } from '../core/errors/errors.js';
import { makeFolder } from './sqlite.js';

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
