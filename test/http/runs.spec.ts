import { setTimeout as sleep } from 'node:timers/promises';
import request from 'supertest';
import type { Run, RunEvent } from '../../src/ports/run-store.js';
import { MemoryRunStore } from '../fakes/memory-run-store.js';
import { ScriptedExecutor, untilStopped, type RunScript } from '../fakes/scripted-executor.js';
import { givenRequest, PATCH, runResult } from '../fixtures/runs.js';
import { TIMES, until } from '../fixtures/run-world.js';
import { serveRuns, type TestServer } from './http-world.js';
import { readEvents } from './server-sent-events.js';

const servers: TestServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function serve(...scripts: RunScript[]): Promise<{ url: string; executor: ScriptedExecutor }> {
  const executor = new ScriptedExecutor(...scripts);
  const server = await serveRuns(new MemoryRunStore(), executor);
  servers.push(server);
  return { url: server.url, executor };
}

async function submit(url: string, body: object = givenRequest()): Promise<string> {
  const accepted = await request(url).post('/v1/runs').send(body).expect(202);
  return (accepted.body as Run).id;
}

async function ended(url: string, id: string): Promise<void> {
  await until(async () => {
    const body = (await request(url).get(`/v1/runs/${id}`)).body as unknown;
    return !['queued', 'running'].includes((body as Run).status);
  });
}

const answering =
  (patch: string | null): RunScript =>
  async (_run, emit) => {
    await emit('verdict', { candidate_id: 'a' });
    await emit('verdict', { candidate_id: 'b' });
    return runResult(patch);
  };

describe('a run over HTTP', () => {
  it('is accepted, worked on and answered', async () => {
    const { url } = await serve(answering(PATCH));
    const accepted = await request(url).post('/v1/runs').send(givenRequest()).expect(202);
    const { id } = accepted.body as Run;
    expect(accepted.body).toEqual({ id, status: 'queued' });
    expect(accepted.headers.location).toBe(`/v1/runs/${id}`);
    await ended(url, id);
    const body = (await request(url).get(`/v1/runs/${id}`).expect(200)).body as unknown;
    const { selection, statistics, usage } = runResult();
    expect(body).toMatchObject({ id, status: 'done', failure: null, selection, statistics, usage });
    expect(body).toMatchObject({
      progress: { events: 5, by_type: { status: 3, verdict: 2 }, last: { seq: 5, type: 'status' } },
    });
    expect(body).not.toHaveProperty('request');
  });

  it('gives the patch, byte for byte', async () => {
    const { url } = await serve(answering(PATCH));
    const id = await submit(url);
    await ended(url, id);
    const answer = await fetch(`${url}/v1/runs/${id}/patch`);
    expect(answer.headers.get('content-type')).toMatch(/^text\/x-diff/);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.from(PATCH));
  });

  it('gives 409 for the patch of a run that goes on, and 404 where there is none', async () => {
    const { url } = await serve(untilStopped, answering(null), async () => Promise.reject(new Error('defect')));
    const running = await submit(url);
    await request(url).get(`/v1/runs/${running}/patch`).expect(409);
    for (const instance of ['none', 'failed']) {
      const id = await submit(url, givenRequest(instance));
      await ended(url, id);
      await request(url)
        .get(`/v1/runs/${id}/patch`)
        .expect(404)
        .expect('content-type', /problem\+json/);
    }
  });

  it('gives one candidate with all that was found out about it', async () => {
    const { url } = await serve(answering(PATCH));
    const id = await submit(url);
    await ended(url, id);
    const path = `/v1/runs/${id}/candidates/${encodeURIComponent('b/2 ?#%')}`;
    const body = (await request(url).get(path).expect(200)).body as unknown;
    expect(body).toMatchObject({
      candidate_id: 'b/2 ?#%',
      patch: PATCH,
      trajectory: { exit_reason: 'agent' },
      verdicts: [{ candidate_id: 'b/2 ?#%', score: 3 }],
      cells: [{ candidate_id: 'b/2 ?#%', passed: 3 }],
    });
    await request(url).get(`/v1/runs/${id}/candidates/__proto__`).expect(404);
  });

  it('is the same run for the same Idempotency-Key, and refuses another request under it', async () => {
    const { url, executor } = await serve(answering(PATCH));
    const post = (body: object) => request(url).post('/v1/runs').set('Idempotency-Key', 'mine').send(body);
    const answers = await Promise.all([post(givenRequest()), post(givenRequest()), post(givenRequest())]);
    expect(new Set(answers.map(({ body }) => (body as Run).id)).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect((await post(givenRequest('other')).expect(422)).body).toMatchObject({ code: 'bad-input', status: 422 });
    expect(await submit(url)).not.toBe(await submit(url));
    await until(() => executor.started.length === 3);
  });

  it('is listed, newest first, in pages', async () => {
    const { url } = await serve(answering(PATCH));
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.unshift(await submit(url, givenRequest(`i-${n}`)));
    const first = await request(url).get('/v1/runs?limit=3').expect(200);
    const page = first.body as { runs: Run[]; next_cursor: string };
    const second = await request(url).get('/v1/runs').query({ limit: 3, cursor: page.next_cursor });
    const rest = second.body as { runs: Run[]; next_cursor: string | null };
    expect([...page.runs, ...rest.runs].map(({ id }) => id)).toEqual(ids);
    expect(rest.next_cursor).toBeNull();
  });

  it('is cancelled within moments, and deleted only then', async () => {
    const { url, executor } = await serve(untilStopped);
    const id = await submit(url);
    await until(() => executor.atOnce === 1);
    expect((await request(url).delete(`/v1/runs/${id}`).expect(409)).body).toMatchObject({ code: 'conflict' });
    const body = (await request(url).post(`/v1/runs/${id}/cancel`).expect(202)).body as unknown;
    expect(body).toEqual({ id, status: 'cancelled' });
    await until(() => executor.atOnce === 0);
    await request(url).delete(`/v1/runs/${id}`).expect(204);
    await request(url).get(`/v1/runs/${id}`).expect(404);
    await request(url).post(`/v1/runs/${id}/cancel`).expect(404);
  });

  it('cannot be cancelled once it is done', async () => {
    const { url } = await serve(answering(PATCH));
    const id = await submit(url);
    await ended(url, id);
    await request(url).post(`/v1/runs/${id}/cancel`).expect(409);
  });
});

