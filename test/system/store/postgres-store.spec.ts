import { startCluster, type Cluster } from '../../../scripts/setup/postgres.mjs';
import { openPostgresStore } from '../../../src/store/postgres.js';
import type { OpenStore } from '../../../src/store/store.js';
import { auditLogContract } from '../../contracts/audit-log.contract.js';
import { benchmarkStoreContract } from '../../contracts/benchmark-store.contract.js';
import { resultStoreContract } from '../../contracts/result-store.contract.js';
import { retentionContract } from '../../contracts/retention.contract.js';
import { runStoreContract } from '../../contracts/run-store.contract.js';
import { spendingStoreContract } from '../../contracts/spending-store.contract.js';
import { EMPTY } from './postgres-stores.js';

let cluster: Cluster;
let store: OpenStore;

beforeAll(async () => {
  cluster = await startCluster();
  store = await openPostgresStore(cluster.url);
});
afterAll(async () => {
  await store.close();
  await cluster.destroy();
});

async function open(): Promise<OpenStore> {
  await cluster.sql(EMPTY);
  return store;
}

runStoreContract('PostgreSQL', async () => (await open()).runs);
resultStoreContract('PostgreSQL', async () => (await open()).results);
spendingStoreContract('PostgreSQL', open);
benchmarkStoreContract('PostgreSQL', open);
retentionContract('PostgreSQL', open);
auditLogContract('PostgreSQL', async () => (await open()).audit);
