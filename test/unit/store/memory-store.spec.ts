import { resultStoreContract } from '../../contracts/result-store.contract.js';
import { runStoreContract } from '../../contracts/run-store.contract.js';
import { MemoryResultStore } from '../../fakes/memory-result-store.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';

runStoreContract('memory', async () => new MemoryRunStore());
resultStoreContract('memory', async () => new MemoryResultStore());
