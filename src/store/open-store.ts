import type { OpenStore, StorePlace } from './store.js';

/**
 * Opens the store, and creates or migrates it when needed. The database packages are loaded here, not at import, so that
 * commands without a store do not pay for them.
 * @throws StoreUnavailableError
 */
export async function openStore(place: StorePlace): Promise<OpenStore> {
  if ('file' in place) {
    const { openSqliteStore } = await import('./sqlite.js');
    return openSqliteStore(place.file);
  }
  const { openPostgresStore } = await import('./postgres.js');
  return openPostgresStore(place.postgres);
}
