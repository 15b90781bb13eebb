import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { gzipSync } from 'node:zlib';
import request from 'supertest';
import type { Run } from '../../../src/ports/run-store.js';
import { MemoryRunStore } from '../../fakes/memory-run-store.js';
import { GivenResources } from '../../fakes/given-room.js';
import { ScriptedExecutor } from '../../fakes/scripted-executor.js';
import { CANARY, FIXTURES } from '../../unit/io/saved-runs/saved-fixtures.js';
import { runResult } from '../../fixtures/runs.js';
import { serveRuns, type TestServer } from '../../unit/http/http-world.js';

let server: TestServer;
let executor: ScriptedExecutor;
const seen: Run[] = [];
beforeEach(async () => {
  seen.length = 0;
  executor = new ScriptedExecutor(async (run) => {
    seen.push(run);
    return runResult();
  });
  server = await serveRuns(new MemoryRunStore(), executor);
});
afterEach(() => server.close());

const uploads = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('bestk-upload-'));
const lines = ['r2e-gym', 'openhands events', 'augment', 'swe-bench predictions']
  .map((format) => `${JSON.stringify(FIXTURES[format]?.content)}\n`)
  .join('');
const send = (body: string | Buffer, type = 'application/x-ndjson', query = ''): request.Test =>
  request(server.url).post(`/v1/rescores${query}`).set('content-type', type).send(body);

