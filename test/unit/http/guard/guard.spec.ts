import { createHash } from 'node:crypto';
import { IncomingMessage, request as ask, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Response } from 'express';
import { leftBy } from '../../../../src/http/guard/bodies.js';
import { VIEWER_POLICY } from '../../../../src/http/guard/guard.js';
import { loadConfig } from '../../../../src/app/config.js';
import { BestkClient } from '../../../../examples/client/bestk-client.js';
import { MemoryRunStore } from '../../../fakes/memory-run-store.js';
import { ScriptedExecutor, untilStopped } from '../../../fakes/scripted-executor.js';
import { givenRequest, runResult } from '../../../fixtures/runs.js';
import { checkedFetch } from '../checked-fetch.js';
import { serveRuns, type TestServer } from '../http-world.js';

const servers: TestServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(options: Parameters<typeof serveRuns>[2] = {}, script = async () => runResult() as never) {
  const server = await serveRuns(new MemoryRunStore(), new ScriptedExecutor(script), options);
  servers.push(server);
  return server;
}

const sha256 = (key: string): string => createHash('sha256').update(key).digest('hex');
const status = async (call: Promise<unknown>): Promise<number> =>
  call.then(
    () => 200,
    (error: unknown) => (error as { status: number }).status,
  );
const as = ({ url }: TestServer, apiKey: string) => new BestkClient(url, { apiKey, fetch: checkedFetch });

describe('API keys', () => {
  const apiKeys = [
    `ana:read+run:${sha256('ana key')}`,
    `ci:run:${sha256('ci-key')}`,
    `ops:admin:${sha256('ops-key').toUpperCase()}`,
    'plain-key',
  ];

  it('may do what their scopes say, and nothing else', async () => {
    const server = await serve({ apiKeys: [...apiKeys, `eve:read:${sha256('eve-key')}`] });
    const table = await Promise.all(
      ['ci-key', 'ops-key', 'plain-key', 'eve-key', sha256('ci-key'), ''].map(async (key) => {
        const client = as(server, key);
        const calls = [
          client.listRuns(),
          client.submitRun(givenRequest()),
          client.cancelRun('x'),
          client.deleteRun('x'),
        ];
        return [key.slice(0, 9), ...(await Promise.all(calls.map(status)))];
      }),
    );
    expect(table).toEqual([
      ['ci-key', 403, 200, 404, 403],
      ['ops-key', 403, 403, 403, 404],
      ['plain-key', 200, 200, 404, 404],
      ['eve-key', 200, 403, 403, 403],
      [sha256('ci-key').slice(0, 9), 401, 401, 401, 401],
      ['', 401, 401, 401, 401],
    ]);
  });

  it('are asked for everywhere but where no data is', async () => {
    const server = await serve({ apiKeys });
    for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs']) {
      expect((await checkedFetch(server.url + path)).status).toBe(200);
    }
    for (const path of ['/v1/runs', '/metrics', '/docs/x', '/nothing']) {
      const answer = await fetch(server.url + path);
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="bestk"']);
    }
    expect((await fetch(`${server.url}/docs`, { method: 'POST' })).status).toBe(401);
  });

  it('have Idempotency-Keys of their own', async () => {
    const server = await serve({ apiKeys: ['one', 'two'] });
    const submit = (key: string, instance: string) =>
      as(server, key).submitRun(givenRequest(instance), { 'Idempotency-Key': 'mine' });
    const [first, again, other] = [await submit('one', 'a'), await submit('one', 'a'), await submit('two', 'b')];
    expect(again.id).toBe(first.id);
    expect(other.id).not.toBe(first.id);
    expect(await status(submit('two', 'a'))).toBe(422);
  });

  it.each([
    ['a slip in a hash', `ana:read:${sha256('k').slice(1)}`],
    ['an unknown scope', `ana:write:${sha256('k')}`],
    ['a name twice', `ana:read:${sha256('k')},ana:run:${sha256('l')}`],
  ])('stop the start, unprinted, when there is %s', (_what, keys) => {
    const load = (): unknown => loadConfig({ BESTK_API_KEYS: keys });
    expect(load).toThrow(/BESTK_API_KEYS/);
    expect(load).not.toThrow(sha256('k').slice(1, 20));
  });

  it('have no secret left in the configuration', () => {
    const config = loadConfig({ BESTK_API_KEYS: 'planted-key' });
    expect(JSON.stringify(config)).not.toContain('planted-key');
    expect(config.apiKeys.map(({ name }) => name)).toEqual(['key-1']);
  });
});

