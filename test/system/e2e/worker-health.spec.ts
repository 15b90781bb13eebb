import { type Cluster, startCluster } from '../../../scripts/setup/postgres.mjs';
import { startRedis } from '../../../scripts/setup/redis.mjs';
import { CommandLine } from '../../fixtures/command-line.js';
import { Service } from '../../fixtures/service.js';

let settings: Readonly<Record<string, string>>;
let cluster: Cluster;
const started: Service[] = [];
beforeAll(async () => {
  cluster = await startCluster();
  settings = { DOCKER_HOST: 'unix:///nowhere/docker.sock', DATABASE_URL: cluster.url };
}, 60_000);
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.stop()));
});

afterAll(() => cluster.destroy());

async function worker(more: Readonly<Record<string, string>> = {}): Promise<Service> {
  const service = await Service.start(new CommandLine(settings), more, ['worker']);
  started.push(service);
  return service;
}

describe('bestk worker --port', () => {
  it('says that it lives, what it lacks and what it did, and nothing else', async () => {
    const { url } = await worker();
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
    expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({
      status: 'degraded',
      parts: { engine: { ok: false, code: 'engine-unavailable' } },
    });
    expect((await fetch(`${url}/readyz?require=engine`)).status).toBe(503);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toContain('bestk_store_up 1');
    expect(metrics).toContain('bestk_runs_executing 0');
    for (const path of ['/v1/runs', '/openapi.json', '/docs', '/']) {
      expect([path, (await fetch(`${url}${path}`)).status]).toEqual([path, 404]);
    }
  });

  it('asks for a key where keys are set, but for its health', async () => {
    const { url } = await worker({ BESTK_API_KEYS: 'a-key-of-the-test' });
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    const headers = { authorization: 'Bearer a-key-of-the-test' };
    expect((await fetch(`${url}/metrics`, { headers })).status).toBe(200);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it('stops when it is told to, in an orderly way', async () => {
    const service = await worker();
    expect((await service.stop()).code).toBe(0);
    expect(service.log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(['working', 'listening', 'stopped']));
  });

  it('does not listen off loopback without keys, nor on what is no port', async () => {
    const cli = new CommandLine(settings);
    const open = await cli.run(['worker', '--host', '0.0.0.0', '--port', '0']);
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('BESTK_API_KEYS') as string });
    expect(await cli.run(['worker', '--port', 'http'])).toMatchObject({ code: 2 });
  });

  it('ends where the queue does not take it, without telling the password', async () => {
    const redis = await startRedis();
    const wrong = { BESTK_QUEUE_URL: redis.url.replace('tested', 'not-to-be-told') };
    const { code, stderr } = await new CommandLine({ ...settings, ...wrong }).run(['worker', '--port', '0']);
    await redis.destroy();
    expect(code).toBe(3);
    expect(stderr).toContain('BESTK_QUEUE_URL');
    expect(stderr).not.toContain('not-to-be-told');
  });

  it('does not work on a file, which one service has for itself', async () => {
    const { code, stderr } = await new CommandLine().run(['worker']);
    expect(code).toBe(2);
    expect(stderr).toContain('DATABASE_URL=postgresql://');
  });
});
