import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { OpenStore } from '../../../src/store/store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { BENCH, CANDIDATES, lines, ROWS } from './benchmark-lines.js';
import { checkedFetch } from './checked-fetch.js';
import { serveRuns, type TestServer } from './http-world.js';

let folder: string;
let store: OpenStore;
let server: TestServer;
let begun = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-intake-'));
  store = await openSqliteStore(join(folder, 'store.sqlite'));
  const executor = new ScriptedExecutor(() => {
    begun += 1;
    return Promise.reject(new Error('Nothing is run here.'));
  });
  server = await serveRuns(store.runs, executor, { benchmarks: store.benchmarks });
});
afterAll(async () => {
  await server.close();
  await store.close();
  await rm(folder, { recursive: true });
});

function send(said: readonly unknown[]): Promise<Response> {
  const headers = { 'content-type': 'application/x-ndjson' };
  return checkedFetch(`${server.url}/v1/benchmarks`, { method: 'POST', body: lines(said), headers });
}

async function ask(method: string, path: string): Promise<number> {
  return (await checkedFetch(`${server.url}/v1/benchmarks/${path}`, { method })).status;
}

describe('a benchmark that is sent in', () => {
  it('stays cancelled if it is cancelled before it is accepted, and cannot be resumed', async () => {
    const begin = store.benchmarks.begin.bind(store.benchmarks);
    store.benchmarks.begin = async (id, ...plan) => {
      expect(await ask('POST', `${id}/cancel`)).toBe(202);
      return begin(id, ...plan);
    };
    const answer = await send([BENCH, ...ROWS, ...CANDIDATES]);
    store.benchmarks.begin = begin;
    const { id, status } = (await answer.json()) as { id: string; status: string };
    expect([status, await ask('POST', `${id}/resume`)]).toEqual(['cancelled', 409]);
    expect(await store.benchmarks.get(id)).toMatchObject({ status: 'cancelled', plan: null });
    expect(await ask('DELETE', id)).toBe(204);
    expect(begun).toBe(0);
  });

  it.each([
    [
      'dollars without the price of a model',
      [{ ...BENCH, budget: { usd: 1 } }, ...ROWS, ...CANDIDATES],
      /budget\.usd.*price of the model "judge" is not known/,
    ],
    [
      'dollars of a greedy arm without the price of its model',
      [{ arms: [{ name: 'a', agent: 'm', allocate: 'greedy', budget: { usd: 1 } }] }, ...ROWS],
      /arms\.a\.budget\.usd.*price of the model "m" is not known/,
    ],
  ])('is refused with a limit in %s', async (_, sent, said) => {
    const answer = await send(sent);
    expect(answer.status).toBe(422);
    expect(((await answer.json()) as { detail: string }).detail).toMatch(said);
    expect((await store.benchmarks.list(1, null)).benchmarks).toEqual([]);
  });

  it('is found again after it was accepted, even if a price is not known any more', async () => {
    const create = store.benchmarks.create.bind(store.benchmarks);
    store.benchmarks.create = async (...made) => {
      const { id } = await create(...made);
      await store.benchmarks.begin(id, { arms: [], instances: [], skipped: [] }, {});
      return create(...made);
    };
    const answer = await send([{ ...BENCH, budget: { usd: 1 } }, ...ROWS, ...CANDIDATES]);
    store.benchmarks.create = create;
    expect([answer.status, await answer.json()]).toMatchObject([202, { status: 'running' }]);
  });
});
