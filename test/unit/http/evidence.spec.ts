import { hash } from 'node:crypto';
import request from 'supertest';
import { openSqliteStore } from '../../../src/store/sqlite.js';
import { EvidenceView } from '../../../src/http/runs/evidence-view.js';
import type { RunPageView } from '../../../src/http/runs/run-views.js';
import { StepsView } from '../../../src/http/runs/step-views.js';
import type { Run } from '../../../src/ports/run-store.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor, untilStopped, type RunScript } from '../../fakes/scripted-executor.js';
import { givenRequest, PATCH, runResult } from '../../fixtures/runs.js';
import { until } from '../../fixtures/run-world.js';
import { viewedRun, type ViewedRun } from '../../fixtures/viewed-runs.js';
import { serveRuns, type TestServer } from './http-world.js';

const servers: TestServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(...scripts: RunScript[]): Promise<string> {
  const server = await serveRuns(new MemoryRunStore(), new ScriptedExecutor(...scripts));
  servers.push(server);
  return server.url;
}

async function submitted(url: string, body: object): Promise<string> {
  return ((await request(url).post('/v1/runs').send(body).expect(202)).body as Run).id;
}

async function ended(url: string, body: object): Promise<string> {
  const id = await submitted(url, body);
  await until(async () => ((await request(url).get(`/v1/runs/${id}`)).body as Run).status === 'done');
  return id;
}

async function sampled(shape: Parameters<typeof viewedRun>[0]): Promise<{ url: string; id: string; run: ViewedRun }> {
  const run = viewedRun(shape);
  const url = await serve(async () => run.result);
  return { url, id: await ended(url, run.request), run };
}

