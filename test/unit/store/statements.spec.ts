import { retryAfterMs } from '../../../src/core/async/retries.js';
import { StoreUnavailableError } from '../../../src/core/errors/unavailable.js';
import { StoreGuard } from '../../../src/store/statements.js';

const PATIENCE_MS = 1_000;

/** A disk that is full until it is freed: reads work, writes do not. */
function world() {
  const full = new Error('full');
  const read = (error: unknown) => (error === full ? { detail: 'full', passing: true } : null);
  const guard = new StoreGuard({ name: 'store', read, patienceMs: PATIENCE_MS });
  const disk = { isFull: true, writes: 0 };
  const write = () =>
    guard.run(() => {
      disk.writes += 1;
      return disk.isFull ? Promise.reject(full) : Promise.resolve('written');
    });
  return { guard, disk, write };
}

it('lets no call after the first wait another patience, though reads work meanwhile', async () => {
  const { guard, disk, write } = world();
  await expect(write()).rejects.toThrow('full (tried');
  disk.writes = 0;
  for (let call = 0; call < 5; call += 1) {
    await guard.run(() => Promise.resolve('read'));
    await expect(write()).rejects.toBeInstanceOf(StoreUnavailableError);
  }
  expect(disk.writes).toBe(5);
});

it('is patient again after a call that failed and then did', async () => {
  const { disk, write } = world();
  const waiting = write();
  setTimeout(() => (disk.isFull = false), PATIENCE_MS / 2);
  expect(await waiting).toBe('written');
  disk.isFull = true;
  disk.writes = 0;
  await expect(write()).rejects.toThrow('full (tried');
  expect(disk.writes).toBeGreaterThan(1);
});

it('has waited, so that work which could not be kept is not done again', () => {
  expect(retryAfterMs(new StoreUnavailableError('full', { retryable: true }), 1)).toBeNull();
});
