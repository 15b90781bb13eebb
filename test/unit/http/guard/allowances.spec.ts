import { EventEmitter } from 'node:events';
import type { Request, Response } from 'express';
import { limitBodiesAtOnce } from '../../../../src/http/guard/body-budget.js';
import { TokenBuckets } from '../../../../src/http/guard/rate-limit.js';

describe('an allowance', () => {
  it('is used up at once, refills steadily, and no further than it was', () => {
    const buckets = new TokenBuckets(10, 20);
    const taken = (now: number): number =>
      Array.from({ length: 100 }, () => buckets.take('a', 1, now)).filter((wait) => wait === 0).length;
    expect(taken(0)).toBe(20);
    expect(taken(1_000)).toBe(10);
    expect(taken(1_500)).toBe(5);
    expect(taken(3_600_000)).toBe(20);
    expect(buckets.take('a', 5, 3_600_000)).toBeCloseTo(0.5);
    expect(buckets.take('b', 5, 3_600_000)).toBe(0);
  });

  it('is kept for so many names only, and not forgotten while it is used', () => {
    const buckets = new TokenBuckets(1, 2);
    for (let n = 0; n < 20_000; n += 1) {
      buckets.take(`name ${n}`, 2, 0);
      buckets.take('busy', 2, 0);
    }
    expect(buckets.take('busy', 2, 0)).toBe(2);
    expect(buckets.take('name 19000', 2, 1_000)).toBe(1);
    expect(buckets.take('name 0', 2, 0)).toBe(0);
  });
});

describe('bodies at once', () => {
  const uploads = new Map([['/uploads', ['application/gzip']]]);

  function world(most: number) {
    const limit = limitBodiesAtOnce(uploads, most);
    return (headers: Record<string, string>, path = '/') => {
      const told: Record<string, string> = {};
      const response = Object.assign(new EventEmitter(), {
        set: (name: string, value: string) => (told[name] = value),
      });
      let failure: unknown;
      limit({ headers, path } as unknown as Request, response as unknown as Response, (error?: unknown) => {
        failure = error;
      });
      return { isTaken: failure === undefined, told, close: () => response.emit('close') };
    };
  }

  it('come to so much memory, and one that ended makes room', () => {
    const ask = world(100);
    const first = ask({ 'content-length': '60' });
    const second = ask({ 'content-length': '50' });
    expect([first.isTaken, second.isTaken, second.told['Retry-After']]).toEqual([true, false, '1']);
    expect(ask({ 'content-length': '40' }).isTaken).toBe(true);
    first.close();
    expect(ask({ 'content-length': '60' }).isTaken).toBe(true);
    expect(ask({}).isTaken).toBe(true);
  });

  it('count as the largest when they do not say their size, and not at all when they are streamed', () => {
    const ask = world(64 * 1024 * 1024);
    expect(ask({ 'transfer-encoding': 'chunked' }, '/uploads').isTaken).toBe(true);
    expect(ask({ 'content-length': '9', 'content-encoding': 'gzip' }).isTaken).toBe(true);
    expect(ask({ 'content-length': '1' }).isTaken).toBe(false);
  });
});
