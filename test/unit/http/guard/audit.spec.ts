import { createHash } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { BestkClient } from '../../../../examples/client/bestk-client.js';
import { Auditor } from '../../../../src/http/ops/audit.js';
import { StoreUnavailableError } from '../../../../src/core/errors/unavailable.js';
import { MemoryAuditLog } from '../../../fakes/memory-audit-log.js';
import { MemoryRunStore } from '../../../fakes/memory-run-store.js';
import { ScriptedExecutor, untilStopped } from '../../../fakes/scripted-executor.js';
import { givenRequest } from '../../../fixtures/runs.js';
import { checkedFetch } from '../checked-fetch.js';
import { serveRuns, type TestServer } from '../http-world.js';

const KEYS = [`ana:read+run:${sha256('anas-secret')}`, `boss:admin+run:${sha256('boss-secret')}`];

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

async function serve(auditLog = new MemoryAuditLog()): Promise<TestServer> {
  return serveRuns(new MemoryRunStore(), new ScriptedExecutor(untilStopped), { apiKeys: KEYS, auditLog });
}

function as({ url }: TestServer, key: string): BestkClient {
  return new BestkClient(url, { apiKey: key, fetch: checkedFetch });
}

/** What a log holds, oldest first, without ids and times. */
async function written(log: MemoryAuditLog): Promise<(string | number | null)[][]> {
  const { entries } = await log.list(1_000, null);
  return entries
    .map(({ action, actor, run_id, outcome, times }) => [action, actor, run_id, outcome, times])
    .toReversed();
}

describe('the audit log', () => {
  it('tells an administrator alone who started and cancelled what', async () => {
    const server = await serve();
    const { id } = await as(server, 'anas-secret').submitRun(givenRequest());
    const other = await as(server, 'boss-secret').submitRun(givenRequest('other'));
    await as(server, 'boss-secret').cancelRun(id);
    await expect(as(server, 'anas-secret').listAudit()).rejects.toMatchObject({ status: 403 });
    for (const path of ['/v1/audit/', '/V1/Audit?limit=1']) {
      expect((await fetch(server.url + path, { headers: { 'x-api-key': 'anas-secret' } })).status).toBe(403);
    }
    const { entries, next_cursor } = await as(server, 'boss-secret').listAudit({ limit: 2 });
    expect(entries).toMatchObject([
      { action: 'run.cancel', actor: 'boss', run_id: id, outcome: 'done', times: 1 },
      { action: 'run.submit', actor: 'boss', run_id: other.id },
    ]);
    expect(entries[0]?.address).toMatch(/127\.0\.0\.1/);
    const rest = await as(server, 'boss-secret').listAudit({ cursor: next_cursor ?? '' });
    expect(rest.entries).toMatchObject([{ action: 'run.submit', actor: 'ana', run_id: id }]);
    expect((await as(server, 'boss-secret').listAudit({ run_id: id })).entries).toHaveLength(2);
    expect(JSON.stringify(entries)).not.toContain('secret');
    await server.close();
  });

  it('counts what was refused and what failed, and keeps no path and no key', async () => {
    const log = new MemoryAuditLog();
    const server = await serve(log);
    const ask = (path: string, key: string, method = 'GET'): Promise<Response> =>
      fetch(server.url + path, { method, headers: { 'x-api-key': key } });
    for (let n = 0; n < 3; n += 1) await ask(`/v1/runs/${n}`, `guess ${n}`);
    await ask('/v1/%00hidden', 'guess');
    await ask('/v1/runs/x', 'anas-secret', 'DELETE');
    for (let n = 0; n < 2; n += 1) await ask('/v1/runs/x/cancel', 'anas-secret', 'POST');
    await server.close();
    expect(await written(log)).toEqual([
      ['GET /v1/runs/{id}', null, null, 'unauthorized', 3],
      ['GET elsewhere', null, null, 'unauthorized', 1],
      ['DELETE /v1/runs/{id}', 'ana', null, 'forbidden', 1],
      ['run.cancel', 'ana', 'x', 'not-found', 2],
    ]);
    expect(JSON.stringify((await log.list(10, null)).entries)).not.toMatch(/guess|hidden|secret/);
  });

  it('grows by a hundred entries a minute at most, however much is refused or fails', async () => {
    const log = new MemoryAuditLog();
    const auditor = new Auditor(log, {
      audit: () => undefined,
      logger: new Logger(),
    });
    const by = { actor: 'boss', address: '127.0.0.1' };
    const refused = { ...by, action: 'POST /v1/runs/{id}/cancel', outcome: 'too-many-requests' };
    for (let n = 0; n < 200; n += 1) {
      await auditor.note({ ...by, action: 'run.cancel', runs: [`x${n}`], outcome: 'not-found' });
      auditor.refused(refused);
    }
    await auditor.close();
    const { entries } = await log.list(1_000, null);
    expect(entries).toHaveLength(101);
    expect(entries).toContainEqual(expect.objectContaining({ ...refused, times: 200 }));
    expect(entries).toContainEqual(expect.objectContaining({ run_id: null, outcome: 'not-found', times: 101 }));
  });

  it('keeps nobody from working when it cannot be written; what was done is in the log of the process', async () => {
    class FullLog extends MemoryAuditLog {
      override append(): Promise<void> {
        return Promise.reject(new StoreUnavailableError('disk full'));
      }
    }
    const server = await serve(new FullLog());
    const { id } = await as(server, 'anas-secret').submitRun(givenRequest());
    expect(server.audited).toMatchObject([{ action: 'run.submit', runs: [id] }]);
    expect(server.logged.join()).toContain('disk full');
    await server.close();
  });
});
