import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connections } from '../../../../src/http/guard/hardened-adapter.js';
import { until } from '../../../fixtures/run-world.js';
import { MemoryRunStore } from '../../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../../fakes/scripted-executor.js';
import { givenRequest, runResult } from '../../../fixtures/runs.js';
import { serveRuns, type TestServer } from '../../../unit/http/http-world.js';
import { problemIn, rawRequest } from '../../../unit/http/raw-request.js';

describe('connections of a server', () => {
  const limits = { connections: 4, unreadMs: 1_500, unreadBytes: 8 * 1024 * 1024 };
  const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');
  let small: Server;
  let connections: Connections;
  let port: number;
  beforeAll(async () => {
    small = createServer((request, response) => {
      if (request.url === '/stream') response.write(': begun\n');
      else response.end(request.url === '/large' ? LARGE : 'ok');
    });
    connections = new Connections(small, limits);
    await new Promise<void>((resolve) => small.listen(0, '127.0.0.1', resolve));
    ({ port } = small.address() as AddressInfo);
  });
  afterAll(() => {
    small.closeAllConnections();
    small.close();
  });

  const begin = async (bytes: string): Promise<{ socket: Socket; closed: Promise<unknown> }> => {
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    const closed = once(socket, 'close');
    await once(socket, 'connect');
    socket.write(bytes);
    return { socket, closed };
  };

  it('ends the oldest that asks for nothing when there are too many, and none that is answered', async () => {
    const streaming = await begin('GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(streaming.socket, 'data');
    const held = await Promise.all(['G', 'G', 'G'].map((half) => begin(half)));
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect(await answer.text()).toBe('ok');
    await Promise.race(held.map(({ closed }) => closed));
    expect(streaming.socket.closed).toBe(false);
    for (const { socket } of [streaming, ...held]) socket.destroy();
  });

  it('ends the oldest that still sends when all are asking, and none that is answered', async () => {
    const streaming = await begin('GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const slow = 'POST /stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{';
    const held = await Promise.all([slow, slow, slow].map((half) => begin(half)));
    await Promise.all([streaming, ...held].map(({ socket }) => once(socket, 'data')));
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    expect(await answer.text()).toBe('ok');
    await Promise.race(held.map(({ closed }) => closed));
    expect(streaming.socket.closed).toBe(false);
    for (const { socket } of [streaming, ...held]) socket.destroy();
  });

  it('ends one whose client does not read, and knows how much waits', async () => {
    const { socket, closed } = await begin('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n');
    socket.pause();
    await until(() => connections.isFull());
    socket.removeAllListeners('data');
    await until(() => !connections.isFull());
    socket.resume();
    await closed;
  });

  it('ends one that asks again before it was answered', async () => {
    const ask = 'GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n';
    await (
      await begin(ask + ask)
    ).closed;
    const kept = await begin('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(kept.socket, 'data');
    kept.socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(String((await once(kept.socket, 'data'))[0])).toContain('200 OK');
    kept.socket.destroy();
  });

  it('lets a slow client read all of it', async () => {
    const { socket } = await begin('GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    let read = 0;
    for await (const chunk of socket) {
      if (Math.floor((read += (chunk as Buffer).length) / 1e6) % 8 === 0) await sleep(20);
    }
    expect(read).toBeGreaterThan(LARGE.length);
  });
});

let server: TestServer;
beforeAll(async () => {
  server = await serveRuns(new MemoryRunStore(), new ScriptedExecutor(async () => runResult()));
});
afterAll(() => server.close());

const HEAD = 'Host: localhost\r\nConnection: close\r\n';

/** Sends one byte of `text` every 100 ms. */
const trickle =
  (text: string) =>
  (socket: Socket): void => {
    let at = 0;
    const timer = setInterval(() => {
      socket.write(text.charAt(at++ % text.length));
    }, 100);
    socket.on('close', () => {
      clearInterval(timer);
    });
  };

describe('a connection', () => {
  it.each([
    ['is no HTTP', 'HELO\r\n\r\n', 400],
    ['has 10,000 headers', `GET /healthz HTTP/1.1\r\n${HEAD}${'x: y\r\n'.repeat(10_000)}\r\n`, 431],
    ['has one header of a megabyte', `GET /healthz HTTP/1.1\r\n${HEAD}x: ${'y'.repeat(1_000_000)}\r\n\r\n`, 431],
    ['has a path of a megabyte', `GET /${'y'.repeat(1_000_000)} HTTP/1.1\r\n${HEAD}\r\n`, 431],
    ['has no Host', 'GET /v1/runs HTTP/1.1\r\nConnection: close\r\n\r\n', 403],
    ['has a Host of its own', 'GET /v1/runs HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n', 403],
    [
      'has a Host that begins like ours',
      'GET /v1/runs HTTP/1.1\r\nHost: localhost.evil\r\nConnection: close\r\n\r\n',
      403,
    ],
    ['expects something', `POST /v1/runs HTTP/1.1\r\n${HEAD}Expect: miracles\r\nContent-Length: 2\r\n\r\n{}`, 417],
    [
      'says two lengths',
      `POST /v1/runs HTTP/1.1\r\n${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'reads and has a body',
      `GET /healthz HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
      400,
    ],
    ['has a method of its own', `BREW /v1/runs HTTP/1.1\r\n${HEAD}\r\n`, 400],
    ['has a line break in a header', `GET /v1/runs HTTP/1.1\r\n${HEAD}x: a\rb\r\n\r\n`, 400],
  ])('that %s is answered with a problem', async (_what, bytes, status) => {
    const answer = await rawRequest(server.url, bytes);
    expect({ sent: answer.status, ...problemIn(answer) }).toMatchObject({ sent: status, status });
  });

  it('is closed, and not answered, when nonsense follows a request that is being answered', async () => {
    const answer = await rawRequest(server.url, 'GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\nnonsense\r\n\r\n');
    expect(answer.text).not.toMatch(/^HTTP\/1.1 400/);
  });

  it('loses no header of a thousand', async () => {
    const guarded = await serveRuns(new MemoryRunStore(), new ScriptedExecutor(async () => runResult()), {
      apiKeys: ['secret'],
    });
    const many = 'a:\r\n'.repeat(3_000);
    const bytes = `GET /v1/runs HTTP/1.1\r\n${HEAD}${many}X-Api-Key: secret\r\n\r\n`;
    expect((await rawRequest(guarded.url, bytes)).status).toBe(200);
    await guarded.close();
  });

  it('whose headers trickle or whose body stops is closed, and others are served meanwhile', async () => {
    const start = 'POST /v1/runs HTTP/1.1\r\nHost: localhost\r\n';
    const body = `${start}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"a":"`;
    const upload = body.replace('/v1/runs', '/v1/rescores').replace('application/json', 'application/x-ndjson');
    const slow = Promise.all([
      rawRequest(server.url, start, trickle('a')),
      rawRequest(server.url, body),
      rawRequest(server.url, upload),
    ]);
    expect((await server.client.submitRun(givenRequest())).status).toBe('queued');
    for (const answer of await slow) {
      expect(problemIn(answer)).toMatchObject({ status: 408 });
      expect(answer.seconds).toBeLessThan(22);
    }
    expect(server.logged).toEqual([]);
  });

  it('that announces much and sends little keeps nobody else from sending', async () => {
    const announced = `POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${64 * 1024 * 1024}\r\n\r\n{"a":"`;
    const sockets: Socket[] = [];
    const slow = Array.from({ length: 8 }, () =>
      rawRequest(server.url, announced, (socket) => {
        sockets.push(socket);
        trickle('a')(socket);
      }),
    );
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect((await server.client.submitRun(givenRequest())).status).toBe('queued');
    for (const socket of sockets) socket.destroy();
    await Promise.all(slow);
  });
});