describe('saved runs over HTTP', () => {
  it.each([
    ['as lines', lines, 'application/x-ndjson'],
    ['packed', gzipSync(lines), 'application/gzip'],
  ])('become a run for each instance: %s', async (_name, body, type) => {
    const before = uploads();
    const taken = (await send(body, type, '?preset=ef-only&verifiers=ef').expect(202)).body as unknown;
    expect(taken).toMatchObject({
      candidates: 4,
      skipped: [],
      rejected: { count: 0 },
      runs: [{ instance_id: 'o__r-1' }],
    });
    const { id } = (taken as { runs: { id: string }[] }).runs[0] ?? { id: '' };
    await request(server.url).get(`/v1/runs/${id}`).expect(200);
    const asked = seen.find((run) => run.id === id)?.request as { candidates: unknown[]; preset: string };
    expect(asked).toMatchObject({ preset: 'ef-only', verifiers: ['ef'], issue: { problem_statement: 'add is wrong' } });
    expect(asked.candidates).toHaveLength(4);
    expect(JSON.stringify(asked)).not.toContain(CANARY);
    expect(uploads()).toEqual(before);
  });

  it('become other runs under other settings, and the same under the same', async () => {
    let setup = '';
    executor.setup = () => Promise.resolve(setup);
    const ids: unknown[] = [];
    for (setup of ['one judge', 'another judge', 'one judge']) {
      const body = (await send(lines).expect(202)).body as { runs: { id: string }[] };
      ids.push(body.runs[0]?.id);
    }
    expect(ids[1]).not.toBe(ids[0]);
    expect(ids[2]).toBe(ids[0]);
  });

  it('are refused, and nothing of them is kept, while the disk is low', async () => {
    const before = uploads();
    const low = await serveRuns(new MemoryRunStore(), new ScriptedExecutor(), {
      room: new GivenResources({ uploads: 1 }),
    });
    const answer = await request(low.url).post('/v1/rescores').set('content-type', 'application/x-ndjson').send(lines);
    await low.close();
    expect(answer.status).toBe(507);
    expect(answer.type).toBe('application/problem+json');
    expect(answer.body).toMatchObject({ code: 'disk-low', next: expect.stringContaining('Free disk') as string });
    expect(uploads()).toEqual(before);
    expect(seen).toEqual([]);
  });

  it('say what could not be read, and what has no statement', async () => {
    const statementless = `${JSON.stringify(FIXTURES['swe-bench predictions']?.content).replace('o__r-1', 'o__r-2')}\n`;
    const body = (await send(`${lines}nonsense}\n${statementless}`).expect(202)).body as unknown;
    expect(body).toMatchObject({
      rejected: { count: 1, first: [{ line: 5, reason: expect.stringMatching(/is not JSON/) as string }] },
      skipped: [{ instance_id: 'o__r-2', reason: expect.stringMatching(/no problem statement/) as string }],
    });
  });

  it.each(['x'.repeat(513), 'a\0b', '\ud800'])('with an id that none can have are told apart: %#', async (id) => {
    const wrong = JSON.stringify(FIXTURES['swe-bench predictions']?.content).replace('"o__r-1"', JSON.stringify(id));
    const body = (await send(`${wrong}\n${lines}`).expect(202)).body as unknown;
    expect(body).toMatchObject({
      candidates: 4,
      rejected: { count: 1, first: [{ line: 1, reason: expect.stringMatching(/^instance_id: /) as string }] },
    });
  });

  const TOO_DEEP = /is nested deeper than 100 levels/;
  const TOO_LONG = /the line is longer than 16 MB; .*bestk rescore/;
  const mb = (count: number, of: string): string => of.repeat(Math.floor((count * 1024 * 1024) / of.length));
  it.each([
    ['of brackets alone', mb(6, '['), TOO_DEEP, 1],
    ['of deep objects', `${mb(6, '{"a":')}1${mb(1, '}')}`, TOO_DEEP, 1],
    ['that is deep and whole', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`, TOO_DEEP, 1],
    ['of millions of values', `{"a":[${mb(2, '[],')}[]]}`, /has more than 1000000 values/, 1],
    ['that is longer than any saved run', `{"a":"${mb(17, 'x')}"}`, TOO_LONG, 1],
    ['that is longer and never ends', mb(40, '['), TOO_LONG, 1],
  ])('lose a line %s, unparsed, and nothing else', async (_what, line, reason, at) => {
    const first = [{ line: at, reason: expect.stringMatching(reason) as string }];
    const taken = (await send(`${line}\n${lines}`).expect(202)).body as unknown;
    expect(taken).toMatchObject({ candidates: 4, rejected: { count: 1, first } });
    const alone = (await send(line).expect(422)).body as unknown;
    expect(alone).toMatchObject({ detail: expect.stringMatching(reason) as string });
  });

  it.each([
    ['deep over many lines', mb(4, '[\n'), TOO_DEEP],
    ['of millions of lines', `{\n${mb(8, '"a":1\n')}`, /has more than 1000000 values/],
    ['longer than an upload may hold one', `{\n${mb(17, `"a": "${'x'.repeat(1000)}",\n`)}"b": 1}`, /larger than 16 MB/],
  ])('of one document that is %s are refused', async (_what, document, reason) => {
    const problem = (await send(document).expect(422)).body as unknown;
    expect(problem).toMatchObject({ detail: expect.stringMatching(reason) as string });
  });

  it('of one instance are no more than a run may be asked for in JSON', async () => {
    const row = FIXTURES['swe-bench predictions']?.content as object;
    const large = [0, 1, 2, 3, 4].map((n) =>
      JSON.stringify({ ...row, instance_id: 'o__r-9', model_name_or_path: `m${n}`, model_patch: mb(15, 'x') }),
    );
    const body = (await send(`${large.join('\n')}\n${lines}`).expect(202)).body as unknown;
    expect(body).toMatchObject({
      runs: [{ instance_id: 'o__r-1' }],
      skipped: [{ instance_id: 'o__r-9', reason: expect.stringMatching(/exceeds 64 MB/) as string }],
    });
  });

  it.each([
    ['nothing', '', 422],
    ['what is no saved run', '{"hello": 1}\n', 422],
  ])('that are %s are refused', async (_name, text, status) => {
    const problem = (await send(text).expect(status)).body as unknown;
    expect(problem).toMatchObject({ detail: expect.stringMatching(/has no candidates/) as string });
    expect(uploads()).toEqual([]);
  });

  it('of another type are refused unread', async () => {
    await send('{}', 'application/json').expect(415);
    await request(server.url).post('/v1/runs').set('content-type', 'application/x-ndjson').send(lines).expect(415);
  });
});
