import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Database } from './schema.js';
import type { StoreDialect } from './dialect.js';
import type { StoreGuard } from './store-guard.js';

/**
 * Leases that end before this moment are over, and others may take what they were for: none for a while when nobody could
 * extend them.
 */
export function lapsedBefore({ now }: StoreDialect, { absence }: StoreGuard): RawBuilder<number> {
  return absence.isRecent ? sql<number>`0` : now();
}

/** Looks at the store's clock before leases are compared with it. */
export async function noteClock(
  db: Pick<Kysely<Database>, 'selectNoFrom'>,
  { now }: StoreDialect,
  { absence }: StoreGuard,
): Promise<void> {
  const askedAt = performance.now();
  const told = await db.selectNoFrom(now().as('now')).executeTakeFirstOrThrow();
  absence.noteClock(told.now, askedAt);
}
