import { EventEmitter } from 'node:events';
import type { Request, Response } from 'express';
import { limitHeldBodies } from '../../../../src/http/guard/bodies.js';
import { identify, nameOf, TokenBuckets } from '../../../../src/http/guard/caller.js';

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

describe('callers without a key', () => {
  it.each([
    ['2001:db8::1', 'network 2001:db8:0:0'],
    ['2001:db8::2', 'network 2001:db8:0:0'],
    ['2001:db8:0:1::2', 'network 2001:db8:0:1'],
    ['2001:db8::1:2:3:4:5', 'network 2001:db8:0:1'],
    ['2001:db8:1:2:3:4:5:6', 'network 2001:db8:1:2'],
    ['::1', 'network 0:0:0:0'],
    ['::', 'network 0:0:0:0'],
    ['::ffff:10.0.0.1', 'address ::ffff:10.0.0.1'],
    ['10.0.0.1', 'address 10.0.0.1'],
  ])('from %s count as %s', (address, name) => {
    expect(nameOf({ key: null, address })).toBe(name);
  });
});

describe('JSON bodies', () => {
  const uploads = new Map([['/uploads', ['application/gzip']]]);

  function world(most: { byAll: number; byOne: number }) {
    const limit = limitHeldBodies(uploads, most);
    return (address: string, headers: Record<string, string> = { 'content-length': '60' }, path = '/') => {
      const request = Object.assign(new EventEmitter(), {
        headers,
        path,
        get: () => undefined,
        socket: { remoteAddress: address },
        destroy: () => request.emit('end'),
      });
      const told: Record<string, unknown> = {};
      const response: EventEmitter = Object.assign(new EventEmitter(), {
        set: (name: string, value: string) => ((told[name] = value), response),
        status: (status: number) => ((told.status = status), response),
        type: () => response,
        send: () => response,
      });
      identify([])(request as unknown as Request, response as unknown as Response, () => undefined);
      limit(request as unknown as Request, response as unknown as Response, (error?: unknown) => {
        told.error = error;
      });
      return {
        told,
        /** @param bytes what a piece takes of memory */
        send: (bytes: number) => request.emit('data', Buffer.alloc(bytes - 256)),
        close: () => response.emit('close'),
      };
    };
  }

  it('come to so much memory, of one caller and of all, and one that ended makes room', () => {
    const ask = world({ byAll: 10_000, byOne: 8_000 });
    const [first, second, third] = [ask('a'), ask('a'), ask('b')];
    first.send(6_000);
    second.send(2_000);
    third.send(2_000);
    expect([first, second, third].map(({ told }) => told.status)).toEqual([undefined, undefined, undefined]);
    second.send(256);
    expect(second.told).toMatchObject({ status: 503, 'Retry-After': '1', Connection: 'close' });
    second.close();
    third.send(2_256);
    expect(third.told.status).toBe(503);
    first.close();
    third.close();
    const last = ask('a');
    last.send(8_000);
    expect(last.told.status).toBeUndefined();
  });

  it('count when they come, not when they are announced', () => {
    const ask = world({ byAll: 100_000, byOne: 80_000 });
    const announced = Array.from({ length: 50 }, () => ask('a'));
    for (const each of announced) each.send(257);
    const other = ask('a');
    other.send(257);
    expect([...announced, other].map(({ told }) => told.status).every((status) => status === undefined)).toBe(true);
  });

  it('do not count when they are streamed', () => {
    const ask = world({ byAll: 1_000, byOne: 1_000 });
    const upload = ask('a', { 'transfer-encoding': 'chunked' }, '/Uploads/');
    upload.send(10_000);
    expect(upload.told.status).toBeUndefined();
    const body = ask('a', { 'transfer-encoding': 'chunked' });
    body.send(10_000);
    expect(body.told.status).toBe(503);
  });
});
