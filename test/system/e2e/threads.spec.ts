import { openSqliteStore } from '../../../src/store/sqlite.js';
import type { RunResult } from '../../../src/core/run/run-result.js';
import { CommandLine } from '../../fixtures/command-line.js';
import { givenRequest, runResult } from '../../fixtures/runs.js';
import { Service } from '../../fixtures/service.js';

const RUNS = 120;
const CANDIDATES = 20;

const cli = new CommandLine();
let service: Service;
const done: string[] = [];
let queued = '';
let benchmark = '';

beforeAll(async () => {
  const store = await openSqliteStore(cli.path('store.sqlite'));
  for (let n = 0; n < RUNS; n += 1) {
    const { run } = await store.runs.create(`run ${n}`, requestOf(`o__r-${n}`));
    await store.runs.update(run.id, { status: 'done', result: resultOf(`o__r-${n}`) });
    done.push(run.id);
  }
  queued = (await store.runs.create('cancelled', requestOf('o__r-x'))).run.id;
  await store.runs.update(queued, { status: 'cancelled' });
  benchmark = (await store.benchmarks.create('many', { title: 'Many', hash: '', submitter: '' })).id;
  const instances = Array.from({ length: 4_000 }, (_, n) => `o__r-${n}`);
  const arms = ['a', 'b', 'c', 'd'].map((name) => ({ name, k: 8 }));
  await store.benchmarks.begin(benchmark, { arms, instances, skipped: [] }, {});
  await store.close();
  service = await Service.start(cli);
});
afterAll(() => service.stop());

const ids = Array.from({ length: CANDIDATES }, (_, n) => `c${n}`);

function requestOf(instance: string): Parameters<Awaited<ReturnType<typeof openSqliteStore>>['runs']['create']>[1] {
  const request = { ...givenRequest(instance), candidates: ids.map((candidate_id) => ({ candidate_id, patch: '' })) };
  return JSON.parse(JSON.stringify(request)) as typeof request & Record<string, never>;
}

function resultOf(instance_id: string): RunResult {
  const base = runResult();
  const verdicts = ids.map((candidate_id, n) => {
    const scored = { kind: 'scored', measure: 'execution_free', out_of: 1, evidence: {} } as const;
    return { ...scored, candidate_id, score: ((n * 7 + instance_id.length) % 11) / 11 };
  });
  return { ...base, selection: { ...base.selection, instance_id }, verdicts, cells: [] };
}

function makeReport(lines: readonly unknown[]): Promise<Response> {
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  const headers = { 'content-type': 'application/x-ndjson' };
  return fetch(`${service.url}/v1/reports`, { method: 'POST', body, headers });
}

/** What nobody notices: a busy machine, or a request that is refused at once. */
const UNNOTICED_MS = 500;

/** What it is answered, while nobody else waits for long: in the service's own thread somebody waits for almost the whole of it. */
async function whileAnswering(path: string, asked: Promise<Response>): Promise<unknown> {
  const start = performance.now();
  let answer: Response | undefined;
  const answered = asked.then((each) => (answer = each));
  let longest = 0;
  while (answer === undefined) {
    const looked = performance.now();
    expect((await fetch(`${service.url}${path}`)).status).toBe(200);
    longest = Math.max(longest, performance.now() - looked);
  }
  const taken = performance.now() - start;
  expect(longest).toBeLessThan(Math.max(taken / 3, UNNOTICED_MS));
  const reply = await answered;
  return reply.headers.get('content-type')?.includes('json') === true ? reply.json() : reply.text();
}

function post(path: string, type: string, body: string): Promise<Response> {
  return fetch(`${service.url}${path}`, { method: 'POST', headers: { 'content-type': type }, body });
}

const { issue } = givenRequest();
const steps = Array.from({ length: 60_000 }, () => ({ thought: 't', action: 'a' }));
const large = { issue, candidates: [{ candidate_id: 'c', patch: '', trajectory: { steps } }] };
const keys = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`k${n}`, 1]));
const one = { instance_id: 'a__b-1', candidate_id: 'c', patch: '', problem_statement: 'p' };
const lines = (count: number, line: (n: number) => object): string =>
  Array.from({ length: count }, (_, n) => `${JSON.stringify(line(n))}\n`).join('');
