import { dirname } from 'node:path';
import type { OpenStore, StorePlace } from './store.js';

/**
 * Opens the store, creating or migrating it if needed. The database packages are loaded here, not at import, so that commands
 * without a store do not load them.
 * @throws StoreUnavailableError
 */
export async function openStore(place: StorePlace): Promise<OpenStore> {
  if ('file' in place) {
    const { makePrivate, openSqliteStore } = await import('./sqlite.js');
    if (place.hasOwnFolder === true) makePrivate(dirname(place.file));
    return openSqliteStore(place.file);
  }
  const { openPostgresStore } = await import('./postgres.js');
  return openPostgresStore(place.postgres);
}
