import { setTimeout as sleep } from 'node:timers/promises';
import { StoreGuard } from '../../../src/store/store-guard.js';

const AWAY_MS = 2_050;
const away = new Error('away');

describe('a call to a store that was away', () => {
  it('knows of it when it gets through, however long the pause before was', async () => {
    const guard = new StoreGuard({
      name: 'a store',
      read: (error) => (error === away ? { detail: 'away', passing: true } : null),
      patienceMs: 30_000,
    });
    const start = performance.now();
    const claim = async (): Promise<boolean> => {
      await sleep(1);
      if (performance.now() - start < AWAY_MS) throw away;
      return guard.absence.isRecent;
    };
    expect(await guard.run(claim)).toBe(true);
  });
});