describe('the evidence of a run', () => {
  it('is everything but the texts', async () => {
    const { url, id, run } = await sampled({ candidates: 3, steps: 2, tests: 4 });
    const body = (await request(url).get(`/v1/runs/${id}/evidence`).expect(200)).body as EvidenceView;
    expect(EvidenceView.parse(body)).toEqual(body);
    expect(body.candidates.map(({ candidate_id, rank, steps }) => [candidate_id, rank, steps])).toEqual([
      ['rollout-1', 1, 2],
      ['rollout-2', 2, 2],
      ['rollout-3', 3, 2],
    ]);
    expect(body.candidates[0]).toMatchObject({
      model: 'agent-model',
      tokens: 2 * 1_060 + 1,
      patch: { problem: null, files: [{ path: 'src/calculator.py', role: 'source', added: 1, removed: 1 }] },
    });
    const hashes = body.candidates.map(({ patch }) => patch.sha256);
    expect(hashes).toEqual(run.result.rollouts.map(({ patch }) => hash('sha256', patch)));
    expect(body.selection).not.toHaveProperty('ranking');
    expect(body.cells).toHaveLength(run.result.cells.length);
    expect(body.behaviours.map(({ candidate_ids }) => candidate_ids)).toEqual([
      ['rollout-1', 'rollout-3'],
      ['rollout-2'],
    ]);
    const text = JSON.stringify(body);
    for (const long of ['return a + b', 'Thought 1', 'Traceback', 'assert False']) expect(text).not.toContain(long);
  });

  it('is what was asked while the run goes on', async () => {
    const url = await serve(untilStopped);
    const id = await submitted(url, givenRequest());
    const body = (await request(url).get(`/v1/runs/${id}/evidence`).expect(200)).body as EvidenceView;
    expect(body).toMatchObject({
      selection: null,
      usage: null,
      cells: [],
      request: { given: true, preset: 'deepswe' },
    });
    expect(body.candidates.map(({ candidate_id, rank }) => [candidate_id, rank])).toEqual([
      ['a', null],
      ['b/2 ?#%', null],
    ]);
    await request(url).get('/v1/runs/nothing/evidence').expect(404);
    await request(url).post(`/v1/runs/${id}/cancel`).expect(202);
    const after = (await request(url).get(`/v1/runs/${id}/evidence`)).body as EvidenceView;
    expect(after.run.status).toBe('cancelled');
  });

  it('is read elsewhere where the run is large, and answered the same', async () => {
    const url = await serve(untilStopped);
    const given = givenRequest();
    const issue = { ...given.issue, problem_statement: 'x'.repeat(900_000) };
    const candidates = [...(given.candidates ?? []), { candidate_id: 'c', patch: 'z'.repeat(500_000) }];
    const id = await submitted(url, { ...given, issue, candidates });
    const get = (path: string) => request(url).get(`/v1/runs/${id}/${path}`);
    const [evidence, patch, steps, prompt] = await Promise.all([
      get('evidence')
        .expect(200)
        .expect('Content-Type', /^application\/json/),
      get('candidates/c/patch')
        .expect(200)
        .expect('Content-Type', /^text\/x-diff/)
        .buffer(),
      get(`candidates/${encodeURIComponent('b/2 ?#%')}/steps`).expect(200),
      get(`candidates/${encodeURIComponent('b/2 ?#%')}/judge-prompt`).expect(200),
    ]);
    expect((evidence.body as EvidenceView).candidates).toHaveLength(3);
    const { problem, files } = (evidence.body as EvidenceView).candidates[2]?.patch ?? {};
    expect([problem, files]).toEqual([null, []]);
    expect(patch.text).toHaveLength(500_000);
    expect(steps.body).toMatchObject({ total: 1, steps: [{ thought: { text: 't', cut: 0 } }] });
    expect(prompt.body).toMatchObject({ same_template: null });
    await get('candidates/x/patch').expect(404);
    await get('patch').expect(409);
    await request(url).post(`/v1/runs/${id}/cancel`).expect(202);
  });

  it('is gone with the run', async () => {
    const { url, id } = await sampled({ candidates: 1, steps: 1, tests: 1 });
    await request(url).get(`/v1/runs/${id}/evidence`).expect(200);
    await request(url).delete(`/v1/runs/${id}`).expect(204);
    await request(url).get(`/v1/runs/${id}/evidence`).expect(404);
  });

  it('says of a binary file that it has no lines, and of a patch that is refused why', async () => {
    const patches = {
      binary:
        'diff --git a/i.png b/i.png\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 3\nKcmZQzU|?VX0ssI2\n\nliteral 0\nHcmV?d00001\n\n',
      outside: PATCH.replaceAll('a.py', '../../etc/passwd'),
    };
    const candidates = Object.entries(patches).map(([candidate_id, patch]) => ({ candidate_id, patch }));
    const url = await serve(untilStopped);
    const id = await submitted(url, { ...givenRequest(), candidates });
    const body = (await request(url).get(`/v1/runs/${id}/evidence`)).body as EvidenceView;
    expect(body.candidates[0]?.patch.files).toMatchObject([{ path: 'i.png', added: null, removed: null }]);
    expect(body.candidates[1]?.patch).toMatchObject({ files: [], problem: expect.stringContaining('path') as string });
  });
});

describe('the texts of a run', () => {
  it('come one by one: steps in pages, cut in their middle', async () => {
    const { url, id } = await sampled({ candidates: 1, steps: 7, tests: 1 });
    const path = `/v1/runs/${id}/candidates/rollout-1/steps`;
    const body = StepsView.parse((await request(url).get(`${path}?from=5&limit=5&characters=100`).expect(200)).body);
    expect(body).toMatchObject({ total: 7, from: 5 });
    expect(body.steps.map(({ number, input_tokens }) => [number, input_tokens])).toEqual([
      [5, 1_005],
      [6, 1_006],
    ]);
    const { observation, thought } = body.steps[0] ?? {};
    const whole = 'src/calculator.py:5: def add(a, b):\n'.repeat(12).length;
    expect(observation?.text).toHaveLength(100 + '\n[…]\n'.length);
    expect([observation?.cut, thought?.cut]).toEqual([whole - 100, 0]);
    await request(url).get(`${path}?limit=0`).expect(422);
    await request(url).get(`/v1/runs/${id}/candidates/nobody/steps`).expect(404);
  });

  it('are patches as they came, cells with their logs, and tests', async () => {
    const { url, id } = await sampled({ candidates: 2, steps: 1, tests: 2 });
    const patch = await request(url).get(`/v1/runs/${id}/candidates/rollout-2/patch`).expect(200);
    expect(patch.text).toContain('return a + b');
    const cells = async (query: string): Promise<unknown[]> => {
      const answer = await request(url).get(`/v1/runs/${id}/cells?${query}`).expect(200);
      return (answer.body as { cells: unknown[] }).cells;
    };
    expect(await cells('test_id=t1&candidate_id=rollout-2')).toMatchObject([
      { log_tail: expect.any(String) as string },
    ]);
    expect(await cells('base=true')).toMatchObject([{ candidate_id: null }, { candidate_id: null }]);
    expect(await cells('')).toHaveLength(6);
    const test = await request(url).get(`/v1/runs/${id}/tests/t2`).expect(200);
    expect(test.body).toMatchObject({ test_id: 't2', content: 'assert False' });
    await request(url).get(`/v1/runs/${id}/tests/t9`).expect(404);
  });
});

