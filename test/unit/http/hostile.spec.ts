import { STATED } from '../../../verifiers/hybrid/evidence.js';
import { BadInputError } from '../../../src/core/errors/errors.js';
import { StoreUnavailableError } from '../../../src/core/errors/unavailable.js';
import { ListenError } from '../../../src/http/serve.js';
import type { RunPage } from '../../../src/ports/run-store.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import { checkRequest } from '../../../src/runs/check-request.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { givenRequest, runResult } from '../../fixtures/runs.js';
import { NoRunDependencies, serveRuns, type TestServer } from './http-world.js';

interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly errors?: readonly { path: string; message: string }[];
}

/** A store that went away while the service ran. */
class LostStore extends MemoryRunStore {
  override list(): Promise<RunPage> {
    return Promise.reject(new StoreUnavailableError('/data/store.sqlite: disk I/O error'));
  }
}

const idle = () => new ScriptedExecutor(async () => runResult());
let server: TestServer;
beforeAll(async () => {
  server = await serveRuns(new MemoryRunStore(), idle());
});
afterAll(() => server.close());

async function problem(response: Response | Promise<Response>): Promise<Problem> {
  const answer = await response;
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const body = (await answer.json()) as Problem;
  expect(body).toMatchObject({ type: 'about:blank', status: answer.status });
  expect(body.title).not.toBe('');
  expect(JSON.stringify(body)).not.toMatch(/node_modules|\.ts:\d/);
  return body;
}

function post(body: string | Uint8Array<ArrayBuffer>, contentType = 'application/json'): Promise<Response> {
  return fetch(`${server.url}/v1/runs`, { method: 'POST', body, headers: { 'content-type': contentType } });
}

describe('problems', () => {
  it('name every offending path', async () => {
    const { issue, candidates } = givenRequest();
    const [first] = candidates ?? [];
    const twice = { issue, candidates: [first, first, { candidate_id: 'x', patch: '', instance_id: 'other' }], k: 9 };
    const { status, errors } = await problem(post(JSON.stringify(twice)));
    expect(status).toBe(422);
    expect(errors?.map(({ path }) => path).toSorted()).toEqual([
      'candidates.1.candidate_id',
      'candidates.2.instance_id',
      'k',
    ]);
    const wrong = { issue: { ...issue, environment: { image: 7 } }, candidates: [{ patch: 1 }], surprise: true };
    const paths = (await problem(post(JSON.stringify(wrong)))).errors?.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining(['issue.environment.image', 'candidates.0.candidate_id', 'candidates.0.patch']),
    );
  });

  it.each([
    ['an unknown route', 'GET', '/v1/nothing', 404],
    ['an unknown run', 'GET', '/v1/runs/x', 404],
    ['the events of an unknown run', 'GET', '/v1/runs/x/events', 404],
    ['an id like a query', 'GET', `/v1/runs/${encodeURIComponent("' OR 1=1 --")}`, 404],
    ['an id like a path', 'GET', '/v1/runs/..%2f..%2fetc%2fpasswd/patch', 404],
    ['an id with a line break and a zero', 'DELETE', '/v1/runs/a%0d%0aX:%20y%00', 404],
    ['a long id', 'GET', `/v1/runs/${'x'.repeat(8_000)}`, 404],
    ['a broken escape', 'GET', '/v1/runs/%E0%A4%A', 400],
    ['a page of nothing', 'GET', '/v1/runs?limit=0', 422],
    ['a parameter twice', 'GET', '/v1/runs?limit=1&limit=2', 422],
    ['an unknown parameter', 'GET', '/v1/runs?offset=1', 422],
    ['a title that no database can hold', 'POST', '/v1/reports?title=a%00b', 422],
  ])('answer %s', async (_what, method, path, status) => {
    expect((await problem(fetch(server.url + path, { method }))).status).toBe(status);
  });

  it.each(['x', '-1', '1e3', '9'.repeat(40)])('refuse the Last-Event-ID %s', async (id) => {
    const answer = fetch(`${server.url}/v1/runs/x/events`, { headers: { 'last-event-id': id } });
    expect((await problem(answer)).status).toBe(422);
  });

  it('refuse an Idempotency-Key that is too long', async () => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k'.repeat(256) };
    const body = JSON.stringify(givenRequest());
    const { status, detail } = await problem(fetch(`${server.url}/v1/runs`, { method: 'POST', body, headers }));
    expect(status).toBe(422);
    expect(detail).toContain('Idempotency-Key');
  });

  it('tell what is unavailable, and nothing of a defect', async () => {
    const lost = await serveRuns(new LostStore(), idle());
    expect(await problem(fetch(`${lost.url}/readyz`))).toMatchObject({ status: 503, code: 'store-unavailable' });
    expect((await fetch(`${lost.url}/healthz`)).status).toBe(200);
    expect(lost.logged.join()).toContain('disk I/O error');
    await lost.close();
    const store = new MemoryRunStore();
    const strange = await serveRuns(store, new ScriptedExecutor(async () => ({ secret: 'not a result' })));
    const { run } = await store.create('k', {});
    await store.update(run.id, { status: 'done', result: { secret: 1 } });
    const defect = await problem(fetch(`${strange.url}/v1/runs/${run.id}/evidence`));
    expect(defect).toMatchObject({ status: 500, code: 'internal' });
    await strange.close();
  });
});