describe('the rate', () => {
  it('is limited for each key, and says when to come again', async () => {
    // Twenty at once, and so few a second that a slow machine does not refill them while sixty are asked.
    const server = await serve({ apiKeys: ['one', 'two'], rateLimit: 2 });
    const ask = async (key: string) => fetch(`${server.url}/v1/runs`, { headers: { 'x-api-key': key } });
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask('one')));
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused.length).toBeGreaterThan(10);
    expect(refused[0]?.headers.get('retry-after')).toBe('1');
    expect(await refused[0]?.json()).toMatchObject({ status: 429, code: 'too-many-requests' });
    expect((await ask('two')).status).toBe(200);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    expect((await ask('one')).status).toBe(200);
  });

  it('is low for who guesses keys', async () => {
    const server = await serve({ apiKeys: ['one'], rateLimit: 1 });
    const guess = async (n: number) =>
      (await fetch(`${server.url}/v1/runs`, { headers: { 'x-api-key': `${n}` } })).status;
    expect([await guess(1), await guess(2), await guess(3)]).toEqual([401, 429, 429]);
  });
});

describe('a web page', () => {
  /** With the headers that a browser sets and `fetch` of Node does not let one set. */
  const send = (url: string, method: string, headers: Record<string, string>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      ask(url, { method, headers }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on('error', reject)
        .end();
    });

  it('of another site can neither start nor read anything', async () => {
    const server = await serve();
    const cancel = `${server.url}/v1/runs/x/cancel`;
    const own = new URL(server.url).host;
    const sent = await Promise.all([
      send(cancel, 'POST', { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }),
      send(cancel, 'POST', { 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' }),
      send(cancel, 'POST', { origin: 'https://evil.example' }),
      send(cancel, 'POST', { origin: 'null' }),
      send(`${server.url}/v1/runs`, 'GET', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }),
      send(cancel, 'POST', {
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      }),
      send(`${server.url}/v1/runs`, 'OPTIONS', {
        origin: 'https://evil.example',
        'access-control-request-method': 'POST',
      }),
    ]);
    expect(sent).toEqual(sent.map(() => 403));
    const ours = await Promise.all([
      send(cancel, 'POST', { 'sec-fetch-site': 'same-origin', origin: `http://${own}` }),
      send(cancel, 'POST', { origin: `http://${own}` }),
      send(cancel, 'POST', {}),
      send(`${server.url}/v1/runs/x`, 'GET', { 'sec-fetch-site': 'none' }),
      send(`${server.url}/v1/runs/x`, 'GET', {
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
      }),
    ]);
    expect(ours).toEqual(ours.map(() => 404));
  });

  it('is given headers under which an answer can do nothing', async () => {
    const server = await serve();
    for (const path of ['/v1/runs', '/nothing', '/healthz']) {
      const { headers } = await fetch(server.url + path);
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
      expect(headers.get('access-control-allow-origin')).toBeNull();
      expect(headers.get('x-powered-by')).toBeNull();
    }
    expect(VIEWER_POLICY).not.toContain('unsafe');
  });
});

describe('methods', () => {
  it('that a path does not have are of no resource', async () => {
    const server = await serve();
    const answer = await fetch(`${server.url}/v1/runs/x`, { method: 'PUT' });
    expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'not-found' }]);
  });

  it('HEAD is GET without its body', async () => {
    const server = await serve();
    const answer = await fetch(`${server.url}/v1/runs`, { method: 'HEAD' });
    expect([answer.status, await answer.text()]).toEqual([200, '']);
  });
});

describe('a client', () => {
  it('that left is known to have, however late it is asked', () => {
    const response = new ServerResponse(new IncomingMessage(new Socket())) as Response;
    const before = leftBy(response);
    response.destroy();
    response.emit('close');
    expect([before.aborted, leftBy(response).aborted]).toEqual([true, true]);
  });
});

describe('the audit log', () => {
  it('says who started, cancelled and deleted which run, and what was refused', async () => {
    const server = await serve({ apiKeys: ['one', `ana:run:${sha256('two')}`] }, untilStopped as never);
    const client = as(server, 'one');
    const { id } = await as(server, 'two').submitRun(givenRequest());
    await status(client.deleteRun(id));
    await client.cancelRun(id);
    await client.deleteRun(id);
    await status(client.cancelRun('../../../etc'));
    await client.listRuns();
    expect(server.audited.map(({ action, actor, runs, outcome }) => [action, actor, runs, outcome])).toEqual([
      ['run.submit', 'ana', [id], 'done'],
      ['run.delete', 'key-1', [id], 'conflict'],
      ['run.cancel', 'key-1', [id], 'done'],
      ['run.delete', 'key-1', [id], 'done'],
      ['run.cancel', 'key-1', [], 'not-found'],
    ]);
    expect(server.audited[0]?.address).toMatch(/127\.0\.0\.1/);
    expect(JSON.stringify([server.audited, server.logged])).not.toMatch(/"(one|two)"/);
  });
});