class CountingStore extends MemoryRunStore {
  looks = 0;

  override events(id: string, afterSeq: number): Promise<readonly RunEvent[]> {
    this.looks += 1;
    return super.events(id, afterSeq);
  }
}

describe('the events of a run', () => {
  const slow: RunScript = async (_run, emit) => {
    for (let n = 1; n <= 20; n += 1) {
      await emit('step', { n, text: 'line\nbreak' });
      await sleep(5);
    }
    return runResult();
  };

  it('come live, end with the run, and go on after Last-Event-ID without gap or repetition', async () => {
    const { url } = await serve(slow);
    const events = `${url}/v1/runs/${await submit(url)}/events`;
    const response = await fetch(events);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const seen = await readEvents(response, 7);
    const resumed = await fetch(events, { headers: { 'Last-Event-ID': String(seen.at(-1)?.id) } });
    seen.push(...(await readEvents(resumed)));
    expect(seen.map(({ id }) => id)).toEqual(Array.from({ length: 23 }, (_, n) => n + 1));
    expect(seen[2]).toMatchObject({ type: 'step', data: { seq: 3, data: { n: 1, text: 'line\nbreak' } } });
    expect(seen.at(-1)).toMatchObject({ type: 'status', data: { data: { status: 'done' } } });
    expect((await fetch(events, { headers: { 'Last-Event-ID': '23' } })).status).toBe(204);
  });

  it('are not looked for any more once the client hung up', async () => {
    const store = new CountingStore();
    const server = await serveRuns(store, new ScriptedExecutor(untilStopped));
    servers.push(server);
    const leave = new AbortController();
    const path = `${server.url}/v1/runs/${await submit(server.url)}/events`;
    const response = await fetch(path, { signal: leave.signal });
    await until(() => store.looks > 5);
    leave.abort();
    await response.body?.cancel().catch(() => undefined);
    await sleep(2 * TIMES.pollMs);
    const looks = store.looks;
    await sleep(4 * TIMES.pollMs);
    expect(store.looks).toBe(looks);
  });

  it('end when the service closes', async () => {
    const { url } = await serve(untilStopped);
    const response = await fetch(`${url}/v1/runs/${await submit(url)}/events`);
    const reading = readEvents(response);
    await sleep(50);
    const before = Date.now();
    await servers.pop()?.close();
    expect((await reading).length).toBeGreaterThanOrEqual(3);
    expect(Date.now() - before).toBeLessThan(2_000);
  });
});
