import { Wakeup } from '../../../../src/core/async/time.js';

const LONG_MS = 600_000;

describe('Wakeup', () => {
  const { signal } = new AbortController();

  it('wakes all who wait', async () => {
    const wakeup = new Wakeup();
    const both = Promise.all([wakeup.wait(0, LONG_MS, signal), wakeup.wait(0, LONG_MS, signal)]);
    wakeup.ring();
    await both;
  });

  it('lets nobody sleep through what happened since they looked', async () => {
    const wakeup = new Wakeup();
    const before = wakeup.rings;
    wakeup.ring();
    await wakeup.wait(before, LONG_MS, signal);
    const again = wakeup.wait(wakeup.rings, LONG_MS, signal);
    wakeup.ring();
    await again;
  });

  it('ends with its time, and with its signal', async () => {
    const wakeup = new Wakeup();
    await wakeup.wait(0, 1, signal);
    const left = new AbortController();
    const waiting = wakeup.wait(0, LONG_MS, left.signal);
    left.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');
    await expect(wakeup.wait(0, LONG_MS, left.signal)).rejects.toThrow('left');
  });
});
