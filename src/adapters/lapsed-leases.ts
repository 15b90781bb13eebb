import { type RawBuilder, sql } from 'kysely';
import type { StoreDialect } from './store-dialect.js';
import type { StoreGuard } from './store-guard.js';

const LONG_OVER_MS = 60_000;

/**
 * Leases that end before this moment are over, and others may take what they were for. Of a store that was away that is
 * none for a while: who holds them could not extend them, and may have an answer in hand that was paid and not stored. What
 * is over for a minute is over all the same, for a store may be away now and then for as long as it is busy.
 */
export function lapsedBefore({ now }: StoreDialect, guard: StoreGuard): RawBuilder<number> {
  return guard.wasAwayLately ? sql<number>`${now()} - ${LONG_OVER_MS}` : now();
}
