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

beforeAll(async () => {
  const store = await openSqliteStore(cli.path('store.sqlite'));
  for (let n = 0; n < RUNS; n += 1) {
    const { run } = await store.runs.create(`run ${n}`, requestOf(`o__r-${n}`));
    await store.runs.update(run.id, { status: 'done', result: resultOf(`o__r-${n}`) });
    done.push(run.id);
  }
  queued = (await store.runs.create('cancelled', requestOf('o__r-x'))).run.id;
  await store.runs.update(queued, { status: 'cancelled' });
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

describe('a report of hundreds of runs', () => {
  it('is made while others are answered', async () => {
    const labels = done.flatMap((_, run) =>
      ids.map((candidate_id, n) => ({ instance_id: `o__r-${run}`, candidate_id, resolved: (n + run) % 3 === 0 })),
    );
    const start = performance.now();
    let made: Response | undefined;
    const making = makeReport([...done.map((run_id) => ({ run_id })), ...labels]).then((answer) => (made = answer));
    let longest = 0;
    while (made === undefined) {
      const asked = performance.now();
      expect((await fetch(`${service.url}/v1/runs/${done[0] ?? ''}`)).status).toBe(200);
      longest = Math.max(longest, performance.now() - asked);
    }
    await making;
    expect(await made.json()).toMatchObject({ runs: RUNS, labelled: RUNS });
    // In the service's own thread somebody waits for almost the whole of it.
    expect(longest).toBeLessThan((performance.now() - start) / 3);
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
