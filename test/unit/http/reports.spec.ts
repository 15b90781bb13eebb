import { ThreadedReports } from '../../../src/app/threads/threaded-reports.js';
import { BOUNDLESS } from '../../../src/ports/sandbox.js';
import { type RunResult } from '../../../src/core/run/run-result.js';
import { RunRequest } from '../../../src/core/run/run-request.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { givenRequest, runResult } from '../../fixtures/runs.js';
import { serveRuns, type TestServer } from './http-world.js';

let server: TestServer;
beforeAll(async () => {
  server = await serveRuns(
    new MemoryRunStore(),
    new ScriptedExecutor(async (run): Promise<RunResult> => {
      const { instance_id } = RunRequest.parse(run.request).issue;
      const result = runResult();
      return { ...result, selection: { ...result.selection, instance_id } };
    }),
  );
});
afterAll(() => server.close());

async function doneRun(instance: string): Promise<string> {
  const body = JSON.stringify(givenRequest(instance));
  const headers = { 'content-type': 'application/json' };
  const { id } = (await (await fetch(`${server.url}/v1/runs`, { method: 'POST', body, headers })).json()) as {
    id: string;
  };
  for (let status = ''; status !== 'done'; await new Promise((resolve) => setTimeout(resolve, 10))) {
    status = ((await (await fetch(`${server.url}/v1/runs/${id}`)).json()) as { status: string }).status;
  }
  return id;
}

function ask(lines: readonly unknown[], query = ''): Promise<Response> {
  const body = lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('');
  const headers = { 'content-type': 'application/x-ndjson' };
  return fetch(`${server.url}/v1/reports${query}`, { method: 'POST', body, headers });
}

const labels = (instance: string, ...right: readonly string[]): unknown[] =>
  ['a', 'b/2 ?#%'].map((candidate_id) => ({
    instance_id: instance,
    candidate_id,
    resolved: right.includes(candidate_id),
  }));

describe('reports over HTTP', () => {
  it('are made of stored runs and labels, and given as JSON or as a page', async () => {
    const ids = [await doneRun('o__r-1'), await doneRun('o__r-2')];
    const lines = [...ids.map((run_id) => ({ run_id })), ...labels('o__r-1', 'b/2 ?#%'), ...labels('o__r-2')];
    const made = await ask(lines, '?title=My%20report');
    expect(made.status).toBe(201);
    const answer = (await made.json()) as { id: string };
    expect(answer).toEqual({
      id: expect.stringMatching(/^\w{32}$/) as unknown,
      title: 'My report',
      runs: 2,
      unknown_labels: 0,
      notes: [],
      labelled: 2,
    });
    expect(made.headers.get('location')).toBe(`/v1/reports/${answer.id}`);

    const json = await fetch(`${server.url}/v1/reports/${answer.id}`);
    expect(json.headers.get('content-type')).toMatch(/^application\/json/);
    expect(await json.json()).toMatchObject({
      kind: 'bestk-report',
      title: 'My report',
      returned: { right: { resolved: 1, issues: 2 } },
    });

    const page = await fetch(`${server.url}/v1/reports/${answer.id}`, { headers: { accept: 'text/html,*/*;q=0.8' } });
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'unsafe-inline'/);
    expect(await page.text()).toContain('<h1>My report</h1>');

    const again = (await (await ask(lines, '?title=My%20report')).json()) as { id: string };
    expect(again.id).toBe(answer.id);
    const listed = (await (await fetch(`${server.url}/v1/reports`)).json()) as { reports: { id: string }[] };
    expect(listed.reports.map(({ id }) => id)).toEqual([answer.id]);
  });

  it('keep unknown labels apart, and refuse labels that contradict each other', async () => {
    const ids = [await doneRun('o__u-1'), await doneRun('o__u-2')];
    const [first, second] = ['o__u-1', 'o__u-2'].map((instance_id) =>
      ['a', 'b/2 ?#%'].map((candidate_id) => ({ instance_id, candidate_id, resolved: null, reason: 'timed out' })),
    );
    const runs = ids.map((run_id) => ({ run_id }));
    const known = { instance_id: 'o__u-2', candidate_id: 'a', resolved: true };
    const made = await ask([...runs, ...(first ?? []), ...(second ?? []), known]);
    const answer = (await made.json()) as { id: string };
    expect(answer).toMatchObject({
      ...{ labelled: 2, unknown_labels: 3 },
      notes: [
        'unknown labels (null): 3 of 4; the most frequent reason (3) is: timed out',
        'candidates with a known and an unknown label: 1, such as "a" of o__u-2; the known label is used',
      ],
    });
    expect(await (await fetch(`${server.url}/v1/reports/${answer.id}`)).json()).toMatchObject({
      returned: { right: null, unknown_labels: 2 },
      unknown_labels: {
        ...{ candidates: 3, issues: 1 },
        issues_without_known_label: [{ instance_id: 'o__u-1', candidates: 2, reason: 'timed out' }],
      },
    });
    const refused = await ask([...runs, known, { ...known, resolved: false }]);
    expect([refused.status, await refused.json()]).toMatchObject([
      422,
      { detail: expect.stringMatching(/line 4.*of "a" contradicts line 3/) as unknown },
    ]);
  });

  it.each([
    ['nothing', [], 422],
    ['a line that is no JSON', ['{"run_id":'], 422],
    ['a line of something else', [{ foo: 1 }], 422],
    ['a run that is not there', [{ run_id: 'run_nobody' }], 404],
    ['an id that can be none', [{ run_id: '../../etc/passwd' }], 404],
  ] as const)('refuse %s', async (_, lines, status) => {
    const answer = await ask(lines);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  });

  it.each([
    ['deeper than a hundred levels', '['.repeat(6_000_000), /line 2.* is nested deeper than 100 levels/],
    ['a list of a hundred thousand', `[${'1,'.repeat(100_000)}1]`, /line 2.* has more than 100000 values/],
    ['longer than 16 MB', `{"run_id": "${'x'.repeat(17_000_000)}"}`, /line 2.* is longer than 16 MB/],
    ['longer than 16 MB and without an end', '['.repeat(40_000_000), /line 2.* is longer than 16 MB/],
  ])('refuse a line that is %s, unparsed', async (_what, line, said) => {
    const answer = await ask([{ run_id: 'run_nobody' }, line]);
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ detail: expect.stringMatching(said) as unknown });
  });

  it('name the line that is wrong, and the preset that nobody knows', async () => {
    const run_id = await doneRun('o__r-3');
    expect(await (await ask([{ run_id }, 'x'])).json()).toMatchObject({
      detail: expect.stringContaining('line 2') as unknown,
    });
    expect((await ask([{ run_id }], '?presets=nobody')).status).toBe(422);
    expect((await fetch(`${server.url}/v1/reports/nobody`)).status).toBe(404);
    expect((await fetch(`${server.url}/v1/reports/${encodeURIComponent("x' OR 1=1")}`)).status).toBe(404);
  });
});

it('is not made any further when its client has left', async () => {
  const silent = new URL('data:text/javascript,setInterval(() => {}, 1000)');
  const reports = new ThreadedReports(null, BOUNDLESS, silent);
  const left = new AbortController();
  async function* upload(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"run_id":"x"}');
    left.abort(new Error('gone'));
  }
  await expect(reports.make(upload(), { title: 'x', presets: null, gzip: false }, left.signal)).rejects.toThrow('gone');
});
