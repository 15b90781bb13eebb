import {
  EngineUnavailableError,
  ModelUnavailableError,
  StoreUnavailableError,
} from '../../../src/core/errors/unavailable.js';
import { ModelProbe } from '../../../src/ports/llm-client.js';
import { GivenResources } from '../../fakes/given-room.js';
import { exited, FakeSandbox } from '../../fakes/fake-sandbox.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor, untilStopped } from '../../fakes/scripted-executor.js';
import { givenRequest } from '../../fixtures/runs.js';
import { until } from '../../fixtures/run-world.js';
import { serveRuns, type TestServer } from './http-world.js';

const servers: TestServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(
  options: Parameters<typeof serveRuns>[2] = {},
  store = new MemoryRunStore(),
): Promise<{ url: string; store: MemoryRunStore }> {
  const server = await serveRuns(store, new ScriptedExecutor(untilStopped), options);
  servers.push(server);
  return { url: server.url, store };
}

interface Ready {
  readonly status: string;
  readonly parts: Readonly<Record<string, { ok: boolean; code?: string; next?: string }>>;
  readonly work: { state: string; queued: number; running: number };
}

async function ready(url: string): Promise<Ready> {
  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Ready;
}

class NoEngine extends FakeSandbox {
  constructor() {
    super(() => exited(0));
  }

  override engineVersion(): Promise<string> {
    return Promise.reject(new EngineUnavailableError('connect ENOENT /run/secret-place.sock'));
  }
}

class SilentEngine extends NoEngine {
  override engineVersion(): Promise<string> {
    return new Promise(() => undefined);
  }
}

class RefusingModels extends ModelProbe {
  check(): Promise<void> {
    return Promise.reject(new ModelUnavailableError('http://10.0.0.7 refuses the API key'));
  }
}

class StoreThatStops extends MemoryRunStore {
  stopped = false;

  override census(): ReturnType<MemoryRunStore['census']> {
    return this.stopped ? Promise.reject(new StoreUnavailableError('gone')) : super.census();
  }
}

async function submit(url: string, times: number): Promise<void> {
  for (let n = 0; n < times; n += 1) {
    const body = JSON.stringify(givenRequest());
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(`${url}/v1/runs`, { method: 'POST', headers, body })).status).toBe(202);
  }
}

describe('/readyz', () => {
  it('is ready and idle with nothing to do', async () => {
    const { url } = await serve();
    expect(await ready(url)).toEqual({
      status: 'ready',
      parts: { engine: { ok: true }, models: { ok: true }, machine: { ok: true } },
      work: { state: 'idle', queued: 0, running: 0, oldest_queued_s: 0 },
    });
  });

  it('is ready while it is saturated, and says so', async () => {
    const { url } = await serve();
    await submit(url, 5);
    await until(async () => (await ready(url)).work.running === 2);
    expect((await ready(url)).work).toMatchObject({ state: 'saturated', queued: 3, running: 2 });
  });

  it('tells of runs that nobody takes up', async () => {
    const store = new MemoryRunStore();
    store.census = async () => ({
      counts: { queued: 1, running: 0, done: 0, failed: 0, cancelled: 0 },
      oldestQueued: new Date(Date.now() - 120_000).toISOString(),
    });
    const { url } = await serve({}, store);
    expect((await ready(url)).work).toMatchObject({ state: 'stalled', oldest_queued_s: 120 });
  });

  it('answers without Docker and models, tells what to do, and nothing of the machine', async () => {
    const { url } = await serve({ sandbox: new NoEngine(), models: new RefusingModels() });
    const text = await (await fetch(`${url}/readyz`)).text();
    expect(JSON.parse(text)).toMatchObject({
      status: 'degraded',
      parts: {
        engine: { ok: false, code: 'engine-unavailable', next: expect.stringContaining('Start Docker') as string },
        models: { ok: false, code: 'model-unavailable' },
      },
    });
    expect(text).not.toMatch(/secret-place|10\.0\.0\.7/);
  });

  it('is 503 without a part that is required', async () => {
    const { url } = await serve({ sandbox: new NoEngine() });
    expect((await fetch(`${url}/readyz?require=models`)).status).toBe(200);
    const refused = await fetch(`${url}/readyz?require=models,engine`);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: 'engine-unavailable' });
    expect((await fetch(`${url}/readyz?require=luck`)).status).toBe(422);
  });

  it('says that work waits for room, and what to do', async () => {
    const { url } = await serve({ room: new GivenResources({ engine: 1 }) });
    expect(await ready(url)).toMatchObject({
      status: 'degraded',
      parts: { machine: { ok: false, code: 'disk-low', next: expect.stringContaining('docker system df') as string } },
    });
    expect((await fetch(`${url}/readyz?require=machine`)).status).toBe(507);
  });

  it('does not wait for an engine that says nothing', async () => {
    const { url } = await serve({ sandbox: new SilentEngine() });
    const [first, second] = await Promise.all([ready(url), ready(url)]);
    expect(first.parts.engine).toMatchObject({ ok: false, code: 'engine-unavailable' });
    expect(second).toEqual(first);
  });
});

describe('/metrics', () => {
  it('tells of the queue and of the process', async () => {
    const { url } = await serve();
    await submit(url, 3);
    await until(async () => (await ready(url)).work.running === 2);
    const answer = await fetch(`${url}/metrics`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await answer.text();
    expect(text).toContain('bestk_runs{status="running"} 2');
    expect(text).toContain('bestk_queue_depth 1');
    expect(text).toMatch(/bestk_queue_oldest_age_seconds 0\.\d+/);
    expect(text).toContain('bestk_store_up 1');
  });

  it('tells how much room the machine has, and for what work waits', async () => {
    const { url } = await serve({ room: new GivenResources({ memory: 7 }) });
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toContain('bestk_machine_free_bytes{resource="memory"} 7');
    expect(text).toContain('bestk_back_pressure{resource="memory"} 1');
    expect(text).toContain('bestk_back_pressure{resource="engine"} 0');
  });

  it('is told while the store is gone', async () => {
    const store = new StoreThatStops();
    const { url } = await serve({}, store);
    store.stopped = true;
    const answer = await fetch(`${url}/metrics`);
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('bestk_store_up 0');
  });

  it('is behind the API key, which health is not', async () => {
    const { url } = await serve({ apiKeys: ['sesame'] });
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect((await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer sesame' } })).status).toBe(200);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });
});
