import { MemoryRunStore } from '../../../fakes/memory-run-store.js';
import { ScriptedExecutor } from '../../../fakes/scripted-executor.js';
import { givenRequest, runResult } from '../../../fixtures/runs.js';
import { serveRuns, type TestServer } from '../../../unit/http/http-world.js';
import { problemIn, rawRequest } from '../../../unit/http/raw-request.js';

let server: TestServer;
beforeAll(async () => {
  server = await serveRuns(new MemoryRunStore(), new ScriptedExecutor(async () => runResult()), {
    apiKeys: ['secret'],
  });
});
afterAll(() => server.close());

interface Answer {
  readonly status: number;
  readonly length: number;
  readonly errors: readonly { path: string; message: string }[];
}

async function post(body: unknown): Promise<Answer> {
  const answer = await fetch(`${server.url}/v1/runs`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'x-api-key': 'secret' },
  });
  const text = await answer.text();
  return { status: answer.status, length: text.length, errors: (JSON.parse(text) as Partial<Answer>).errors ?? [] };
}

const request = givenRequest();
const wrong = (count: number): number[] => Array<number>(count).fill(1);

describe('a large body', () => {
  it.each([
    ['steps', { ...request, candidates: [{ candidate_id: 'a', patch: '', trajectory: { steps: wrong(400_000) } }] }],
    ['files', { ...request, issue: environment({ regression_files: wrong(400_000) }) }],
    ['verifiers', { ...request, verifiers: wrong(400_000) }],
    ['lists of steps', { ...request, candidates: many(1_000, 400) }],
  ])('whose %s are all wrong is refused at the first', async (_what, body) => {
    const { status, errors } = await post(body);
    expect(status).toBe(422);
    expect(errors).toHaveLength(1);
    expect(errors[0]?.path).toMatch(/\.0$|_files$/);
  });

  it('that is right is taken', async () => {
    const steps = Array.from({ length: 60_000 }, () => ({ thought: 't', action: 'a' }));
    expect(
      (await post({ ...request, candidates: [{ candidate_id: 'a', patch: '', trajectory: { steps } }] })).status,
    ).toBe(202);
  });

  it('is not sent back', async () => {
    const keys = Object.fromEntries(Array.from({ length: 50_000 }, (_, n) => [`key ${n}`, n]));
    for (const body of [
      { ...request, ...keys },
      { ...request, ['k'.repeat(2_000_000)]: 1 },
    ]) {
      const { status, length } = await post(body);
      expect([status, length < 10_000]).toEqual([422, true]);
    }
  });

  const HEAD = 'POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';

  it('that says that it is too large is refused before it comes', async () => {
    const answer = await rawRequest(server.url, `${HEAD}X-Api-Key: secret\r\nContent-Length: 99999999999\r\n\r\n{`);
    expect(problemIn(answer).status).toBe(413);
    expect(answer.seconds).toBeLessThan(9);
  });

  it('that comes in crumbs is cut off', async () => {
    const head = `${HEAD.replace('application/json', 'application/json\r\nX-Api-Key: secret')}Transfer-Encoding: chunked\r\n\r\n`;
    const answer = await rawRequest(server.url, head + '1\r\n \r\n'.repeat(20_000));
    expect(problemIn(answer)).toMatchObject({ status: 400, detail: 'The body arrives in chunks that are too small.' });
  });

  it('that trickles behind a refusal does not hold its connection', async () => {
    const answer = await rawRequest(server.url, `${HEAD}Content-Length: 1000000\r\n\r\n`, (socket) => {
      const timer = setInterval(() => socket.write(' '), 1_000);
      socket.on('close', () => {
        clearInterval(timer);
      });
    });
    expect(answer.status).toBe(401);
    expect(answer.seconds).toBeLessThan(25);
  });
});

function environment(more: object): object {
  return { ...request.issue, environment: { ...request.issue.environment, ...more } };
}

function many(candidates: number, steps: number): object[] {
  return Array.from({ length: candidates }, (_, n) => ({
    candidate_id: `c${n}`,
    patch: '',
    trajectory: { steps: wrong(steps) },
  }));
}
