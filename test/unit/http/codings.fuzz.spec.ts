import { createHook } from 'node:async_hooks';
import { request as ask } from 'node:http';
import * as zlib from 'node:zlib';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { runResult } from '../../fixtures/runs.js';
import { serveRuns, type TestServer } from './http-world.js';

let server: TestServer;
/** Inflaters and deflaters that this process, which is also the service's, has made. */
let inflaters = 0;
const hook = createHook({
  init: (_id, type) => {
    if (type === 'ZLIB') inflaters += 1;
  },
});
beforeAll(async () => {
  server = await serveRuns(new MemoryRunStore(), new ScriptedExecutor(async () => runResult()));
  hook.enable();
});
afterAll(async () => {
  hook.disable();
  await server.close();
});

const UPLOADS = ['/v1/rescores', '/v1/reports', '/v1/benchmarks'];
const PLAIN = Buffer.from(`{}${' '.repeat(4 * 1024 * 1024)}\n`);
const packed = zlib.gzipSync(PLAIN);
const zstd = (zlib as { zstdCompressSync?: (bytes: Buffer) => Buffer }).zstdCompressSync?.(PLAIN) ?? packed;

/** Each with a body that says what it is, as far as Node can make one. */
const CODINGS: readonly (readonly [coding: string, body: Buffer])[] = [
  ['gzip', packed],
  ['GZip', packed],
  ['x-gzip', packed],
  ['deflate', zlib.deflateSync(PLAIN)],
  ['deflate', zlib.deflateRawSync(PLAIN)],
  ['br', zlib.brotliCompressSync(PLAIN)],
  ['BR', zlib.brotliCompressSync(PLAIN)],
  ['zstd', zstd],
  ['compress', packed],
  ['x-compress', packed],
  ['gzip, gzip', zlib.gzipSync(packed)],
  ['gzip,br', zlib.brotliCompressSync(packed)],
  ['identity, gzip', packed],
  ['gzip;q=1', packed],
  ['aws-chunked', PLAIN],
  ['*', packed],
  ['nonsense', Buffer.from('{}')],
  [',', Buffer.from('{}')],
];
const NONE = ['identity', 'IDENTITY', ''];
const GZIP = ['gzip', 'gzip', 'x-gzip'];

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly accepted: string | undefined;
  readonly body: { readonly code?: string; readonly next?: string };
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly coding: string;
  readonly body: Buffer;
  readonly type?: string;
}

/** @param leaves whether the client leaves as soon as it has sent the body */
function send({ method, path, coding, body, type = 'application/json' }: Sent, leaves = false): Promise<Answer | null> {
  const headers = { 'content-type': type, 'content-encoding': coding, 'content-length': body.length };
  return new Promise((resolve, reject) => {
    const sent = ask(new URL(path, server.url), { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { 'content-type': said = '', 'accept-encoding': accepted } = response.headers;
        const isProblem = said.startsWith('application/problem+json');
        const problem = isProblem ? (JSON.parse(text) as Answer['body']) : {};
        resolve({ status: response.statusCode ?? 0, type: said, accepted, body: problem });
      });
    });
    sent.once('error', (error) => {
      if (leaves) resolve(null);
      else reject(error);
    });
    sent.end(body, () => {
      if (leaves) sent.destroy();
    });
  });
}

const routes = (): { method: string; path: string }[] =>
  server.routes().map(({ method, path }) => ({ method: method.toUpperCase(), path: path.replaceAll(/:\w+/g, 'x') }));
const typeFor = (path: string): string => (UPLOADS.includes(path) ? 'application/x-ndjson' : 'application/json');

describe('of all routes', () => {
  it('there are some, with all uploads', () => {
    const posted = routes().filter(({ method }) => method === 'POST');
    expect(posted.length).toBeGreaterThan(10);
    expect(posted.map(({ path }) => path)).toEqual(expect.arrayContaining(UPLOADS));
  });

  it.each(CODINGS)('none decompresses a body in %s, except an upload in gzip', async (coding, body) => {
    for (const { method, path } of routes()) {
      const isUpload = method === 'POST' && UPLOADS.includes(path);
      if (isUpload && GZIP.includes(coding.toLowerCase())) continue;
      const before = inflaters;
      const answer = await send({ method, path, coding, body, type: typeFor(path) });
      const reads = method === 'GET' || method === 'HEAD';
      expect([path, answer?.status]).toEqual([path, reads ? 400 : 415]);
      if (!reads) {
        const accepted = isUpload ? 'gzip, identity' : 'identity';
        const next = expect.stringMatching(/^Send it .*without Content-Encoding/) as string;
        expect(answer).toMatchObject({ accepted, body: { code: 'unsupported-media-type', next } });
      }
      expect([path, inflaters - before]).toEqual([path, 0]);
    }
  });

  it.each(CODINGS)('none decompresses a body in %s whose client leaves', async (coding, body) => {
    const posted = routes().filter(({ method, path }) => method !== 'GET' && !UPLOADS.includes(path));
    const before = inflaters;
    await Promise.all(posted.map((route) => send({ ...route, coding, body }, true)));
    // An answer to a later request, by which the service has read the earlier ones.
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(inflaters - before).toBe(0);
  });

  it.each(NONE)('each takes a body whose coding is "%s" for an uncompressed one', async (coding) => {
    for (const { method, path } of routes().filter(({ method }) => method === 'POST')) {
      const answer = await send({ method, path, coding, body: Buffer.from('{}\n'), type: typeFor(path) });
      expect([path, answer?.status]).not.toEqual([path, 415]);
    }
  });
});

describe('an upload', () => {
  it.each(UPLOADS)('to %s is decompressed while it is read, by its coding', async (path) => {
    for (const coding of GZIP) {
      const before = inflaters;
      const body = zlib.gzipSync('{"nothing": 1}\n');
      const made = inflaters - before;
      const answer = await send({ method: 'POST', path, coding, body, type: 'application/x-ndjson' });
      expect(answer?.status).toBe(422);
      expect(JSON.stringify(answer?.body)).not.toMatch(/not JSON|UTF-8|unpacked/);
      expect(inflaters - before - made).toBe(1);
    }
  });

  it.each(['/v1/rescores', '/v1/benchmarks'])('to %s is not compressed by its type and its coding', async (path) => {
    const sent = { method: 'POST', path, coding: 'gzip', body: packed, type: 'application/gzip' };
    expect(await send(sent)).toMatchObject({ status: 415, body: { next: expect.any(String) as string } });
  });
});