describe('scoring a run again', () => {
  it('is a new run of the same candidates and tests, which were sampled and written', async () => {
    const { url, id } = await sampled({ candidates: 2, steps: 1, tests: 2 });
    const change = { preset: 'ef-only', verifiers: ['ef'] };
    const accepted = await request(url).post(`/v1/runs/${id}/rescore`).send(change).expect(202);
    const again = (accepted.body as Run).id;
    expect(again).not.toBe(id);
    expect(accepted.headers.location).toBe(`/v1/runs/${again}`);
    const body = (await request(url).get(`/v1/runs/${again}/evidence`)).body as EvidenceView;
    expect(body.request).toMatchObject({ ...change, given: true, k: 2 });
    expect(body.tests).toHaveLength(2);
    const candidate = await request(url).get(`/v1/runs/${again}/candidates/rollout-1`);
    expect(candidate.body).toMatchObject({ trajectory: { steps: [{ thought: 'Thought 1 of try 1.' }] } });
  });

  it('is refused where there is nothing to score, or the change is none', async () => {
    const url = await serve(untilStopped);
    const { issue } = givenRequest();
    const id = await submitted(url, { issue, k: 2 });
    await request(url).post(`/v1/runs/${id}/rescore`).send({}).expect(409);
    await request(url).post(`/v1/runs/${id}/rescore`).send({ budget: {} }).expect(422);
    await request(url).post('/v1/runs/nothing/rescore').send({}).expect(404);
    const choices = (await request(url).get('/v1/choices').expect(200)).body as { presets: string[] };
    expect(choices.presets).toContain('deepswe');
    expect(choices.presets).not.toContain('learned');
  });
});

describe('the list of runs', () => {
  it('is narrowed and ordered by its query', async () => {
    const url = await serve(async () => runResult(), untilStopped);
    const done = await ended(url, givenRequest('one'));
    const open = await submitted(url, givenRequest('two'));
    const ids = async (query: string): Promise<string[]> => {
      const answer = await request(url).get(`/v1/runs?${query}`).expect(200);
      return (answer.body as { runs: Run[] }).runs.map(({ id }) => id);
    };
    expect(await ids('status=queued,running')).toEqual([open]);
    expect(await ids('instance=one')).toEqual([done]);
    expect(await ids('q=TW')).toEqual([open]);
    expect(await ids('sort=created')).toEqual([done, open]);
    await request(url).get('/v1/runs?status=over').expect(422);
  });

  it('goes on at the cursor of every order, however long the ids of its instances', async () => {
    const store = await openSqliteStore(':memory:');
    const server = await serveRuns(store.runs, new ScriptedExecutor(untilStopped));
    const { url } = server;
    const [short, long] = [
      await submitted(url, givenRequest('a')),
      await submitted(url, givenRequest('ü'.repeat(512))),
    ];
    const page = async (query: string): Promise<RunPageView> =>
      (await request(url).get(`/v1/runs?limit=1&${query}`).expect(200)).body as RunPageView;
    for (const order of ['instance', 'k', 'cost', 'created']) {
      const first = await page(`sort=-${order}`);
      const second = await page(`sort=-${order}&cursor=${first.next_cursor}`);
      expect([...first.runs, ...second.runs].map(({ id }) => id)).toEqual([long, short]);
    }
    await server.close();
    await store.close();
  });
});
