import { resultStoreContract } from '../../contracts/result-store.contract.js';
import { runStoreContract } from '../../contracts/run-store.contract.js';
import { spendingStoreContract } from '../../contracts/spending-store.contract.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { MemorySpendingStore } from '../../fakes/memory-spending-store.js';

runStoreContract('memory', async () => new MemoryRunStore());
spendingStoreContract('memory', async () => ({ runs: new MemoryRunStore(), spendings: new MemorySpendingStore() }));
resultStoreContract('memory', async () => new MemoryResultStore());
