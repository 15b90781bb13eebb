import { ExclusiveTurns } from '../../../../src/core/async/concurrency.js';

const signal = new AbortController().signal;
const underWay = (): Promise<void> => new Promise(setImmediate);

describe('exclusive turns', () => {
  it('lets shared work overlap, and work alone only after it and before what comes later', async () => {
    const turns = new ExclusiveTurns();
    const events: string[] = [];
    const work = (name: string) => async (): Promise<void> => {
      events.push(`${name} begins`);
      await underWay();
      events.push(`${name} ends`);
    };
    const first = [turns.shared(work('a'), signal), turns.shared(work('b'), signal)];
    await underWay();
    const later = [turns.alone(work('alone'), signal), turns.shared(work('c'), signal)];
    await Promise.all([...first, ...later]);
    expect(events).toEqual([
      ...['a begins', 'b begins', 'a ends', 'b ends'],
      ...['alone begins', 'alone ends', 'c begins', 'c ends'],
    ]);
  });

  it('goes on after work that failed', async () => {
    const turns = new ExclusiveTurns();
    const fail = (): Promise<never> => Promise.reject(new Error('lost'));
    await expect(turns.alone(fail, signal)).rejects.toThrow('lost');
    await expect(turns.shared(fail, signal)).rejects.toThrow('lost');
    expect(await turns.alone(() => Promise.resolve(1), signal)).toBe(1);
    expect(await turns.shared(() => Promise.resolve(2), signal)).toBe(2);
  });

  it('stops waiting when aborted, and keeps others out of the work it waited for', async () => {
    const turns = new ExclusiveTurns();
    const stop = new AbortController();
    let finish = (): void => undefined;
    const under = turns.alone(() => new Promise<void>((resolve) => (finish = resolve)), signal);
    const waiting = turns.alone(() => Promise.resolve(), stop.signal);
    let isIn = false;
    const shared = turns.shared(async () => {
      isIn = true;
    }, signal);
    await underWay();
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
    expect(isIn).toBe(false);
    finish();
    await Promise.all([under, shared]);
    expect(isIn).toBe(true);
  });
});