const sent = lines(3, (n) =>
  n === 0
    ? { arms: [{ name: 'a', candidates: true }], grade: false }
    : n === 1
      ? issue
      : { arms: ['a'], candidate: { instance_id: issue.instance_id, ...large.candidates[0] } },
);
const test = (n: number) => ({ instance_id: 'a__b-1', test_id: `t${n}`, path: 'a.py', content: 'x' });
const label = (n: number) => ({ instance_id: `i${n}`, candidate_id: 'c', resolved: true });

describe('what is hostile holds up nobody else:', () => {
  it.each([
    ['a request of 60,000 steps', '/v1/runs', JSON.stringify(large), 202],
    ['a request of 100,000 keys too many', '/v1/runs', JSON.stringify({ issue, ...keys }), 422],
    ['a benchmark with a candidate of 60,000 steps', '/v1/benchmarks', sent, 202],
    ['an upload of 10,000 tests', '/v1/rescores?image=x:1', JSON.stringify(one) + '\n' + lines(10_000, test), 202],
    ['a report of 200,000 labels', '/v1/reports', lines(200_000, label), 422],
  ])('%s', async (_, path, body, status) => {
    const type = path === '/v1/runs' ? 'application/json' : 'application/x-ndjson';
    const answer = await whileAnswering('/healthz', post(path, type, body));
    if (status === 422) expect(answer).toMatchObject({ status });
    else expect(answer).not.toHaveProperty('code');
  });

  it('another run over the candidates of a large one', async () => {
    const { id } = (await (await post('/v1/runs', 'application/json', JSON.stringify(large))).json()) as {
      id: string;
    };
    const again = post(`/v1/runs/${id}/rescore`, 'application/json', '{"preset":"kimi"}');
    expect(await whileAnswering('/healthz', again)).toMatchObject({ id: expect.stringMatching(/^run_/) as string });
  });
});

it('a large run is read while others are answered', async () => {
  const observed = Array.from({ length: 9_000 }, (_, n) => n);
  const own = { instance_id: issue.instance_id, expect: [observed] };
  const tests = Array.from({ length: 40 }, (_, n) => ({ ...test(n), ...own }));
  const body = JSON.stringify({ issue, candidates: [{ candidate_id: 'c', patch: '' }], tests });
  const { id } = (await (await post('/v1/runs', 'application/json', body)).json()) as { id: string };
  const evidence = await whileAnswering('/healthz', fetch(`${service.url}/v1/runs/${id}/evidence`));
  expect((evidence as { tests: readonly unknown[] }).tests).toHaveLength(40);
});

it('the page of a benchmark of thousands of issues is made while others are answered', async () => {
  const headers = { accept: 'text/html' };
  const asked = fetch(`${service.url}/v1/benchmarks/${benchmark}/report`, { headers });
  expect(await whileAnswering('/healthz', asked)).toMatch(/^<!doctype html>.*o__r-3999/s);
});

describe('a report of hundreds of runs', () => {
  it('is made while others are answered', async () => {
    const labels = done.flatMap((_, run) =>
      ids.map((candidate_id, n) => ({ instance_id: `o__r-${run}`, candidate_id, resolved: (n + run) % 3 === 0 })),
    );
    const made = await whileAnswering(
      `/v1/runs/${done[0] ?? ''}`,
      makeReport([...done.map((run_id) => ({ run_id })), ...labels]),
    );
    expect(made).toMatchObject({ runs: RUNS, labelled: RUNS });
  });

  it.each([
    ['a run that is not there', () => [{ run_id: 'run_0' }], 404, 'not-found'],
    ['a run that is not done', () => [{ run_id: queued }], 409, 'conflict'],
    ['runs of one instance', () => [{ run_id: done[0] }, { run_id: done[0] }, { against: 'x' }], 404, 'not-found'],
    ['no run', () => [{ instance_id: 'i', candidate_id: 'c', resolved: true }], 422, 'bad-input'],
  ])('is refused for %s', async (_, lines, status, code) => {
    const answer = await makeReport(lines());
    expect(await answer.json()).toMatchObject({ status, code, next: expect.stringMatching(/\w/) as string });
  });

  it('is refused for a rule that there is not', async () => {
    const body = `${JSON.stringify({ run_id: done[0] })}\n`;
    const headers = { 'content-type': 'application/x-ndjson' };
    const answer = await fetch(`${service.url}/v1/reports?presets=luck`, { method: 'POST', body, headers });
    expect(await answer.json()).toMatchObject({ status: 422, code: 'bad-input' });
  });
});