describe('a request that cannot be executed', () => {
  it.each([
    ['preset', { preset: 'nope' }, 'unknown preset "nope".'],
    ['verifiers', { verifiers: ['lint-clean'] }, '"lint-clean" is not a verifier.'],
    ['budget.usd', { budget: { usd: 1 } }, expect.stringMatching(/^is in US dollars/) as string],
  ])('is refused with the path %s', async (path, wrong, message) => {
    const executor = idle();
    executor.check = (request) => void checkRequest(RunRequest.parse(request), new NoRunDependencies());
    const checking = await serveRuns(new MemoryRunStore(), executor);
    try {
      const body = JSON.stringify({ ...givenRequest(), ...wrong });
      const headers = { 'Content-Type': 'application/json' };
      const refused = await problem(fetch(`${checking.url}/v1/runs`, { method: 'POST', body, headers }));
      expect(refused).toMatchObject({ status: 422, code: 'bad-input', errors: [{ path, message }] });
    } finally {
      await checking.close();
    }
  });
});

it('names no path for what is wrong in a file of the service', async () => {
  const executor = idle();
  executor.check = () => {
    throw new BadInputError('is no module.', { file: '/etc/own.js', field: 'BESTK_VERIFIERS' });
  };
  const checking = await serveRuns(new MemoryRunStore(), executor);
  const headers = { 'Content-Type': 'application/json' };
  const request = { method: 'POST', body: JSON.stringify(givenRequest()), headers };
  const refused = await problem(fetch(`${checking.url}/v1/runs`, request)).finally(() => checking.close());
  expect(refused).toMatchObject({ status: 422, code: 'bad-input' });
  expect(refused).not.toHaveProperty('errors');
});

describe('hostile bodies', () => {
  const patched = (patch: string): string =>
    JSON.stringify({ ...givenRequest(), candidates: [{ candidate_id: 'a', patch }] });

  it('takes brackets for what they are in a patch', async () => {
    expect((await post(patched('{["\\'.repeat(10_000)))).status).toBe(202);
  });

  it.each(['a\0b', '\ud800', 'b\udc00c'])('refuses the id %j, which no database can hold', async (id) => {
    const named = { ...givenRequest(), candidates: [{ candidate_id: id, patch: '' }] };
    expect((await problem(post(JSON.stringify(named)))).errors?.[0]?.path).toBe('candidates.0.candidate_id');
  });

  it.each([
    ['candidates.0.patch', { candidates: [{ candidate_id: 'a', patch: 'diff \ud800' }] }],
    ['tests.0.content', { tests: [{ test_id: 't', path: 't.py', content: '\udc00' }] }],
    ['issue.problem_statement', { issue: { ...givenRequest().issue, problem_statement: 'a\ud800b' } }],
    ['issue.environment.image', { issue: { ...givenRequest().issue, environment: { image: 'a\0b' } } }],
  ])('refuses at %s what has no bytes or is cut off', async (path, change) => {
    const { status, errors } = await problem(post(JSON.stringify({ ...givenRequest(), ...change })));
    expect([status, errors?.[0]?.path]).toEqual([422, path]);
  });

  it.each([
    ['calibration.share.0', { share: [5e-324, 1] }],
    ['calibration.submitted.right.1', { submitted: { right: [1, 1e308], wrong: [1, 1] } }],
    ['calibration.judges.execution_free.slope', { judges: { execution_free: { intercept: 0, slope: 1e308 } } }],
    ['calibration.judges.execution_free.intercept', { judges: { execution_free: { intercept: -1e308, slope: 1 } } }],
  ])('refuses at %s what no probability comes of', async (path, change) => {
    const counts = { issues: 0, candidates: 0, resolved: 0, repos: [], folds: 0, picked_right: 0, mean_confidence: 0 };
    const data_card = { ...counts, auc: null, brier: null, ece: null };
    const fitted = { ...STATED, returned: { from: [0], to: [0.5] }, labels: {}, models: [], data_card };
    const calibration = { kind: 'bestk-calibration', version: 1, ...fitted };
    const send = (value: object) => post(JSON.stringify({ ...givenRequest(), calibration: value }));
    expect((await send(calibration)).status).toBe(202);
    const { status, errors } = await problem(send({ ...calibration, ...change }));
    expect([status, errors?.[0]?.path]).toEqual([422, path]);
  });

  it('takes halves of characters that an agent saw, whole ones anywhere, and the NUL of a binary patch', async () => {
    const steps = [{ observation: 'caf\udce9' }];
    const given = [{ candidate_id: 'a', patch: 'x\0\u{1f600}', trajectory: { steps } }];
    expect((await post(JSON.stringify({ ...givenRequest(), candidates: given }))).status).toBe(202);
  });

  it('takes a body of 10 MB', async () => {
    expect((await post(patched('x'.repeat(10_000_000)))).status).toBe(202);
  });

  it('refuses a body above 64 MB', async () => {
    expect((await problem(post(patched('x'.repeat(64 * 1024 * 1024))))).status).toBe(413);
  });

  it.each([
    ['malformed JSON', '{"issue": ', 400],
    ['a bare word', 'nothing', 400],
    ['an empty body', '', 422],
    ['a list', '[]', 422],
    ['ever more values', `{"candidates":[${'[],'.repeat(600_000)}[]]}`, 413],
    ['deep nesting', `{"issue":${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}}`, 400],
    ['deep objects', `{"candidates":${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}}`, 400],
    ['a deep list that never ends', '['.repeat(30_000_000), 400],
    ['a string that never ends', `{"issue":"${'\\\\"'.repeat(1_000)}`, 400],
    ['a prototype', '{"__proto__":{"issue":{}},"constructor":1}', 422],
  ])('refuses %s', async (_what, body, status) => {
    expect((await problem(post(body))).status).toBe(status);
  });

  it('refuses invalid UTF-8 instead of changing a patch', async () => {
    const bytes = Uint8Array.from(Buffer.from(patched('caf\u00e9'), 'latin1'));
    const { status, detail } = await problem(post(bytes));
    expect({ status, detail }).toEqual({ status: 400, detail: 'The body is not valid UTF-8.' });
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/json; charset=utf-16le',
  ])('refuses the content type %s', async (type) => {
    expect((await problem(post(JSON.stringify(givenRequest()), type))).status).toBe(415);
  });
});

