import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { BestkClient } from '../../../examples/client/bestk-client.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import type { RunResult } from '../../../src/core/run/run-result.js';
import type { BenchmarkView } from '../../../src/runs/benchmark-service.js';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { OpenStore } from '../../../src/store/store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { runResult } from '../../fixtures/runs.js';
import { until } from '../../fixtures/run-world.js';
import { BENCH, CANDIDATES, closedGate, IDS, lines, ROWS, SAVED_ARMS, SETS_OF_ARMS, TESTS } from './benchmark-lines.js';
import { checkedFetch } from './checked-fetch.js';
import { serveRuns, type TestServer } from './http-world.js';

let folder: string;
let store: OpenStore;
let server: TestServer;
/** Runs wait for it; those of o__r-3 fail once. */
let gate: ReturnType<typeof closedGate>;
const asked: RunRequest[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bestk-benchmarks-'));
  store = await openSqliteStore(join(folder, 'store.sqlite'));
  const executor = new ScriptedExecutor(async (run): Promise<RunResult> => {
    const request = RunRequest.parse(run.request);
    asked.push(request);
    await gate.promise;
    const { instance_id } = request.issue;
    const again = asked.filter(({ issue }) => issue.instance_id === instance_id).length > 2;
    if (instance_id === IDS[2] && !again) throw new Error('Something broke.');
    const result = runResult();
    return { ...result, selection: { ...result.selection, instance_id } };
  });
  server = await serveRuns(store.runs, executor, { benchmarks: store.benchmarks });
});
beforeEach(() => {
  gate = closedGate();
});
afterAll(async () => {
  gate.resolve();
  await server.close();
  await store.close();
  await rm(folder, { recursive: true });
});

function send(said: readonly unknown[], headers: Record<string, string> = {}): Promise<Response> {
  const text = lines(said);
  const isPacked = headers['content-type'] === 'application/gzip';
  const body = isPacked ? new Uint8Array(gzipSync(text)) : text;
  const init = { method: 'POST', body, headers: { 'content-type': 'application/x-ndjson', ...headers } };
  return checkedFetch(`${server.url}/v1/benchmarks`, init);
}

async function accepted(headers: Record<string, string> = {}): Promise<string> {
  const answer = await send([BENCH, ...ROWS, ...CANDIDATES, ...TESTS], headers);
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { id: string }).id;
}

async function get(id: string): Promise<BenchmarkView> {
  return (await (await checkedFetch(`${server.url}/v1/benchmarks/${id}`)).json()) as BenchmarkView;
}

async function post(id: string, verb: string): Promise<number> {
  return (await checkedFetch(`${server.url}/v1/benchmarks/${id}/${verb}`, { method: 'POST' })).status;
}

