import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import SqliteDriver from 'better-sqlite3';
import { BadInputError } from '../core/errors/errors.js';
import { makeFolder } from './sqlite.js';

/** What a service is of an embedded store: the one that serves it, and the process that works on its runs. */
export type Role = 'serve' | 'work';

const LOOK_EVERY_MS = 100;
/** A reader is gone in a moment; an owner stays. */
const BUSY_MS = 200;
/** For as long as this process lives. */
const held = new Set<SqliteDriver.Database>();

/**
 * Makes this process the one that serves an embedded store, or works on it, until it ends, however it ends: the lock is the
 * system's own, on a file beside the store's.
 * @param who names this process to the one that comes later
 * @param patienceMs how long to wait for another to let go
 * @throws BadInputError that says who has it
 */
export async function ownFile(
  path: string,
  role: Role,
  { who, patienceMs = 0 }: { who: string; patienceMs?: number },
): Promise<void> {
  makeFolder(dirname(path));
  const lock = new SqliteDriver(`${path}.${role}`, { timeout: BUSY_MS });
  for (const late = performance.now() + patienceMs; !take(lock, who); await sleep(LOOK_EVERY_MS, null)) {
    if (performance.now() < late) continue;
    const other = lock.prepare<[], { who: string }>('select who from owner').get()?.who ?? 'another process';
    lock.close();
    const does = role === 'serve' ? 'served' : 'worked on';
    throw new BadInputError(
      `${path} is ${does} by ${other} already.`,
      { field: 'DATABASE_URL' },
      'Stop that process, name another file, or use PostgreSQL, which several services may share.',
    );
  }
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