describe('who may ask', () => {
  const keys = ['first-key', 'second-key'];
  const get = async (url: string, headers: Record<string, string> = {}) => (await fetch(url, { headers })).status;

  it('is everybody with a key, and for health everybody', async () => {
    const guarded = await serveRuns(new MemoryRunStore(), idle(), { apiKeys: keys });
    const runs = `${guarded.url}/v1/runs`;
    expect((await problem(fetch(runs))).status).toBe(401);
    expect(await get(runs, { authorization: 'Bearer second-key' })).toBe(200);
    expect(await get(runs, { 'x-api-key': 'first-key' })).toBe(200);
    const basic = (user: string) => ({ authorization: `Basic ${Buffer.from(user).toString('base64')}` });
    expect(await get(runs, basic('trainer:first-key'))).toBe(200);
    for (const wrong of ['first-key', 'first-key:', ':', 'trainer:second']) {
      expect(await get(runs, basic(wrong))).toBe(401);
    }
    expect(await get(runs, { authorization: 'Basic first-key' })).toBe(401);
    // As through a proxy with users of its own.
    expect(await get(runs, { ...basic('ana:other'), 'x-api-key': 'first-key' })).toBe(200);
    for (const wrong of ['', 'first-ke', 'first-key,second-key', 'FIRST-KEY']) {
      expect(await get(runs, { authorization: `Bearer ${wrong}` })).toBe(401);
      expect(await get(runs, { 'x-api-key': wrong })).toBe(401);
    }
    for (const path of ['/v1/runs/', '/V1/Runs', '//v1/runs', '/healthz/../v1/runs', '/healthz%2f..', '/nothing']) {
      expect(await get(guarded.url + path)).toBe(401);
    }
    expect(await get(`${guarded.url}/healthz`)).toBe(200);
    expect(await get(`${guarded.url}/readyz`)).toBe(200);
    await guarded.close();
  });

  it('is, without keys, nobody beyond loopback', async () => {
    await expect(serveRuns(new MemoryRunStore(), idle(), { host: '0.0.0.0' })).rejects.toThrow(BadInputError);
    const open = await serveRuns(new MemoryRunStore(), idle(), { host: '0.0.0.0', apiKeys: keys });
    await open.close();
  });

  it('is told when the address is taken', async () => {
    const { port } = new URL(server.url);
    const again = serveRuns(new MemoryRunStore(), idle(), { port: Number(port) });
    await expect(again).rejects.toThrow(ListenError);
  });
});