describe('a benchmark over HTTP', () => {
  it('is sent in as lines, runs arm by arm of each issue, and is reported', async () => {
    const packed = await accepted({ 'content-type': 'application/gzip', 'idempotency-key': 'one' });
    expect(await accepted({ 'idempotency-key': 'one' })).toBe(packed);
    expect((await send([BENCH, ...ROWS.slice(1), ...CANDIDATES], { 'idempotency-key': 'one' })).status).toBe(422);
    await until(async () => (await get(packed)).arms.some(({ running }) => running > 0));
    // Two at once, as the bench file says; the others are nobody's yet.
    const before = await get(packed);
    expect(before).toMatchObject({ title: 'Nightly', status: 'running', issues: 3 });
    expect(before.arms.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(4);
    gate.resolve();
    await until(async () => (await get(packed)).status === 'done');
    expect((await get(packed)).arms).toMatchObject([
      { arm: 'mine', selected: 2, failed: 1, graded: 0 },
      { arm: 'saved', selected: 2, failed: 1 },
    ]);
    expect(asked.slice(0, 2).map(({ agent, k, tests }) => ({ agent, k, tests }))).toMatchObject([
      { agent: { model: null, temperature: 0.5 }, k: 2, tests: null },
      { agent: null, k: 1, tests: [] },
    ]);

    const { runs } = (await (await checkedFetch(`${server.url}/v1/benchmarks/${packed}/runs`)).json()) as {
      runs: { id: string; arm: string; status: string }[];
    };
    expect(runs.map(({ arm, status }) => `${arm} ${status}`)).toEqual([
      ...['mine done', 'saved done', 'mine done', 'saved done', 'mine failed', 'saved failed'],
    ]);
    const one = (await (await checkedFetch(`${server.url}/v1/benchmarks/${packed}/runs?arm=mine&limit=2`)).json()) as {
      runs: unknown[];
      next_cursor: string;
    };
    expect(one).toMatchObject({ runs: [{ arm: 'mine' }, { arm: 'mine' }], next_cursor: runs[2]?.id });

    const first = runs[0]?.id ?? '';
    const curves = `${server.url}/v1/benchmarks/${packed}/curves`;
    const nothing = { issues: 0, unknown: 0, selected: null, points: [] };
    expect(await (await checkedFetch(curves)).json()).toEqual({
      arms: ['mine', 'saved'].map((arm) => ({ arm, ...nothing })),
    });
    const counts = { graded: 2, right_candidates: 1, ungraded: 0 };
    const grades = { ...counts, right: true, best: [0.5, 1], document: { grades: [], ungraded: [] } };
    await store.benchmarks.grade(first, { ...grades, right: null });
    expect(await (await checkedFetch(`${server.url}/v1/benchmarks/${packed}`)).json()).toMatchObject({
      arms: [{ graded: 1, right: 0, wrong: 0, unknown: 1 }, { unknown: 0 }],
    });
    await store.benchmarks.grade(first, grades);
    expect(await (await checkedFetch(curves)).json()).toMatchObject({
      arms: [
        {
          ...{ arm: 'mine', issues: 1, selected: { value: 1, issues: 1 } },
          points: [
            { k: 1, pass_at_k: { value: 0.5 }, best_at_k: { value: 0.5 } },
            { k: 2, pass_at_k: { value: 1 }, best_at_k: { value: 1 } },
          ],
        },
        { arm: 'saved', ...nothing },
      ],
    });
    const plots = `${server.url}/v1/benchmarks/${packed}/plots`;
    const drawings = async (): Promise<string> => (await checkedFetch(plots)).text();
    const once = JSON.parse(await drawings()) as { plots: { name: string; svg: string; rows: unknown[][] }[] };
    expect(once.plots.map(({ name }) => name)).toEqual(['arms-curves', 'arms-best']);
    expect(once.plots[1]?.rows.map(([arm, k, value]) => [arm, k, value])).toEqual([
      ['mine', 1, 0.5],
      ['mine', 2, 1],
    ]);
    // One drawing code: what the report shows.
    const asPage = { headers: { accept: 'text/html' } };
    const shown = await (await fetch(`${server.url}/v1/benchmarks/${packed}/report`, asPage)).text();
    for (const { svg } of once.plots) expect(shown).toContain(svg);
    await store.benchmarks.grade(first, { ...grades, best: [0.25, 1], right: false });
    expect(await drawings()).toContain('["mine",1,0.25,');
    expect((await checkedFetch(`${server.url}/v1/benchmarks/none/plots`)).status).toBe(404);
    const labelled = `${server.url}/v1/runs/${first}/labels`;
    expect(await (await checkedFetch(labelled)).json()).toEqual({ graded: true, labels: [] });
    const tests = { passes: 'passed', fails: 'failed', 'is not there': 'missing' };
    const document = {
      grades: [
        { candidate_id: 'a', resolved: false, reason: 'Two fail.', tests },
        { candidate_id: 'b', resolved: null, reason: 'Timed out.', tests: {} },
      ],
      ungraded: [],
    };
    await store.benchmarks.grade(first, { ...grades, document });
    expect(await (await checkedFetch(labelled)).json()).toEqual({
      graded: true,
      labels: [
        { candidate_id: 'a', right: false, reason: 'Two fail.', failed_tests: ['fails', 'is not there'] },
        { candidate_id: 'b', right: null, reason: 'Timed out.', failed_tests: [] },
      ],
    });
    expect(await (await fetch(`${server.url}/v1/runs/${first}/evidence`)).text()).not.toContain('Two fail.');
    await store.benchmarks.grade(first, null);
    expect(await (await checkedFetch(labelled)).json()).toEqual({ graded: false, labels: [] });
    expect((await checkedFetch(`${server.url}/v1/runs/none/labels`)).status).toBe(404);
    expect((await checkedFetch(`${server.url}/v1/benchmarks/none/curves`)).status).toBe(404);

    const report = `${server.url}/v1/benchmarks/${packed}/report`;
    expect(await (await checkedFetch(report)).json()).toMatchObject({
      kind: 'bestk-bench-report',
      arms: [{ arm: 'mine', selected: 2, failed: 1 }, { arm: 'saved' }],
      failures: [{ code: 'internal', issues: 1 }, { code: 'internal' }],
    });
    const page = await (await fetch(report, { headers: { accept: 'text/html' } })).text();
    expect(page).toContain('<h1>Nightly</h1>');
    expect(page).toContain(`/#/runs/${runs[0]?.id}`);
    const csv = await (await fetch(report, { headers: { accept: 'text/csv' } })).text();
    expect(csv.trim().split('\r\n')).toHaveLength(1 + 6);
    const text = await (await fetch(report, { headers: { accept: 'text/plain' } })).text();
    expect(text).toMatch(/^mine selected a patch for 2 of 3 issues; nothing has been graded/);

    const predictions = `${server.url}/v1/benchmarks/${packed}/predictions`;
    const predicted = async (query: string): Promise<unknown[]> => {
      const answer = await checkedFetch(`${predictions}${query}`);
      expect(answer.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
      const text = await answer.text();
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
    };
    const { patch, selection } = runResult();
    const { candidate_id } = selection;
    expect(await predicted('?arm=saved')).toEqual(
      IDS.slice(0, 2).map((instance_id) => ({
        ...{ instance_id, model_name_or_path: expect.stringMatching(/^bestk-/) as string },
        ...{ model_patch: patch, candidate_id },
      })),
    );
    expect(await predicted('')).toEqual(await predicted('?arm=mine'));
    expect((await checkedFetch(`${predictions}?arm=nobody`)).status).toBe(422);
    expect((await checkedFetch(`${server.url}/v1/benchmarks/none/predictions`)).status).toBe(404);

    // What failed is done again, and nothing else.
    const times = asked.length;
    expect(await post(packed, 'resume')).toBe(202);
    await until(async () => (await get(packed)).status === 'done');
    expect((await get(packed)).arms).toMatchObject([
      { selected: 3, failed: 0 },
      { selected: 3, failed: 0 },
    ]);
    expect(asked).toHaveLength(times + 2);
  });

  it('samples the issues of a greedy arm where it pays, then asks each run for what its issue got', async () => {
    gate.resolve();
    const from = asked.length;
    const arm = { name: 'greedy', k: 3, allocate: 'greedy', budget: { rollouts: 3 } };
    const rows = ROWS.slice(0, 2).map((row) => ({ ...row, instance_id: `${row.instance_id}-greedy` }));
    const answer = await send([{ ...BENCH, concurrency: 1, arms: [arm] }, ...rows]);
    const { id } = (await answer.json()) as { id: string };
    await until(async () => (await get(id)).status === 'done');
    expect((await get(id)).arms).toMatchObject([{ arm: 'greedy', selected: 2 }]);
    const [one, two] = rows.map(({ instance_id }) => instance_id);
    const own = asked.slice(from).map(({ issue, k, verifiers }) => [issue.instance_id, k, verifiers]);
    expect(own).toEqual([
      [one, 1, []],
      [two, 1, []],
      [one, 2, []],
      [one, 2, null],
      [two, 1, null],
    ]);
    const listed: unknown = await (await checkedFetch(`${server.url}/v1/benchmarks/${id}/runs`)).json();
    expect(listed).toMatchObject({ runs: [{ k: 2 }, { k: 1 }] });
    const sampling = `${server.url}/v1/runs?tag=${encodeURIComponent(`allocation:${id}`)}`;
    expect(((await (await checkedFetch(sampling)).json()) as { runs: unknown[] }).runs).toHaveLength(3);
    expect((await checkedFetch(`${server.url}/v1/benchmarks/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect(((await (await checkedFetch(sampling)).json()) as { runs: unknown[] }).runs).toEqual([]);

    const wrong = [
      { name: 'x', budget: { rollouts: 3 } },
      { name: 'y', allocate: 'greedy', candidates: true },
    ];
    for (const each of wrong) expect((await send([{ ...BENCH, arms: [each] }, ...rows])).status).toBe(422);
  });

  it('tells how it stands until it has ended, is paused, goes on, is cancelled and deleted', async () => {
    const id = await accepted();
    const events = await fetch(`${server.url}/v1/benchmarks/${id}/events`);
    await until(async () => (await get(id)).arms.some(({ running }) => running > 0));
    expect(await post(id, 'pause')).toBe(202);
    gate.resolve();
    await until(async () => (await get(id)).arms.every(({ queued, running }) => queued + running === 0));
    expect(await get(id)).toMatchObject({ status: 'paused', arms: [{ waiting: 2 }, { waiting: 2 }] });
    expect((await checkedFetch(`${server.url}/v1/benchmarks/${id}`, { method: 'DELETE' })).status).toBe(409);

    gate = closedGate();
    expect(await post(id, 'resume')).toBe(202);
    await until(async () => (await get(id)).arms.some(({ running }) => running > 0));
    expect(await post(id, 'cancel')).toBe(202);
    expect(await post(id, 'pause')).toBe(409);
    gate.resolve();
    expect((await get(id)).arms.reduce((sum, { cancelled }) => sum + cancelled, 0)).toBe(4);

    const told = await events.text();
    expect(told).toMatch(/^id: \d{13}\nevent: progress\ndata: /);
    const last = told.trim().split('\n\n').at(-1) ?? '';
    expect(last).toContain('"status":"cancelled"');
    const headers = { 'last-event-id': /id: (\d+)/.exec(last)?.[1] ?? '' };
    expect((await fetch(`${server.url}/v1/benchmarks/${id}/events`, { headers })).status).toBe(204);

    expect((await checkedFetch(`${server.url}/v1/benchmarks/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await checkedFetch(`${server.url}/v1/benchmarks/${id}`)).status).toBe(404);
    expect((await store.runs.list(100, null)).runs.some(({ benchmark }) => benchmark === id)).toBe(false);
  });

  it('is followed by so many at most, like a run, and looked at once for all of them', async () => {
    const id = await accepted({ 'idempotency-key': 'followed' });
    const counts = store.benchmarks.counts.bind(store.benchmarks);
    let looks = 0;
    store.benchmarks.counts = (of) => {
      looks += 1;
      return counts(of);
    };
    const leave = new AbortController();
    const follow = (path: string): Promise<Response> => fetch(`${server.url}${path}/events`, { signal: leave.signal });
    const { runs } = await server.client.listBenchmarkRuns(id);
    const run = runs[0]?.id ?? '';
    const all = await Promise.all(Array.from({ length: 128 }, () => follow(`/v1/benchmarks/${id}`)));
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
    await all.at(-1)?.body?.getReader().read();
    expect(looks).toBeLessThan(64);
    store.benchmarks.counts = counts;
    expect((await follow(`/v1/benchmarks/${id}`)).status).toBe(503);
    expect((await follow(`/v1/runs/${run}`)).status).toBe(503);
    leave.abort();
    gate.resolve();
    await until(async () => (await get(id)).status === 'done');
  });

  it('is one call of the client, from its start to its report', async () => {
    const standings: string[] = [];
    const bench = { title: 'Once', arms: [{ name: 'mine', k: 2 }], concurrency: 1 };
    const told = new AbortController();
    const onStanding = ({ status }: Pick<BenchmarkView, 'status'>): void => {
      standings.push(status);
      told.abort();
    };
    const once = { 'Idempotency-Key': 'once', signal: told.signal, onStanding };
    const left = server.client.bench(bench, ROWS.slice(0, 2), once);
    await expect(left).rejects.toMatchObject({ name: 'AbortError' });
    let lost = false;
    const losing: typeof fetch = async (url, init) => {
      if (lost || !(url as string).endsWith('/events')) return fetch(url, init);
      lost = true;
      gate.resolve();
      throw new TypeError('fetch failed');
    };
    const patient = new BestkClient(server.url, { fetch: losing });
    const report = await patient.bench(bench, ROWS.slice(0, 2), { 'Idempotency-Key': 'once' });
    expect(report).toMatchObject({ kind: 'bestk-bench-report', arms: [{ arm: 'mine', selected: 2 }] });
    expect([standings, lost]).toEqual([['running'], true]);
    gate = closedGate();
    const { id } = await server.client.submitBenchmark(lines([{ ...bench, title: 'Other' }, ...ROWS]), {
      type: 'application/x-ndjson',
      'Idempotency-Key': 'other',
    });
    await server.client.cancelBenchmark(id);
    gate.resolve();
    const again = server.client.bench({ ...bench, title: 'Other' }, ROWS, { 'Idempotency-Key': 'other' });
    await expect(again).rejects.toThrow(`Benchmark ${id}: `);
  });

  it.each([
    ['nothing', [], /has no rows/],
    ['rows alone', ROWS, /arms/],
    ['a bench file alone', [BENCH], /has no rows/],
    ['a process setting', [{ arms: [{ name: 'a', settings: { BESTK_AGENT_MODEL: 'x' } }] }, ...ROWS], /settings/],
    ['a path', [{ arms: [{ name: 'a', combiner: '/etc/passwd' }] }, ...ROWS], /combiner/],
    ['no JSON', [BENCH, '{"instance_id":'], /line 2.*is not JSON/],
    ['an unknown arm', [BENCH, ...ROWS, { arms: ['x'], candidate: {} }], /line 5.*names arm "x"/],
    ['candidates of who samples', [BENCH, ...ROWS, { arms: ['mine'], candidate: {} }], /samples its own/],
    ['a row of nothing', [BENCH, { a: 1 }], /has no matching instance/],
    ['a million lines', [BENCH, ...ROWS, '\n'.repeat(1_000_000)], /more than 1000000 lines/],
    ['hundreds of sets of arms', [{ arms: SAVED_ARMS }, ...ROWS, ...SETS_OF_ARMS], /more than 256 sets of arms/],
    ['hundreds of conditions', [{ ...BENCH, filter: { where: Array(101).fill('repo=a') } }, ...ROWS], /filter.where/],
  ])('refuses %s', async (_, sent, said) => {
    const answer = await send(sent);
    expect(answer.status).toBe(422);
    expect(((await answer.json()) as { detail: string }).detail).toMatch(said);
  });
});
