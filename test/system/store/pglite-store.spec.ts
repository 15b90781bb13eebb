import { auditLogContract } from '../../contracts/audit-log.contract.js';
import { benchmarkStoreContract } from '../../contracts/benchmark-store.contract.js';
import { resultStoreContract } from '../../contracts/result-store.contract.js';
import { retentionContract } from '../../contracts/retention.contract.js';
import { runStoreContract } from '../../contracts/run-store.contract.js';
import { spendingStoreContract } from '../../contracts/spending-store.contract.js';
import { openPglite } from './postgres-stores.js';

const opening = openPglite();

async function open() {
  const { store, empty } = await opening;
  await empty();
  return store;
}

beforeAll(() => opening, 60_000);
afterAll(async () => {
  await (await opening).store.close();
});

runStoreContract('PGlite', async () => (await open()).runs);
resultStoreContract('PGlite', async () => (await open()).results);
spendingStoreContract('PGlite', open);
benchmarkStoreContract('PGlite', open);
auditLogContract('PGlite', async () => (await open()).audit);
retentionContract('PGlite', open);
